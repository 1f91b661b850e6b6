"""Corpora, checked: every way to have one wrong is named. And the sources that corpora are built of."""

import csv
import json
import shutil

import numpy as np
import pytest

import spoofspan as ss
from spoofspan.corpus.building import build
from spoofspan.corpus.builtin import Sentence, built_in_settings, sentences_of
from spoofspan.corpus.checking import check_corpus, segments_of
from spoofspan.corpus.settings import BUILT_IN_SPEAKERS, BUILT_IN_UTTERANCES, Settings
from spoofspan.corpus.source_folder import Recording, attack_ids, attacks_of, named_recordings, recordings_in
from spoofspan.corpus.splice_plan import deal_speakers, held_out_attacks, make_plan
from spoofspan.corpus.survey import look_at
from spoofspan.corpus.vocoders import ATTACKS
from spoofspan.formats.arrays import segment_labels
from spoofspan.formats.sound import FULL_SCALE, read_sound, wav_bytes


@pytest.fixture(scope="module")
def speech(tmp_path_factory):
    """A folder of speech: four speakers, two attacks called as their makers call them."""
    folder = tmp_path_factory.mktemp("speech")
    for speaker in range(1, 5):
        for number in range(1, 10):
            attack = {4: "A01", 5: "A01", 6: "A01", 7: "A02", 8: "A02", 9: "A02"}.get(number)
            kind = {None: "bonafide", "A01": "griffin-lim", "A02": "lpc"}[attack]
            path = folder / kind / f"speaker{speaker}" / f"{number}.wav"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(wav_bytes(Sentence(speaker, number, attack, "train", 3).sound()))
    return folder


@pytest.fixture(scope="module")
def built(speech, tmp_path_factory):
    folder = tmp_path_factory.mktemp("built") / "corpus"
    build(folder, speech, Settings(speakers={"train": 2, "dev": 1, "eval": 1}))
    return folder


@pytest.fixture
def corpus(built, tmp_path):
    """A copy, to be spoiled."""
    return shutil.copytree(built, tmp_path / "corpus")


def edit(path, old, new, count=1):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, count))


def problems(folder):
    found = check_corpus(folder)
    assert not found.passed
    return "\n".join(found.problems)


# ---------------------------------------------------------------- a folder of speech


def test_a_folder_of_speech_gives_every_recording_its_turn(built, speech):
    about = json.loads((built / "corpus.json").read_text())
    assert about["attacks"] == {"A01": "griffin-lim", "A02": "lpc"}  # names that RTTM can hold
    assert about["held_out_attacks"] == ["A02"]
    train, evaluation = about["sets"]["train"], about["sets"]["eval"]
    assert train["bona_fide_utterances"] == 2 * 3
    assert train["bona_fide_in_spoof"] <= 2 * 3  # of A01; A02 is held out
    assert evaluation["bona_fide_in_spoof"] <= 6
    assert set(evaluation["utterances_by_attack"]) == {"A01", "A02"}
    assert set(train["utterances_by_attack"]) == {"A01"}
    assert check_corpus(built).passed


def test_other_levels_in_the_source_come_out_the_same(speech, tmp_path):
    """The gain undoes what was done to a recording."""
    louder = tmp_path / "x.wav"
    path = speech / "bonafide/speaker1/1.wav"
    louder.write_bytes(wav_bytes(read_sound(path) * 2))  # without any rounding
    surveyed = look_at([Recording("a", path, "s", None), Recording("b", louder, "s", None)], -26.0)
    assert surveyed[1].gain == pytest.approx(surveyed[0].gain / 2)
    assert surveyed[0].speech == surveyed[1].speech


def find_recordings(source):
    found = recordings_in(source)
    return named_recordings(found, attack_ids(attacks_of(found)))


def test_a_list_chooses_recordings_speakers_and_sets(speech, tmp_path):
    rows = [("path", "speaker", "attack", "set")]
    for one in find_recordings(speech).items:
        kind = one.name.split("/")[0]
        subset = {"speaker1": "eval", "speaker2": "train", "speaker3": "dev"}.get(one.speaker)
        if subset is not None:
            rows.append((one.path, one.speaker.upper(), "-" if kind == "bonafide" else kind, subset))
    listed = tmp_path / "list.csv"
    with listed.open("w", newline="") as stream:
        csv.writer(stream).writerows(rows)
    found = find_recordings(listed)
    assert len(found.items) == 27
    assert deal_speakers(found.items, Settings()) == {"SPEAKER1": "eval", "SPEAKER2": "train", "SPEAKER3": "dev"}
    assert {one.attack for one in found.items} == {None, "A01", "A02"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("path,who\na.wav,s\n", "no column speaker, attack"),
        ("path,speaker,attack\n,s,-\n", "list.csv:2: path and speaker"),
        ("path,speaker,attack\nmissing.wav,s,-\n", "list.csv:2: there is no file"),
        ("path,speaker,attack,set\nlist.csv,s,-,test\n", "list.csv:2: the set must be train, dev, eval"),
        ("path,speaker,attack\nlist.csv,s,-\nlist.csv,s,A01\n", "a second time"),
        ("path,speaker,attack,set\nlist.csv,s,-,dev\n./list.csv,s,A01,eval\n", "speaker 's' is in two sets"),
        ("path,speaker,attack\nlist.csv,s,-\n", "no spoofed recordings"),
        ("path,speaker,attack\nlist.csv,s,A01\n", "no bona fide recordings"),
        ("path,speaker,attack\nlist.csv,s t,-\n./list.csv,s t,A01\n", "white space"),
        ("path,speaker,attack\n", "there are no recordings"),
    ],
)
def test_lists_that_are_wrong_are_named_with_the_line(tmp_path, text, message):
    (tmp_path / "list.csv").write_text(text)
    with pytest.raises(ss.DataError) as refused:
        find_recordings(tmp_path / "list.csv")
    assert message in str(refused.value)


def test_a_source_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ss.UsageError, match="there is no"):
        find_recordings(tmp_path / "nowhere")
    with pytest.raises(ss.DataError, match="there are no recordings"):
        find_recordings(tmp_path)


# ---------------------------------------------------------------- plans


def test_a_unit_is_replaced_by_the_shortest_that_is_at_least_as_long(speech):
    recordings = find_recordings(speech).items
    settings = Settings(donors=100)  # all of them, so that the shortest is known
    survey = {one.name: one for one in look_at(recordings, -26.0)}
    plan = make_plan(recordings, survey, settings)
    by_name = {one.name: one for one in recordings}
    checked = 0
    for one in plan.utterances:
        used = set()
        for substitution in reversed(one.substitutions):  # from last to first
            replaced = survey[one.carrier].units(0.06)[substitution.unit]
            donor = by_name[substitution.donor]
            assert donor.speaker == one.speaker
            assert (donor.attack is None) != (by_name[one.carrier].attack is None)
            taken = survey[substitution.donor].units(0.06)[substitution.donor_unit].length
            fitting = [
                unit.length
                for other in recordings
                if (other.speaker, other.attack) == (donor.speaker, donor.attack)
                for number, unit in enumerate(survey[other.name].units(0.06))
                if unit.length >= replaced.length and (other.name, number) not in used
                if (unit.room_in or not replaced.room_in) and (unit.room_out or not replaced.room_out)
            ]
            assert taken == min(fitting)
            used.add((substitution.donor, substitution.donor_unit))
            checked += 1
        units = survey[one.carrier].units(0.06)
        assert len(one.substitutions) < max(len(units), 2)  # something of the carrier stays
    assert checked > 20


def test_speakers_are_dealt_by_the_seed_and_none_twice():
    recordings = [Recording(f"{i}", None, f"s{i:02d}", None) for i in range(20)]
    dealt = [deal_speakers(recordings, Settings(seed=seed)) for seed in (1, 1, 2)]
    assert dealt[0] == dealt[1] != dealt[2]
    assert sorted(dealt[0]) == [f"s{i:02d}" for i in range(20)]
    counts = [list(dealt[0].values()).count(subset) for subset in ("train", "dev", "eval")]
    assert counts == [10, 4, 6]
    with pytest.raises(ss.DataError, match="20 speakers are not enough"):
        deal_speakers(recordings, Settings(speakers={"train": 21}))


def test_held_out_attacks_are_those_asked_for_or_the_last():
    attacks = ("A01", "A02", "A03")
    assert held_out_attacks(attacks, Settings()) == ("A03",)
    assert held_out_attacks(attacks[:1], Settings()) == ()
    assert held_out_attacks(attacks, Settings(held_out=())) == ()
    assert held_out_attacks(attacks, Settings(held_out=("A02", "A01"))) == ("A01", "A02")
    called = {"A01": "griffin-lim", "A02": "lpc", "A03": "world"}
    assert held_out_attacks(attacks, Settings(held_out=("world", "A01")), called) == ("A01", "A03")
    with pytest.raises(ss.UsageError, match="no such attack"):
        held_out_attacks(attacks, Settings(held_out=("A30",)))
    with pytest.raises(ss.UsageError, match="at least one"):
        held_out_attacks(attacks, Settings(held_out=("A01", "A02", "world")), called)


def test_the_built_in_source_has_the_stated_size_and_an_unseen_vocoder():
    settings = built_in_settings(Settings())
    assert settings.utterances == BUILT_IN_UTTERANCES
    assert settings.speakers == BUILT_IN_SPEAKERS
    sentences = sentences_of(settings)
    assert len({one.name for one in sentences}) == len(sentences)
    heard = {subset: {one.attack for one in sentences if one.subset == subset} for subset in BUILT_IN_UTTERANCES}
    assert heard["eval"] == {None, *ATTACKS}
    assert heard["train"] == heard["dev"] == {None, *ATTACKS} - {"A04"}
    speakers = {subset: {one.speaker for one in sentences if one.subset == subset} for subset in heard}
    assert sum(map(len, speakers.values())) == len(set.union(*speakers.values())) == 74


# ---------------------------------------------------------------- a corpus that is not what it says


def test_a_missing_a_strange_and_a_shorter_sound_file_are_found(corpus):
    sounds = sorted((corpus / "database/train/con_wav").iterdir())
    sounds[0].unlink()
    shutil.copy(sounds[1], sounds[1].with_name("CON_T_9999999.wav"))
    sounds[2].write_bytes(wav_bytes(read_sound(sounds[2])[:-1]))  # by one sample
    sounds[3].write_bytes(b"RIFF")
    said = problems(corpus)
    assert f"there is no {sounds[0]}" in said
    assert "CON_T_9999999.wav: it belongs to no utterance" in said
    assert f"{sounds[2]}: " in said
    assert "but the duration is" in said
    assert f"{sounds[3]}: no WAV file" in said


def test_one_changed_sample_is_found(corpus):
    path = sorted((corpus / "database/dev/con_wav").iterdir())[0]
    sound = read_sound(path)
    sound[1000] += 1 / FULL_SCALE
    path.write_bytes(wav_bytes(sound))
    assert "sound files were changed" in problems(corpus)


def test_a_duration_that_is_not_that_of_the_file_is_found(corpus):
    path = corpus / "database/eval/con_data/reco2dur"
    first, *rest = path.read_text().splitlines()
    utterance, seconds = first.split()
    path.write_text("\n".join([f"{utterance} {float(seconds) + 0.01}", *rest]))
    assert utterance in problems(corpus)


def test_a_gap_in_the_ranges_is_found(corpus):
    path = corpus / "database/eval/con_data/rttm_attacks"
    lines = path.read_text().splitlines()
    dropped = next(i for i, line in enumerate(lines) if " A0" in line)
    path.write_text("\n".join(lines[:dropped] + lines[dropped + 1 :]))
    assert lines[dropped].split()[1] in problems(corpus)


@pytest.mark.parametrize("name", ["rttm_2cls_0sil", "rttm_2cls_0sil_spoof", "rttm_3cls"])
def test_ranges_that_differ_from_one_file_to_another_are_found(corpus, name):
    path = corpus / "database/eval/con_data" / name
    lines = path.read_text().splitlines()
    changed = next(i for i, line in enumerate(lines) if " spoof " in line or " A0" in line)
    fields = lines[changed].split()
    del lines[changed]
    if not name.endswith("_spoof"):
        fields[7] = "bonafide"
        lines.insert(changed, " ".join(fields))
    path.write_text("\n".join(lines) + "\n")
    assert f"{name}: {float(fields[4]):.6f} s are labelled differently" in problems(corpus)


@pytest.mark.parametrize("suffix", [".npz", ".npy"])
@pytest.mark.parametrize("resolution", ["0.01", "0.64"])
def test_a_segment_with_another_label_is_found(corpus, suffix, resolution):
    folder = corpus / "database/segment_labels"
    labels = dict(np.load(folder / f"dev_seglab_{resolution}.npz"))
    utterance = list(labels)[-1]
    labels[utterance][-1] ^= 1
    path = folder / f"dev_seglab_{resolution}{suffix}"
    if suffix == ".npz":
        np.savez(path, **labels)
    else:  # the official form, beside the other
        path.write_bytes(b"".join(segment_labels.write_labels({utt: one == 1 for utt, one in labels.items()})))
    said = problems(corpus)
    assert f"{path}: utterance {utterance!r}: the labels are not those of the RTTM" in said


def test_a_speaker_in_two_sets_is_found(corpus):
    protocols = corpus / "database/protocols/PartialSpoof_LA_cm_protocols"
    stranger = (protocols / "PartialSpoof.LA.cm.eval.trl.txt").read_text().split()[0]
    train = protocols / "PartialSpoof.LA.cm.train.trl.txt"
    edit(train, train.read_text().split()[0], stranger)
    assert f"speaker {stranger!r} is in train and in eval" in problems(corpus)


def test_an_attack_that_should_be_unseen_is_found(corpus):
    protocol = corpus / "database/protocols/PartialSpoof_LA_cm_protocols/PartialSpoof.LA.cm.train.trl.txt"
    edit(protocol, " A01 spoof", " A02 spoof")
    assert "the attack A02 is held out for eval, but is in train" in problems(corpus)


def test_provenance_that_says_something_else_is_found(corpus):
    path = corpus / "database/dev/con_data/provenance.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    row = next(row for row in rows if row["joints"])
    row["joints"][0]["end"] += 1
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "is not where its stretches overlap" in problems(corpus)
    row["joints"][0]["end"] -= 1
    spoofed = next(origin for origin in row["origins"] if origin["attack"] is not None)
    spoofed["attack"] = None
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "not those of the RTTM" in problems(corpus)
    path.write_text("{}\n")
    assert "no provenance" in problems(corpus)


def test_the_policy_that_was_stated_is_the_one_that_is_checked(corpus):
    edit(corpus / "corpus.json", '"joints": "spoof"', '"joints": "middle"')
    assert "under the stated policies" in problems(corpus)


def test_a_corpus_that_is_not_finished_is_found(corpus, tmp_path):
    (corpus / ".work").mkdir()
    assert "not finished" in problems(corpus)
    with pytest.raises(ss.UsageError, match="there is no corpus"):
        check_corpus(tmp_path / "nothing")


def test_a_folder_of_that_layout_from_elsewhere_is_checked_as_far_as_it_goes(corpus):
    (corpus / "corpus.json").unlink()
    for path in corpus.rglob("rttm_*"):
        if path.name != "rttm_2cls_0sil":
            path.unlink()
            continue
        rounded = []
        for line in path.read_text().splitlines():
            fields = line.split()
            fields[3:5] = (f"{float(field):7.3f}" for field in fields[3:5])
            rounded.append(" ".join(fields))
        path.write_text("\n".join(rounded))
    for path in [*corpus.rglob("provenance.jsonl"), *corpus.rglob("*_seglab_*")]:
        path.unlink()
    assert check_corpus(corpus).passed


def test_segments_by_hand():
    ranges = {"u": [(0.0, 0.02, "bonafide"), (0.02, 0.0400001, "spoof", "A01"), (0.0400001, 0.05, "bonafide")]}
    references = ss.References.from_ranges(ranges, durations={"u": 0.05})
    assert segments_of(references, 0.02)["u"].tolist() == [False, True, True]
    assert segments_of(references, 0.01)["u"].tolist() == [False, False, True, True, True]
