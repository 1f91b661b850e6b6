"""Controls: what the edits do to the samples, flagged time counted in a plain loop, and oracles of the index."""

import csv
import json
import math
import shutil
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from command_line import invoke, run_command

import spoofspan as ss
from spoofspan.corpus.checking import check_corpus
from spoofspan.corpus.controls import making
from spoofspan.corpus.controls.authenticity import EDGES, MS, Alarms, classes_of
from spoofspan.corpus.controls.edits import EDITS
from spoofspan.corpus.controls.making import aligned, missing_codec, through
from spoofspan.corpus.frames import RATE
from spoofspan.corpus.layout import SetFiles, read_provenance
from spoofspan.corpus.splicing import remake
from spoofspan.formats.sound import FULL_SCALE, read_sound, wav_bytes

TICK = 62_500
HOP = 0.02
FRAME = 320
SETTINGS = ss.controls.ControlSettings(
    edits=("rejoin-pause", "rejoin-speech", "delete-pause", "delete-speech", "splice", "level", "mu-law"),
    cross_fades=(0.0, 0.02),
    recordings_per_speaker=3,
)


def bursts(rng, *lengths):
    """Noise that comes and goes, which is speech to a detector of voice."""
    parts = [0.001 * rng.standard_normal(2000)]
    for length in lengths:
        parts += [0.1 * rng.standard_normal(length), 0.001 * rng.standard_normal(int(rng.integers(1500, 3000)))]
    return np.concatenate(parts)


@pytest.fixture(scope="module")
def speech(tmp_path_factory):
    """Four speakers with three recordings each."""
    folder, rng = tmp_path_factory.mktemp("speech"), np.random.default_rng(7)
    for speaker in "abcd":
        (folder / "bonafide" / speaker).mkdir(parents=True)
        for number in range(3):
            sound = bursts(rng, *rng.integers(4000, 8000, 3))
            (folder / "bonafide" / speaker / f"{speaker}{number}.wav").write_bytes(wav_bytes(sound))
    return folder


@pytest.fixture(scope="module")
def folder(speech, tmp_path_factory):
    made = tmp_path_factory.mktemp("controls") / "made"
    ss.controls.build(speech, made, SETTINGS)
    return made


@pytest.fixture(scope="module")
def controls(folder):
    return ss.controls.read(folder)


@pytest.fixture(scope="module")
def rows(folder):
    with (folder / "controls.csv").open(encoding="utf-8") as stream:
        return {row["utterance"]: row for row in csv.DictReader(stream)}


@pytest.fixture(scope="module")
def made(folder):
    return {one.utterance: one for one in read_provenance(SetFiles(folder, "eval").provenance)}


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def samples(folder, utterance):
    return np.rint(read_sound(SetFiles(folder, "eval").sound(utterance)) * FULL_SCALE).astype(np.int64)


def of_edit(rows, edit, fade=None):
    return [name for name, row in rows.items() if row["edit"] == edit and (fade is None or row["cross_fade"] == fade)]


# ---------------------------------------------------------------- building


def test_controls_are_a_corpus_without_spoofs_that_passes_its_check(folder, rows):
    found = check_corpus(folder)
    assert found.passed, found.problems
    references = ss.read_dataset(f"partialspoof:{folder}:eval").references
    assert set(references.utterances) == set(rows)
    assert not (references.labels == 1).any()
    assert {row["edit"] for row in rows.values()} == {"unedited", *SETTINGS.edits}
    assert set(ss.read_metadata(folder / "controls.csv", "edit").values()) == {"unedited", *SETTINGS.edits}


def test_the_same_seed_gives_the_same_bytes_also_after_an_interruption(speech, folder, tmp_path, monkeypatch):
    calls = 0

    def interrupted(*arguments, **settings):
        nonlocal calls
        calls += 1
        if calls == 40:
            raise KeyboardInterrupt
        return make(*arguments, **settings)

    make = making.make_control
    monkeypatch.setattr(making, "make_control", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ss.controls.build(speech, tmp_path / "again", SETTINGS)
    assert not (tmp_path / "again" / "corpus.json").exists()
    assert not (tmp_path / "again" / "controls.csv").exists()
    with pytest.raises(ss.UsageError, match="there are no controls"):
        ss.controls.read(tmp_path / "again")
    ss.controls.build(speech, tmp_path / "again", SETTINGS)
    assert contents(tmp_path / "again") == contents(folder)


@pytest.mark.slow
def test_any_number_of_processes_makes_the_same_bytes(speech, folder, tmp_path):
    ss.controls.build(speech, tmp_path / "two", SETTINGS, jobs=2)
    assert contents(tmp_path / "two") == contents(folder)


def test_another_seed_cuts_elsewhere(speech, controls, tmp_path):
    other = ss.controls.ControlSettings(seed=2, edits=("rejoin-speech",), cross_fades=(0.02,), recordings_per_speaker=3)
    ss.controls.build(speech, tmp_path / "other", other)
    group = ss.controls.read(tmp_path / "other").groups["rejoin-speech", 0.02]
    assert [one.joints for one in group] != [one.joints for one in controls.groups["rejoin-speech", 0.02]]


def test_every_sample_is_that_of_a_bona_fide_recording(speech, folder, made, rows):
    """Outside of joints, samples are those of the stated place; joints are made again by the corpus's own reading."""
    for name, one in made.items():
        source = folder / "sources" if rows[name]["edit"] == "mu-law" else speech
        sound = samples(folder, name)
        assert sound.size == one.samples
        assert not one.attacks
        free = np.ones(one.samples, bool)
        for joint in one.joints:
            free[joint.start : joint.end] = False
        for origin in one.origins:
            taken = read_sound(source / origin.recording)[origin.source_start :][: origin.end - origin.start]
            expected = np.rint(taken * origin.gain * FULL_SCALE)
            here = free[origin.start : origin.end]
            assert np.array_equal(sound[origin.start : origin.end][here], expected[here])
        again = remake(one, lambda recording, top=source: read_sound(top / recording))
        assert np.array_equal(np.rint(again * FULL_SCALE), sound)


@pytest.mark.parametrize("edit", ["rejoin-pause", "rejoin-speech"])
def test_a_rejoin_loses_its_cross_fade_and_nothing_without_one(folder, made, rows, edit):
    files = SetFiles(folder, "eval")
    for name in of_edit(rows, edit, "0"):
        assert files.sound(name).read_bytes() == files.sound(rows[name]["unedited"]).read_bytes()
        (joint,) = made[name].joints
        assert joint.start == joint.end > 0
    for name in of_edit(rows, edit, "0.02"):
        edited, unedited = samples(folder, name), samples(folder, rows[name]["unedited"])
        (joint,) = made[name].joints
        assert joint.end - joint.start == 320 == unedited.size - edited.size
        assert np.array_equal(edited[: joint.start], unedited[: joint.start])
        assert np.array_equal(edited[joint.end :], unedited[joint.end + 320 :])
    assert len(of_edit(rows, edit)) == 2 * 12


def test_a_deletion_takes_out_what_it_says(folder, made, rows):
    for name in of_edit(rows, "delete-speech"):
        assert samples(folder, rows[name]["unedited"]).size - made[name].samples == 1600
    for name in of_edit(rows, "delete-pause", "0"):
        left, right = made[name].origins
        out = samples(folder, rows[name]["unedited"])[left.end : right.source_start]
        assert 600 <= out.size <= 1600
        assert np.abs(out).max() < 0.05 * np.abs(samples(folder, name)).max()


def test_a_level_step_is_of_so_many_decibels_on_one_side(folder, made, rows):
    softer = set()
    for name in of_edit(rows, "level", "0"):
        edited, unedited = samples(folder, name), samples(folder, rows[name]["unedited"])
        (joint,) = made[name].joints
        steps = [
            20 * math.log10(np.linalg.norm(edited[part]) / np.linalg.norm(unedited[part]))
            for part in (slice(joint.start), slice(joint.start, None))
        ]
        assert sorted(steps) == pytest.approx([-3, 0], abs=0.01)
        softer.add(steps[0] < steps[1])
    assert softer == {True, False}


def test_a_splice_puts_in_units_of_other_recordings_of_the_speaker(made, rows):
    for name in of_edit(rows, "splice"):
        one = made[name]
        donors = {origin.recording for origin in one.origins} - {one.carrier}
        assert donors
        assert {name.split("/")[1] for name in donors} == {one.speaker}
        assert one.carrier in {origin.recording for origin in one.origins}


def test_a_codec_keeps_length_and_place():
    sound = 0.1 * np.random.default_rng(1).standard_normal(16000)
    sound = np.convolve(sound, np.ones(16) / 4, "same")  # below 1 kHz, which every codec keeps
    for codec in ("mu-law", "mp3", "opus"):
        if missing_codec(codec) is None:
            coded = through(sound, codec)
            assert coded.size == sound.size
            assert np.corrcoef(coded, sound)[0, 1] > 0.97
            assert np.array_equal(coded, through(sound, codec))


@pytest.mark.parametrize("delay", [-200, 0, 1105])
def test_a_delay_is_taken_out(delay):
    sound = np.random.default_rng(2).standard_normal(4000)
    late = np.concatenate((np.zeros(max(delay, 0)), sound[max(-delay, 0) :], np.zeros(50)))
    again = aligned(late, sound)
    assert again.size == sound.size
    assert np.array_equal(again[max(-delay, 0) :], sound[max(-delay, 0) :])


def test_recordings_of_a_list_elsewhere_stay_apart_after_their_codecs(speech, tmp_path):
    """Their names lead out of the folder; what codecs made of them must not."""
    rows = [f"{path},{path.parent.name},bonafide" for path in sorted(speech.rglob("a*.wav"))]
    (tmp_path / "list.csv").write_text("\n".join(["path,speaker,attack", *rows, ""]))
    codecs = tuple(codec for codec in ("mu-law", "mp3", "opus") if missing_codec(codec) is None)
    settings = ss.controls.ControlSettings(edits=codecs, cross_fades=(0.0,))
    ss.controls.build(tmp_path / "list.csv", tmp_path / "a" / "b" / "made", settings)
    made = tmp_path / "a" / "b" / "made"
    coded = [path for path in tmp_path.rglob("*.wav") if "con_wav" not in path.parts]
    assert len(coded) == len({path.read_bytes() for path in coded}) == len(rows) * len(codecs)
    assert all((made / "sources") in path.parents for path in coded)
    sounds = list(SetFiles(made, "eval").sounds.iterdir())
    assert len({path.read_bytes() for path in sounds}) == len(sounds) == len(rows) * (len(codecs) + 1)


def test_an_edit_without_a_place_is_counted(speech, tmp_path):
    lonely = tmp_path / "lonely" / "bonafide" / "a"
    lonely.mkdir(parents=True)
    shutil.copy(speech / "bonafide" / "a" / "a0.wav", lonely)
    settings = ss.controls.ControlSettings(edits=("splice", "level"), cross_fades=(0.02,))
    about = ss.controls.build(tmp_path / "lonely", tmp_path / "made", settings)
    assert about["skipped"] == {"splice": "1 recording without a place for it"}
    with pytest.raises(ss.DataError, match="no recording has a place for any of the edits"):
        ss.controls.build(
            tmp_path / "lonely", tmp_path / "none", ss.controls.ControlSettings(edits=("splice",), cross_fades=(0.02,))
        )


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"edits": ("rejoin",)}, "'rejoin'"),
        ({"edits": ()}, "at least one"),
        ({"cross_fades": (0.02, 0.02)}, "given twice"),
        ({"cross_fades": (0.05,)}, "needs pauses"),
        ({"cross_fades": (-0.1,)}, "between 0 and"),
        ({"recordings_per_speaker": 0}, "at least 1"),
        ({"level_step": 0.0}, "more than 0 dB"),
        ({"deletion": 5.0}, "between 0.01 and 2"),
    ],
)
def test_settings_that_cannot_be_built_are_refused(settings, said):
    with pytest.raises(ss.UsageError, match=said):
        ss.controls.ControlSettings(**settings)


# ---------------------------------------------------------------- flagged time


def random_scores(controls, seed=1):
    """Frames of 20 ms, the last one cut by the end; a system that hears nothing."""
    rng = np.random.default_rng(seed)
    return {one.utterance: rng.random(-(-one.duration // (FRAME * TICK))).astype(np.float32) for one in controls.items}


def quietly(*arguments, **options):
    """Evaluate scores that differ on identical sound, which is warned of."""
    with pytest.warns(ss.SpoofspanWarning, match="bit-identical"):
        return ss.controls.evaluate(*arguments, **options)


def test_extra_alarms_are_those_of_a_plain_count_of_samples(controls, made, rows):
    """Every sample of every utterance: is it flagged, is it near a joint, and was it flagged where it comes from?"""
    scores = random_scores(controls)
    threshold, near = 0.3, 0.1
    found = quietly(controls, scores, thresholds=threshold, hop=HOP, higher="bonafide", near=near).systems["system"]
    whole = {one.carrier: name for name, one in made.items() if rows[name]["edit"] == "unedited"}
    flags = {name: np.repeat(values < threshold, FRAME) for name, values in scores.items()}
    for edit, fade in [("rejoin-speech", "0.02"), ("delete-pause", "0"), ("splice", "0.02"), ("mu-law", None)]:
        columns = {"edited": [], "unedited": [], "near": []}
        some_edited = some_unedited = 0
        for name in of_edit(rows, edit, fade):
            one = made[name]
            was, close = np.full(one.samples, -1), np.zeros(one.samples, bool)
            for place, origin in enumerate(one.origins):
                start = middle(one.joints[place - 1]) if place else 0
                end = middle(one.joints[place]) if place < len(one.joints) else one.samples
                source = whole.get(origin.recording, rows[name]["unedited"])
                for sample in range(start, end):
                    was[sample] = flags[source][origin.source_start + sample - origin.start]
            for joint in one.joints:
                close[max(joint.start - round(near * RATE), 0) : joint.end + round(near * RATE)] = True
            assert was.min() >= 0
            for key, values in (("edited", flags[name][: one.samples]), ("unedited", was), ("near", close)):
                columns[key].append(values)
            some_edited += flags[name][: one.samples].any()
            some_unedited += flags[rows[name]["unedited"]][: made[rows[name]["unedited"]].samples].any()
        edited, unedited, close = (np.concatenate(columns[key]).astype(int) for key in ("edited", "unedited", "near"))
        effect = found.effect(edit, None if fade is None else float(fade))
        assert effect.seconds * RATE == pytest.approx(edited.size)
        assert effect.flagged == pytest.approx(edited.mean(), rel=1e-12)
        assert effect.unedited == pytest.approx(unedited.mean(), rel=1e-12)
        assert effect.extra.estimate == pytest.approx((edited - unedited).mean(), rel=1e-12)
        assert effect.elsewhere.estimate == pytest.approx((edited - unedited)[close == 0].mean(), rel=1e-9)
        assert (effect.near is None) == (edit == "mu-law")
        if effect.near is not None:
            assert effect.near.estimate == pytest.approx((edited - unedited)[close == 1].mean(), rel=1e-9)
        extra_recordings = (some_edited - some_unedited) / effect.recordings
        assert effect.extra_recordings.estimate == pytest.approx(extra_recordings)


def middle(joint):
    return (joint.start + joint.end) // 2


def test_alarms_are_exact_to_the_nanosecond():
    called = ss.References.from_ranges(
        {"u": [(0.0, 0.1, "bonafide"), (0.1, 0.3, "spoof"), (0.3, 0.4, "bonafide"), (0.4, 0.45, "spoof")]}
    )
    alarms = Alarms(called)
    flagged = [100 <= ms < 300 or 400 <= ms < 450 for ms in range(500)]
    for start in range(0, 500, 35):
        for end in range(start, 501, 45):
            assert alarms.within("u", start * MS, end * MS) == MS * sum(flagged[start:end])


def test_intervals_leave_out_each_speaker(controls, rows, made):
    """The jackknife, written once more in plain Python."""
    scores = random_scores(controls, seed=3)
    found = quietly(controls, scores, thresholds=0.3, hop=HOP, higher="bonafide").systems["system"]
    effect = found.effect("mu-law")
    flagged, time = {}, {}
    for name in of_edit(rows, "mu-law"):
        speaker, last = rows[name]["speaker"], made[name].samples
        for sign, utterance in ((1, name), (-1, rows[name]["unedited"])):
            for frame, value in enumerate(scores[utterance]):
                lasts = min((frame + 1) * FRAME, last) - frame * FRAME
                flagged[speaker] = flagged.get(speaker, 0) + sign * (value < np.float32(0.3)) * lasts
        time[speaker] = time.get(speaker, 0) + last
    value = sum(flagged.values()) / sum(time.values())
    without = [(sum(flagged.values()) - flagged[one]) / (sum(time.values()) - time[one]) for one in sorted(time)]
    mean = sum(without) / len(without)
    error = math.sqrt((len(without) - 1) / len(without) * sum((one - mean) ** 2 for one in without))
    assert effect.extra.estimate == pytest.approx(value)
    assert effect.extra.standard_error == pytest.approx(error)
    assert effect.extra.clusters == 4
    assert effect.extra.low < value < effect.extra.high


def test_a_system_that_hears_nothing_adds_nothing(controls):
    """One score for every frame: no edit changes anything, not even a deletion."""
    scores = {one.utterance: np.full(-(-one.duration // (FRAME * TICK)), 0.1) for one in controls.items}
    found = ss.controls.evaluate(controls, scores, thresholds=0.5, hop=HOP, higher="bonafide").systems["system"]
    assert found.unedited.estimate == 1
    for effect in found.effects:
        assert effect.extra.estimate == effect.extra_recordings.estimate == 0
        assert effect.flagged == effect.unedited == 1


# ---------------------------------------------------------------- the authenticity index


@pytest.fixture(scope="module")
def spoofs():
    """A corpus of spoofs whose ranges have other lengths than the spliced passages; one utterance is all spoof."""
    rng = np.random.default_rng(5)
    ranges, speakers = {}, {}
    for number in range(12):
        name, edges = f"s{number}", np.cumsum(rng.integers(2000, 14000, 5)) * TICK / 1e9
        kinds = ["bonafide", "spoof"] * 3
        first = number % 2
        starts = [0.0, *edges[:-1].tolist()]
        ranges[name] = [
            (start, end, kinds[first + place]) for place, (start, end) in enumerate(zip(starts, edges, strict=True))
        ]
        speakers[name] = "abcdef"[number // 2]
    return ss.References.from_ranges(ranges), speakers


def cut_scores(utterances, reach):
    """Ranges of -1 within reach of a joint, 1 elsewhere: utterances have an end and joints, in ns."""
    found = {}
    for name, (end, joints) in utterances.items():
        edges = sorted({0, end, *(min(max(t, 0), end) for a, b in joints for t in (a - reach, b + reach))})
        found[name] = [
            (low / 1e9, high / 1e9, -1.0 if any(a - reach <= low < b + reach for a, b in joints) else 1.0)
            for low, high in pairwise(edges)
        ]
    return found


def edges_of(references):
    """End and inner edges of each utterance."""
    found = {}
    for row, name in enumerate(references.utterances):
        here = slice(int(references.offsets[row]), int(references.offsets[row + 1]))
        ends = references.ends[here].tolist()
        found[name] = (ends[-1], [(end, end) for end in ends[:-1]])
    return found


def frames_of(references, rng):
    """Frames of a system that hears something: lower on spoof, with noise."""
    found = {}
    for name in references.utterances:
        values = rng.random(math.ceil(references[name][-1][1] / HOP - 1e-6))
        times = HOP * (np.arange(values.size) + 0.5)
        for start, end, label in references[name]:
            values -= 0.5 * ((times >= start) & (times < end) & (label == "spoof"))
        found[name] = values
    return found


def indices(controls, spoofs, on_controls, on_spoofs, **more):
    references, speakers = spoofs
    found = ss.controls.evaluate(
        controls, on_controls, references=references, reference_scores=on_spoofs, speakers=speakers, **more
    )
    return found.systems["system"].indices


@pytest.mark.parametrize("reach", EDGES[1:5])
def test_a_detector_of_cuts_has_an_index_of_0(controls, spoofs, reach):
    """Exactly, though spoofs and splices have other durations: the same distances from a joint are compared."""
    cuts = {}
    for one in controls.items:
        joints = list(one.joints) if one.cross_fade else []  # without a cross-fade, a rejoin cannot be heard
        if one.edit == "splice":  # a passage holds its joints whole, as a spoofed range does
            joints = [(time, time) for span in one.passages() for time in span if 0 < time < one.duration]
        cuts[one.utterance] = (one.duration, joints)
    ours = cut_scores(cuts, reach)
    theirs = cut_scores(edges_of(spoofs[0]), reach)
    found = indices(controls, spoofs, ours, theirs, thresholds=0.0, higher="bonafide")
    assert [one.cross_fade for one in found] == [0.0, 0.02]
    for one in found:
        assert one.hit_rate > 0.01
        assert one.uncut_rate == 0
        assert one.splice_rate == pytest.approx(one.hit_rate, rel=1e-12)
        assert one.value == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("found_share", [1.0, 0.4])
def test_an_ideal_detector_has_an_index_of_1_whatever_share_it_finds(controls, spoofs, found_share):
    references, _ = spoofs
    ours = {one.utterance: [(0.0, one.duration / 1e9, 1.0)] for one in controls.items}
    theirs = {}
    for name in references.utterances:
        theirs[name] = []
        for start, end, label in references[name]:
            until = start + found_share * (end - start) if label == "spoof" else start
            theirs[name] += [
                (low, high, score) for low, high, score in ((start, until, -1.0), (until, end, 1.0)) if high > low
            ]
    for one in indices(controls, spoofs, ours, theirs, thresholds=0.0, higher="bonafide"):
        assert one.value == 1
        assert one.hit_rate == pytest.approx(found_share)
        assert one.splice_rate == 0
        assert one.interval.high == 1
        assert 1 > one.interval.low >= 1 - (1 - 0.025 ** (1 / 4)) / found_share - 1e-9  # none of four speakers


def test_who_flags_everything_or_at_random_has_an_index_of_0(controls, spoofs):
    references, _ = spoofs
    ends = {name: end for name, (end, _) in edges_of(references).items()}
    ours = {one.utterance: [(0.0, one.duration / 1e9, -1.0)] for one in controls.items}
    theirs = {name: [(0.0, end / 1e9, -1.0)] for name, end in ends.items()}
    for one in indices(controls, spoofs, ours, theirs, thresholds=0.0, higher="bonafide"):
        assert one.value == 0
        assert one.uncut_rate == one.splice_rate == one.hit_rate == 1
    rng = np.random.default_rng(11)
    theirs = {name: rng.random(-(-end // (FRAME * TICK))) for name, end in ends.items()}
    scores = random_scores(controls, 9)
    with pytest.warns(ss.SpoofspanWarning, match="bit-identical"):
        found = indices(controls, spoofs, scores, theirs, thresholds=0.4, hop=HOP, higher="bonafide")
    for one in found:
        assert abs(one.value) < 0.25
        assert one.interval.low < 0 < one.interval.high


def test_without_speakers_each_utterance_of_the_spoofs_is_left_out_and_a_warning_says_so(controls, spoofs):
    references, _ = spoofs
    ours = {one.utterance: [(0.0, one.duration / 1e9, 1.0)] for one in controls.items}
    theirs = cut_scores(edges_of(references), 40 * MS)
    one = indices(controls, (references, None), ours, theirs, thresholds=0.0, higher="bonafide")[0]
    assert one.interval.clusters == len(controls.speakers) + len(references)
    assert any("not known" in text for text in one.interval.warnings)


def test_the_interval_of_the_index_leaves_out_each_speaker_of_both_corpora(controls, spoofs):
    """Corpora without a speaker, measured anew, give the standard error."""
    references, speakers = spoofs
    ours, theirs = random_scores(controls, 6), frames_of(references, np.random.default_rng(8))
    options = {"thresholds": 0.3, "hop": HOP, "higher": "bonafide"}

    def index(gone):
        items = tuple(one for one in controls.items if one.speaker != gone)
        rows = [row for row, name in enumerate(references.utterances) if speakers[name] != gone]
        names = [one.utterance for one in items]
        places = [controls.references.utterances.index(name) for name in names]
        left = replace(controls, items=items, references=controls.references.take(np.array(places)))
        kept = (
            references.take(np.array(rows)),
            {references.utterances[row]: speakers[references.utterances[row]] for row in rows},
        )
        on_spoofs = {name: theirs[name] for name in kept[0].utterances}
        with pytest.warns(ss.SpoofspanWarning, match="bit-identical"):
            return indices(left, kept, {name: ours[name] for name in names}, on_spoofs, **options)[1]

    whole = index(None)
    without = [index(gone).value for gone in "abcdef"]
    mean = sum(without) / 6
    assert whole.interval.clusters == 6
    assert whole.interval.standard_error == pytest.approx(math.sqrt(5 / 6 * sum((one - mean) ** 2 for one in without)))
    assert 0 < whole.value < 1
    assert whole.interval.low < whole.value < whole.interval.high <= 1


def test_the_index_mixes_as_its_parts_do(controls, spoofs):
    """Half of each spoof found, and splices flagged all over for one speaker of four: (H - C) / H by hand."""
    references, _ = spoofs
    flagged = {one.utterance: -1.0 if one.speaker == "a" and one.edit == "splice" else 1.0 for one in controls.items}
    ours = {one.utterance: [(0.0, one.duration / 1e9, flagged[one.utterance])] for one in controls.items}
    theirs = {
        name: [
            (low, high, score)
            for start, end, label in references[name]
            for low, high, score in (
                (start, (start + end) / 2, -1.0 if label == "spoof" else 1.0),
                ((start + end) / 2, end, 1.0),
            )
        ]
        for name in references.utterances
    }
    time = np.zeros((2, len(EDGES)))  # of speaker a, and of all
    for one in controls.splices(0.02):
        for start, end in one.passages():
            for number, low, high in classes_of(start, end, left=start > 0, right=end < one.duration):
                time[:, number] += (high - low) * np.array([one.speaker == "a", 1])
    weight = np.zeros(len(EDGES))
    for name in references.utterances:
        last = references[name][-1][1]
        for start, end, label in references[name]:
            if label == "spoof":
                ns = [round(edge * 1e9) for edge in (start, end)]
                for number, low, high in classes_of(*ns, left=start > 0, right=end < last):
                    weight[number] += high - low
    share = time[0, :-1] / np.where(time[1, :-1] > 0, time[1, :-1], np.nan)
    for number in range(1, share.size):
        share[number] = share[number - 1] if np.isnan(share[number]) else share[number]
    explained = float(share @ weight[:-1] / weight.sum())
    one = indices(controls, spoofs, ours, theirs, thresholds=0.0, higher="bonafide")[1]
    assert one.hit_rate == pytest.approx(0.5, abs=1e-6)
    assert one.splice_rate == pytest.approx(explained)
    assert one.value == pytest.approx((0.5 - explained) / 0.5, abs=1e-6)


@pytest.mark.parametrize(("left", "right"), [(True, True), (True, False), (False, True), (False, False)])
@pytest.mark.parametrize("length", [1, 39, 40, 41, 333, 2000])
def test_classes_cut_a_passage_by_its_distance_from_a_joint(length, left, right):
    """Every millisecond by its own distance."""
    start, end = 5 * MS, (5 + length) * MS
    found = list(classes_of(start, end, left=left, right=right))
    assert sum(high - low for _, low, high in found) == end - start
    for number, low, high in found:
        for time in {low, (low + high) // 2, high - 1}:
            apart = [time - start] * left + [end - 1 - time] * right
            expected = len(EDGES) - 1 if not apart else sum(min(apart) >= edge for edge in EDGES[1:])
            assert number == expected


def test_a_fixed_threshold_is_that_of_the_eer_on_the_spoofs(controls, spoofs):
    references, speakers = spoofs
    theirs = frames_of(references, np.random.default_rng(2))
    found = quietly(
        controls,
        {"mine": random_scores(controls)},
        references=references,
        reference_scores={"mine": theirs},
        speakers=speakers,
        hop=HOP,
        higher="bonafide",
    ).systems["mine"]
    measured = ss.range_eer(references, theirs, hop=HOP, higher="bonafide")
    assert not any("not known" in text for text in found.indices[0].interval.warnings)
    assert found.threshold == measured.threshold
    assert found.indices[0].hit_rate == pytest.approx(1 - measured.false_negative_rate)
    assert "EER" in found.threshold_is


# ---------------------------------------------------------------- errors


def test_scores_that_lack_an_utterance_name_it(controls):
    scores = random_scores(controls)
    gone = controls.items[3].utterance
    del scores[gone]
    with pytest.raises(ss.DataError, match=gone):
        ss.controls.evaluate(controls, scores, thresholds=0.3, hop=HOP, higher="bonafide")


@pytest.mark.parametrize("hop", [0.01, 0.04])
def test_a_wrong_hop_is_refused(controls, hop):
    with pytest.raises(ss.DataError, match=r"(?i)score"):
        ss.controls.evaluate(controls, random_scores(controls), thresholds=0.3, hop=hop, higher="bonafide")


def test_a_label_that_says_spoof_is_refused(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "wrong")
    files = SetFiles(tmp_path / "wrong", "eval")
    labels = files.data / "rttm_attacks"
    first = labels.read_text().split()[1]
    labels.write_text(labels.read_text().replace(" bonafide ", " A01 ", 1))
    with pytest.raises(ss.DataError, match=f"{first}' is bona fide in the protocol but has spoofed ranges"):
        ss.controls.read(tmp_path / "wrong")
    files.protocol.write_text(files.protocol.read_text().replace(f"{first} - - bonafide", f"{first} - A01 spoof"))
    with pytest.raises(ss.DataError, match=f"{first}.*not labelled bona fide"):
        ss.controls.read(tmp_path / "wrong")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("_unedited,a,unedited", "_unedited,a,untouched", 1), "there is no edit 'untouched'"),
        (lambda text: text.replace(",splice,0,", ",splice,wide,", 1), "'wide' is no number of seconds"),
        (lambda text: text + text.splitlines()[5] + "\n", "listed a second time"),
        (lambda text: "\n".join(text.splitlines()[:-1]) + "\n", "in only one of"),
        (lambda text: text.replace("edit,", "kind,", 1), "no column edit"),
    ],
)
def test_a_damaged_list_is_refused(folder, tmp_path, change, said):
    shutil.copytree(folder, tmp_path / "wrong")
    listed = tmp_path / "wrong" / "controls.csv"
    listed.write_text(change(listed.read_text()))
    with pytest.raises(ss.DataError, match=said):
        ss.controls.read(tmp_path / "wrong")


def test_systems_and_thresholds_must_fit_each_other(controls, spoofs):
    references, _ = spoofs
    scores = ss.Scores.from_frames(random_scores(controls), hop=HOP, higher="bonafide")
    for options, said in (
        ({}, "there is no threshold"),
        ({"thresholds": {"other": 0.3}}, "there is no system 'other'"),
        ({"references": references, "thresholds": 0.3}, "go together"),
        ({"thresholds": 0.3, "near": 0.0}, "more than 0 seconds"),
        ({"thresholds": 0.3, "gasp": "error"}, "unknown rule 'gasp'"),
        ({"references": references, "reference_scores": {"a": scores, "c": scores}}, "alone"),
    ):
        with pytest.raises(ss.UsageError, match=said):
            ss.controls.evaluate(controls, {"a": scores, "b": scores}, **options)


# ---------------------------------------------------------------- on the command line


def run(*arguments):
    return invoke("controls", *arguments)


def test_the_commands_build_and_measure_three_systems(speech, controls, spoofs, tmp_path):
    made = tmp_path / "made"
    typed = run(
        "build",
        speech,
        made,
        "--jobs",
        1,
        "--edit",
        "splice",
        "--edit",
        "level",
        "--cross-fade",
        "0.02",
        "--format",
        "json",
    )
    assert typed.exit_code == 0, typed.output
    about = json.loads(typed.stdout)
    assert about["control_settings"]["edits"] == ["splice", "level"]
    controls = ss.controls.read(made)
    references, speakers = spoofs
    ss.write_references(references, tmp_path / "ref.rttm")
    (tmp_path / "dur").write_text("".join(f"{name} {end / 1e9}\n" for name, (end, _) in edges_of(references).items()))
    table = "utterance,speaker\n" + "".join(f"{name},{who}\n" for name, who in speakers.items())
    (tmp_path / "speakers.csv").write_text(table)
    rng = np.random.default_rng(4)
    words, more = [], []
    for name in ("a", "b", "c"):
        ss.write_scores(
            ss.Scores.from_frames(random_scores(controls, ord(name)), hop=HOP, higher="bonafide"),
            tmp_path / f"{name}.npz",
        )
        frames = frames_of(references, rng)
        ss.write_scores(ss.Scores.from_frames(frames, hop=HOP, higher="bonafide"), tmp_path / f"{name}_ref.npz")
        words.append(f"{name}={tmp_path / f'{name}.npz'}")
        more += ["--scores", f"{name}={tmp_path / f'{name}_ref.npz'}"]
    shared = [made, *words, "--references", tmp_path / "ref.rttm", "--durations", tmp_path / "dur"]
    shared += [*more, "--metadata", tmp_path / "speakers.csv", "--hop", HOP, "--higher", "bonafide"]
    typed = run("eval", *shared, "--format", "json")
    assert typed.exit_code == 0, typed.output
    plain = json.loads(typed.stdout)
    assert list(plain["systems"]) == ["a", "b", "c"]
    for one in plain["systems"].values():
        assert [(row["edit"], row["cross_fade"]) for row in one["edits"]] == [("splice", 0.02), ("level", 0.02)]
        assert one["authenticity"][0]["interval"]["drawn_by"] == "speaker"
    text = run("eval", *shared, "--format", "csv").stdout
    assert "authenticity index" in text
    row = next(csv.DictReader(text.splitlines()[:2]))
    assert float(row["extra %"]) == pytest.approx(100 * plain["systems"]["a"]["edits"][0]["extra"]["estimate"])
    stated = run("eval", made, words[0], "--hop", HOP, "--higher", "bonafide", "--threshold", "0.2")
    assert stated.exit_code == 0, stated.output
    assert "authenticity" not in stated.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["eval", "{folder}"], "give CONTROLS and SCORES"),
        (["eval", "{folder}", "x.npz", "--references", "ref.rttm"], "go together"),
        (["eval", "{speech}", "x.npz", "--threshold", "1"], "there are no controls"),
        (["eval", "{folder}", "x.npz", "--gaps", "bonafide"], "--gaps is for a corpus with spoofs"),
        (["build", "{speech}", "out", "--recordings-per-speaker", "few"], "must be a number, or all"),
        (["build", "{speech}", "out", "--edit", "splise"], "splice"),
        (["build", "{speech}/none", "out"], "there is no"),
    ],
)
def test_mistakes_on_the_command_line_are_named(speech, folder, tmp_path, monkeypatch, capsys, words, said):
    monkeypatch.chdir(tmp_path)
    code, _, error = run_command(["controls", *(word.format(folder=folder, speech=speech) for word in words)], capsys)
    assert code == 2
    assert said in " ".join(error.split())


def test_every_edit_is_described():
    assert all(EDITS.values())


def test_what_is_no_score_in_time_and_a_singular_threshold_are_answered(controls, tmp_path):
    (tmp_path / "whole.txt").write_text("".join(f"{one.utterance} 0.5\n" for one in controls.items))
    with pytest.raises(ss.UsageError, match="'mine' has no scores in time"):
        ss.controls.evaluate(controls, {"mine": tmp_path / "whole.txt"}, thresholds=0.5, higher="spoof")
    with pytest.raises(ss.UsageError, match="give thresholds=: a number"):
        ss.controls.evaluate(controls, random_scores(controls), threshold=0.5, hop=FRAME, higher="bonafide")
