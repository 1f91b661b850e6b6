"""The recipe of the PartialSpoof authors, against a second, plain implementation of the table of their steps.

The plain one changes one array at a time, from the last segment to the first, with a label beside every sample. It
shares with the package the voice activity and the sources, and nothing else.
"""

import random
import shutil
from dataclasses import replace
from itertools import pairwise
from math import log10, pi
from pathlib import Path

import numpy as np
import pytest

import spoofspan as ss
from spoofspan.corpus.building import build
from spoofspan.corpus.builtin import Sentence
from spoofspan.corpus.checking import check_corpus
from spoofspan.corpus.layout import SetFiles, read_provenance
from spoofspan.corpus.partialspoof_recipe import Segment, best_overlap, choose_segments
from spoofspan.corpus.settings import SETS, Settings
from spoofspan.corpus.source_folder import Recording
from spoofspan.corpus.splice_plan import make_plan
from spoofspan.corpus.survey import Surveyed, find_speech, find_units, p56_level
from spoofspan.formats.sound import RATE, read_sound, wav_bytes, whole_samples
from spoofspan.formats.sound_channel import OPEN

BESIDE = Path(__file__).parents[3] / "shared" / "speech"
RECIPE = Settings(recipe="partialspoof", held_out=(), channel=OPEN)


# ---------------------------------------------------------------- the plain implementation


def plain_choice(own, pool, number, into_bona_fide):
    """By the table: how many, which, and what takes their place; ``own`` and ``pool`` are lengths."""
    most = min(len(own), len(pool))
    random.seed(number)
    count = random.randint(1 if into_bona_fide else 0, most)
    random.seed(number)
    chosen = sorted(random.sample(range(len(own)), count))[::-1]
    used, found = set(), {}
    for place in chosen:
        free = [index for index in range(len(pool)) if index not in used]
        longer = sorted(pool[index] for index in free if pool[index] >= own[place])
        length = longer[0] if longer else max(pool[index] for index in free)
        group = [index for index in free if pool[index] == length]
        random.seed(abs(number - len(group)))
        found[place] = random.sample(group, 1)[0]
        used.add(found[place])
    return found


def pauses(speech, samples):
    """Samples of the pause before and after each segment."""
    ends, starts = [0, *(end for _, end in speech)], [*(start for start, _ in speech), samples]
    gaps = [start - end for start, end in zip(starts, ends, strict=True)]
    return list(pairwise(gaps))


def plain_utterance(carrier, donors):
    """The sound, and for each sample: its class, the other class where two are mixed, and whether someone speaks.

    ``carrier`` is (sound, speech, class); ``donors`` is {place: (sound, speech, class, which segment)}.
    """
    sound, speech, own_class = carrier
    between = pauses(speech, sound.size)
    classes = np.full(sound.size, own_class)
    mixed_with = np.full(sound.size, -1)
    speaks = np.zeros(sound.size, bool)
    for start, end in speech:
        speaks[start:end] = True
    replaced_begins = {}
    for place in sorted(donors, reverse=True):
        (start, end), (before, after) = speech[place], between[place]
        after = replaced_begins.get(place + 1, end + after) - end
        donor, donor_speech, donor_class, which = donors[place]
        (donor_start, donor_end), (donor_before, donor_after) = (
            donor_speech[which],
            pauses(donor_speech, donor.size)[which],
        )
        first, last = start - before // 2, end + after // 2
        inserted = donor[donor_start - donor_before // 2 : donor_end + donor_after // 2]
        into, out = 0, 0  # samples that overlap at both ends
        if before and donor_before:
            scores = {
                size: float(np.sum(sound[first - size : first + 1] * inserted[: size + 1]))
                for size in range(min(before // 2, donor_before // 2 - 1) + 1)
            }
            into = max(scores, key=lambda size: (scores[size], size))
        if after // 2 and donor_after // 2:
            scores = {
                size: float(np.sum(inserted[inserted.size - size :] * sound[last : last + size]))
                for size in range(1, min(after // 2, donor_after // 2) + 1)
            }
            out = max(scores, key=lambda size: (scores[size], size))
        size = inserted.size
        own = np.full(size, donor_class)
        other = np.full(size, -1)
        own_speaks = np.zeros(size, bool)
        own_speaks[donor_before // 2 : donor_before // 2 + donor_end - donor_start] = True
        averaged = inserted.copy()
        if into:
            averaged[:into] = (sound[first - into : first] + inserted[:into]) / 2
            other[:into] = own_class
        if out:
            averaged[size - out :] = (inserted[size - out :] + sound[last : last + out]) / 2
            other[size - out :] = own_class

        def put(track, new, begin=first - into, finish=last + out):
            return np.concatenate((track[:begin], new, track[finish:]))

        sound, classes, mixed_with, speaks = (
            put(track, new)
            for track, new in ((sound, averaged), (classes, own), (mixed_with, other), (speaks, own_speaks))
        )
        replaced_begins[place] = first - into
    return sound, classes, mixed_with, speaks


def plain_p56(sound):
    """The recommendation's method B, threshold by threshold."""
    signal = pytest.importorskip("scipy.signal")
    decay = np.exp(-1 / (0.03 * RATE))
    envelope = np.abs(sound)
    for _ in range(2):
        envelope = signal.lfilter([1 - decay], [1, -decay], envelope)
    levels, thresholds = [], [20 * log10(2.0**power) for power in range(-15, 0)]
    for power in range(-15, 0):
        last_above = np.maximum.accumulate(np.where(envelope >= 2.0**power, np.arange(sound.size), -RATE))
        active = np.count_nonzero(np.arange(sound.size) - last_above <= 0.2 * RATE)
        levels.append(10 * log10(np.sum(sound**2) / active) if active else 999.0)
    gaps = [level - threshold for level, threshold in zip(levels, thresholds, strict=True)]
    at = next(i for i in range(1, 15) if gaps[i] <= 15.9 < gaps[i - 1])
    return np.interp(15.9, [gaps[at], gaps[at - 1]], [levels[at], levels[at - 1]])


# ---------------------------------------------------------------- real builds, sample by sample


@pytest.fixture(scope="module")
def voices(tmp_path_factory):
    """A speaker of the built-in source with two attacks."""
    folder = tmp_path_factory.mktemp("voices")
    for number, kind in enumerate(["bonafide"] * 5 + ["A01"] * 2 + ["A07"] * 2):
        path = folder / kind / "s1" / f"{number}.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        attack = None if kind == "bonafide" else kind
        path.write_bytes(wav_bytes(Sentence(1, number, attack, "train", 3).sound()))
    return folder


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """Real recordings of two speakers, of whom vocoders make spoofs."""
    if not BESIDE.is_dir():
        pytest.skip("no recordings beside the repository")
    pytest.importorskip("soundfile")
    folder = tmp_path_factory.mktemp("recordings")
    for speaker in ("08", "43"):
        shutil.copytree(BESIDE / "bonafide" / speaker, folder / "bonafide" / speaker)
    return folder


def compare_with_the_plain_implementation(corpus, source):
    """Every utterance of a corpus: its sound, ranges and both generations of labels."""
    files = {
        path.relative_to(top).as_posix(): path
        for top in (source, corpus / "sources")
        for path in top.rglob("*")
        if path.suffix in (".wav", ".flac")
    }
    checked = dict.fromkeys(("mixed attacks", "all replaced", "none replaced", "neighbours", "joints"), 0)
    for subset in SETS:
        sets = SetFiles(corpus, subset)
        if not sets.provenance.is_file():
            continue
        made = list(read_provenance(sets.provenance))
        names = {origin.recording: origin.attack for one in made for origin in one.origins}
        gains = {origin.recording: origin.gain for one in made for origin in one.origins}
        speakers = {origin.recording: one.speaker for one in made for origin in one.origins}
        sounds = {name: read_sound(files[name]) for name in names}
        speech = {name: find_speech(sound) for name, sound in sounds.items()}
        attacks = sorted({attack for attack in names.values() if attack})
        number_of = {None: 1} | {attack: number for number, attack in enumerate(attacks, 2)}
        second: dict[str, list] = {}
        for line in sets.second_generation.read_text().splitlines():
            utterance, start, end, number = line.split()
            second.setdefault(utterance, []).append((float(start) * RATE, float(end) * RATE, int(number)))
        first: dict[str, list] = {}
        for line in (sets.data / "rttm_attacks").read_text().splitlines():
            fields = line.split()
            start, length = float(fields[3]) * RATE, float(fields[4]) * RATE
            first.setdefault(fields[1], []).append((start, start + length, fields[7]))
        for one in made:
            if not one.utterance.startswith("CON"):
                assert [origin.recording for origin in one.origins] == [one.carrier]
                continue
            is_bona_fide = one.carrier.startswith("bonafide")
            pool = [
                (name, place)
                for name in sorted(names)
                if speakers[name] == one.speaker and (names[name] is None) != is_bona_fide
                for place in range(len(speech[name]))
            ]
            own = [end - start for start, end in speech[one.carrier]]
            lengths = [speech[name][place][1] - speech[name][place][0] for name, place in pool]
            number = int(one.utterance.rpartition("_")[2]) - 1
            chosen = plain_choice(own, lengths, number, is_bona_fide)
            donors = {
                place: (sounds[name] * gains[name], speech[name], number_of[names[name]], which)
                for place, (name, which) in ((place, pool[index]) for place, index in chosen.items())
            }
            carrier = sounds[one.carrier] * gains[one.carrier]
            own_class = 1 if is_bona_fide else number_of[names[one.carrier]]
            sound, classes, mixed_with, speaks = plain_utterance((carrier, speech[one.carrier], own_class), donors)
            assert np.array_equal(whole_samples(sound), whole_samples(read_sound(sets.sound(one.utterance))))
            mixed = mixed_with >= 0
            expected = np.where(speaks, classes, 1000 + np.where(mixed, 0, classes))
            written = np.zeros(sound.size, int)
            for start, end, class_number in second[one.utterance]:
                written[round(start) : round(end)] = class_number
            assert np.array_equal(written, expected)
            spoof = np.maximum(classes, mixed_with) > 1  # joints are spoof in the first generation
            attack = np.where(spoof, np.maximum(classes, mixed_with), 1)
            labelled = np.zeros(sound.size, int)
            for start, end, label in first[one.utterance]:
                labelled[round(start) : round(end)] = number_of[None if label == "bonafide" else label]
            assert np.array_equal(labelled, attack)
            checked["mixed attacks"] += len({*classes[speaks]} - {1}) > 1
            checked["all replaced"] += len(chosen) == len(own)
            checked["none replaced"] += not chosen
            checked["neighbours"] += any(place + 1 in chosen for place in chosen)
            checked["joints"] += np.count_nonzero(np.diff(mixed.astype(int)) == 1)
    return checked


@pytest.mark.slow
def test_a_corpus_of_built_in_voices_is_that_of_the_plain_implementation(voices, tmp_path):
    build(tmp_path / "c", voices, replace(RECIPE, speakers={"train": 1}))
    checked = compare_with_the_plain_implementation(tmp_path / "c", voices)
    assert checked["joints"] > 10, checked
    found = check_corpus(tmp_path / "c")
    assert found.passed, found.problems


@pytest.mark.slow
def test_a_corpus_of_real_recordings_is_that_of_the_plain_implementation(recordings, tmp_path):
    attacks = ("builtin:overlap-add", "builtin:transform-codec")
    settings = replace(RECIPE, attacks=attacks, speakers={"train": 1, "eval": 1})
    about = build(tmp_path / "c", recordings, settings)
    checked = compare_with_the_plain_implementation(tmp_path / "c", recordings)
    assert all(checked[what] for what in ("mixed attacks", "all replaced", "neighbours", "joints")), checked
    assert checked["none replaced"] == sum(one["with_no_segment_replaced"] for one in about["sets"].values())
    assert checked["all replaced"] == sum(one["with_all_segments_replaced"] for one in about["sets"].values())
    for one in read_provenance(SetFiles(tmp_path / "c", "eval").provenance):
        if one.utterance.startswith("BONA"):
            sound = read_sound(recordings / one.carrier)
            if np.abs(sound * one.origins[0].gain).max() < 0.989:
                assert plain_p56(sound * one.origins[0].gain) == pytest.approx(-26.0, abs=0.3)
                assert 20 * log10(one.origins[0].gain) == pytest.approx(-26.0 - plain_p56(sound), abs=1e-6)


def test_a_check_reads_the_second_generation_of_labels(voices, tmp_path):
    settings = replace(RECIPE, utterances={"eval": 6}, speakers={"eval": 1})
    build(tmp_path / "c", voices, settings)
    assert check_corpus(tmp_path / "c").passed
    path = SetFiles(tmp_path / "c", "eval").second_generation
    path.write_text(path.read_text().replace(" 1000\n", " 1001\n", 1))
    assert any("vad_2nd_generation" in problem for problem in check_corpus(tmp_path / "c").problems)


# ---------------------------------------------------------------- choices, as the rules predict


def drawn_survey(speakers=30, each=8, seed=0):
    """Recordings of chance: no sound, only where someone speaks."""
    rng = np.random.default_rng(seed)
    recordings, survey = [], {}
    for speaker in range(speakers):
        for kind in ("bonafide", "A01", "A02", "A03"):
            for number in range(each * (3 if kind == "bonafide" else 1)):
                reached, spans = 0, []
                for _ in range(rng.integers(1, 8)):
                    start = reached + 160 * int(rng.integers(3, 30))
                    reached = start + 160 * int(rng.integers(4, 60))
                    spans.append((start, reached))
                name = f"{kind}/s{speaker}/{number}"
                recordings.append(Recording(name, None, f"s{speaker}", None if kind == "bonafide" else kind))
                survey[name] = Surveyed(name, reached + 1600, 1.0, tuple(spans))
    return recordings, survey


def test_shares_with_all_none_and_several_attacks_are_what_the_rules_predict():
    """All and none in closed form: the number is uniform. Several attacks by the plain choice, with other seeds."""
    recordings, survey = drawn_survey()
    attack_of = {one.name: one.attack for one in recordings}
    plan = make_plan(recordings, survey, replace(RECIPE, speakers={"train": 30})).utterances
    partial = [one for one in plan if one.utterance.startswith("CON")]
    assert len(partial) == 30 * 8 * 6
    seen = {"all": [], "none": [], "several": []}
    predicted = {"all": [], "none": [], "several": []}
    for number, one in enumerate(partial):
        units = len(survey[one.carrier].speech)
        is_bona_fide = attack_of[one.carrier] is None
        seen["all"].append(len(one.substitutions) == units)
        predicted["all"].append(1 / (units + (not is_bona_fide)))
        if is_bona_fide:
            assert one.substitutions
            seen["several"].append(len({attack_of[sub.donor] for sub in one.substitutions}) > 1)
            pool = [
                (name, end - start)
                for name in sorted(survey)
                if attack_of[name] is not None and name.split("/")[1] == one.speaker
                for start, end in survey[name].speech
            ]
            own = [end - start for start, end in survey[one.carrier].speech]
            again = [plain_choice(own, [length for _, length in pool], 10**6 + 7 * number + i, True) for i in range(6)]
            several = [len({attack_of[pool[i][0]] for i in found.values()}) > 1 for found in again]
            predicted["several"].append(np.mean(several))
        else:
            seen["none"].append(not one.substitutions)
            predicted["none"].append(1 / (units + 1))
    for what, shares in predicted.items():
        expected, count = float(np.mean(shares)), len(shares)
        error = np.sqrt(np.mean([share * (1 - share) for share in shares]) / count + 0.25 / (6 * count))
        assert np.mean(seen[what]) == pytest.approx(expected, abs=3.5 * error), what
    assert 0.5 < np.mean(seen["several"]) < 0.9


def test_the_choice_of_the_package_is_the_plain_one():
    rng = np.random.default_rng(2)
    for number in range(300):
        spans, reached = [], 0
        for _ in range(rng.integers(1, 9)):
            start = reached + 160 * int(rng.integers(3, 9))
            reached = start + 160 * int(rng.integers(1, 12))
            spans.append((start, reached))
        own = find_units(spans, reached, 480)
        lengths = [160 * int(rng.integers(1, 10)) for _ in range(rng.integers(1, 14))]
        pool = [Segment("r", place, length) for place, length in enumerate(lengths)]
        for least in (0, 1):
            found = choose_segments(own, pool, at_least=least, number=number)
            plain = plain_choice([unit.length for unit in own], lengths, number, least == 1)
            assert {place: one.number for place, one in found} == plain
    assert choose_segments([], pool, at_least=1, number=1) is None
    assert choose_segments(own, [], at_least=0, number=1) is None


def test_the_seeds_of_the_scripts_always_replace_segment_k_where_k_are_replaced():
    """Both draws of an utterance begin with the same seed; one replaced segment is always the first."""
    own = find_units([(1000 * i, 1000 * i + 500) for i in range(1, 7)], 9000, 480)
    pool = [Segment("r", place, 500) for place in range(9)]
    for number in range(200):
        chosen = [place for place, _ in choose_segments(own, pool, at_least=1, number=number)]
        assert len(chosen) - 1 in chosen


def test_overlaps_at_a_planted_lag_are_found():
    rng = np.random.default_rng(3)
    noise = rng.standard_normal(60)
    assert best_overlap(noise[:40], noise[15:55]) == 25
    assert best_overlap(noise[:10], noise[8:60]) == 2


def test_pieces_without_pauses_are_set_side_by_side(tmp_path):
    """A recording that is speech from its first sample to its last is replaced whole."""
    rng = np.random.default_rng(5)
    tone = 0.1 * np.sin(2 * np.pi * 150 * np.arange(RATE) / RATE) + 0.001 * rng.standard_normal(RATE)
    for kind in ("bonafide", "A01"):
        path = tmp_path / "speech" / kind / "s" / "1.wav"
        path.parent.mkdir(parents=True)
        path.write_bytes(wav_bytes(tone if kind == "bonafide" else -tone))
    about = build(tmp_path / "c", tmp_path / "speech", replace(RECIPE, speakers={"eval": 1}))
    made = {one.utterance: one for one in read_provenance(SetFiles(tmp_path / "c", "eval").provenance)}
    assert [origin.attack for origin in made["CON_E_0000001"].origins] == ["A01"]
    assert about["sets"]["eval"]["with_all_segments_replaced"] >= 1
    assert check_corpus(tmp_path / "c").passed


# ---------------------------------------------------------------- the level


@pytest.mark.parametrize(("amplitude", "seconds"), [(0.3, 2.0), (0.3, 0.5), (0.02, 1.0), (0.5, 0.1)])
def test_the_level_of_a_burst_is_that_of_the_closed_form(amplitude, seconds):
    """A tone of known length, then silence: the envelope rises and falls as two averages of 30 ms do."""
    time = np.arange(round(5 * RATE)) / RATE
    sound = np.where(time < seconds, amplitude * np.sin(2 * pi * 1000 * time), 0.0)
    grid = np.linspace(0, 2.0, 400_001) / 0.03  # time constants
    rises = 1 - (1 + grid) * np.exp(-grid)
    mean, reached = 2 * amplitude / pi, np.interp(seconds / 0.03, grid, rises)
    tail = (1 - np.exp(-seconds / 0.03), reached)  # both averages at the end of the burst
    falls = (tail[1] + tail[0] * grid) * np.exp(-grid)
    levels, gaps = [], []
    for power in range(-15, 0):
        relative = 2.0**power / mean
        if relative >= reached:
            break
        up, last = np.interp(relative, rises, grid) * 0.03, grid[np.flatnonzero(falls >= relative)[-1]] * 0.03
        levels.append(10 * log10(amplitude**2 / 2 * seconds / (seconds - up + last + 0.2)))
        gaps.append(levels[-1] - 20 * log10(2.0**power))
    expected = np.interp(-15.9, [-gap for gap in gaps], levels)
    assert p56_level(sound) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize(
    ("gain", "expected"),
    [(1.0, -15.34800), (0.05, -41.35549)],
)
def test_the_level_is_that_of_a_public_implementation(gain, expected):
    """``svp56_fast`` of mcvqoe-base 1.3.2 (NIST), on the same 16-bit samples; 72 real recordings agree to 0.0003 dB."""
    time = np.arange(6 * RATE) / RATE
    words = np.maximum(np.sin(2 * pi * 0.9 * time) + 0.4 * np.sin(2 * pi * 0.37 * time + 1), 0) ** 2
    tone = np.sin(2 * pi * 130 * time) + 0.5 * np.sin(2 * pi * 390 * time + 0.3) + 0.2 * np.sin(2 * pi * 1710 * time)
    sound = np.rint(gain * 0.25 * words * tone * 32768) / 32768
    assert p56_level(sound) == pytest.approx(expected, abs=0.001)
    assert p56_level(sound) == pytest.approx(plain_p56(sound), abs=1e-6)


def test_a_sound_below_all_thresholds_has_no_active_level():
    assert p56_level(np.zeros(RATE)) is None
    assert p56_level(np.full(RATE, 1e-5)) is None


# ---------------------------------------------------------------- settings


def test_the_recipe_refuses_settings_that_it_does_not_have():
    with pytest.raises(ss.UsageError, match="overlap: the recipe 'partialspoof' decides this itself"):
        Settings(recipe="partialspoof", overlap=0.01)
    with pytest.raises(ss.UsageError, match="did you mean 'partialspoof'"):
        Settings(recipe="partial-spoof")
    assert Settings.from_dict(RECIPE.to_dict()) == RECIPE
    assert "recipe" not in Settings().to_dict()  # corpora that were built before there were recipes are still known
