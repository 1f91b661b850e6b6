"""Words of an alignment as units: against scikit-learn on words that are put together by hand, and files."""

import json
import random
from dataclasses import replace

import numpy as np
import pytest
from command_line import run_command as run
from sklearn.metrics import f1_score, roc_curve

import spoofspan as ss
from spoofspan.evaluation.words import cut_into_words
from spoofspan.formats.tables import parquet
from spoofspan.formats.text.alignments import read_alignment

pytestmark = [pytest.mark.quick, pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")]
HOP = 20  # ms


def drawn(seed, utterances=25):
    """Spoofed ranges, frames and words of utterances of 2 s, in ms; words have gaps, and edges off the frames."""
    draw = random.Random(seed)
    spoof, frames, words = {}, {}, {}
    for i in range(utterances):
        at, rows = 0, []
        while at < 1500:
            start = at + draw.choice([0, 37])
            at = start + draw.randint(60, 430)
            rows.append((start, at, f"w{len(rows)}"))
        start = draw.randint(0, 1200)
        name = f"u{i}"
        spoof[name] = [(start, start + draw.randint(50, 700))] if i % 3 else []
        words[name] = rows
        frames[name] = [
            draw.gauss(0, 1) - 2 * any(a < (k + 1) * HOP and k * HOP < b for a, b in spoof[name]) for k in range(100)
        ]
    return spoof, frames, words


def sides(spoof, frames):
    ranges = {name: [(a / 1000, b / 1000, "spoof") for a, b in rows] for name, rows in spoof.items()}
    references = ss.References.from_ranges(ranges, dict.fromkeys(ranges, 2.0))
    return references, ss.Scores.from_frames(frames, hop=HOP / 1000, higher="bonafide")


def by_hand(spoof, frames, words):
    """Label and score of each word."""
    found = []
    for name, rows in words.items():
        for a, b, _ in rows:
            scores = [one for k, one in enumerate(frames[name]) if k * HOP < b and a < (k + 1) * HOP]
            found.append((any(s < b and a < e for s, e in spoof[name]), min(scores), name))
    return found


def seconds(words):
    return {name: [(a / 1000, b / 1000, word) for a, b, word in rows] for name, rows in words.items()}


@pytest.mark.parametrize("seed", range(4))
def test_word_level_measures_are_those_of_scikit_learn(seed):
    spoof, frames, words = drawn(seed)
    cut = cut_into_words(*sides(spoof, frames), seconds(words))
    expected = by_hand(spoof, frames, words)
    labels, scores = np.array([one[0] for one in expected]), np.array([one[1] for one in expected])
    found = ss.evaluate(cut.references, cut.scores, ["utterance-eer", "utterance-f1"], threshold=-1.0, gaps="bonafide")
    assert found["utterance-f1"].value == pytest.approx(f1_score(labels, scores < -1.0), abs=1e-15)
    assert found["utterance-eer"].utterances == len(expected)
    fpr, tpr, _ = roc_curve(labels, -scores, drop_intermediate=False)
    place = np.argmin(np.abs(fpr - (1 - tpr)))
    assert found["utterance-eer"].value == pytest.approx((fpr[place] + 1 - tpr[place]) / 2, abs=1e-12)


def test_words_that_cover_everything_leave_the_range_eer_as_it_is(demo):
    references, scores = demo
    ends = dict(zip(references.utterances, references.durations / 1e9, strict=True))
    words = {name: [(0.0, end / 3, "a"), (end / 3, end, "b")] for name, end in ends.items()}
    cut = cut_into_words(references, scores, words)
    assert ss.range_eer(cut.references, cut.scores).value == ss.range_eer(references, scores).value
    assert set(cut.column().values()) == set(references.utterances)


def test_what_does_not_fit_is_refused():
    spoof, frames, words = drawn(1, 4)
    references, scores = sides(spoof, frames)
    with pytest.raises(ss.DataError, match="no utterance in common"):
        cut_into_words(references, scores, {"x": [(0.0, 1.0, "a")]})
    with pytest.raises(ss.DataError, match="no scores for 'u3'"):
        cut_into_words(references, scores.take(["u0", "u1", "u2"]), seconds(words))
    del words["u2"]
    assert cut_into_words(references, scores, seconds(words)).without_words == 1


def ctm(words):
    lines = [f"{n} 1 {a / 1000:.3f} {(b - a) / 1000:.3f} {w} 1.00" for n, rows in words.items() for a, b, w in rows]
    return ";; an alignment\n" + "\n".join(lines) + "\nu0 1 1.95 0.05 <eps>\n"


def grid(rows):
    lines = ['File type = "ooTextFile"', 'Object class = "TextGrid"', "", "0", "2", "<exists>", "2"]
    for name, kept in (("words", rows), ("phones", rows[:1])):
        lines += ['"IntervalTier"', f'"{name}"', "0", "2", str(len(kept) + 1)]
        lines += [f'{a / 1000} {b / 1000} "{word}"' for a, b, word in kept] + ['1.99 2 ""']
    return "\n".join(lines) + "\n"


def test_ctm_and_textgrids_have_the_same_words(tmp_path):
    words = drawn(2)[2]
    (tmp_path / "a.ctm").write_text(ctm(words), encoding="utf-8")
    folder = tmp_path / "grids"
    folder.mkdir()
    for name, rows in words.items():
        (folder / f"{name}.TextGrid").write_text(grid(rows), encoding="utf-8")
    assert read_alignment(tmp_path / "a.ctm") == read_alignment(folder) == seconds(words)
    assert {len(rows) for rows in read_alignment(folder, tier="phones").values()} == {1}
    with pytest.raises(ss.DataError, match="no interval tier 'word': did you mean 'words'"):
        read_alignment(folder, tier="word")
    with pytest.raises(ss.DataError, match="only TextGrids have tiers"):
        read_alignment(tmp_path / "a.ctm", tier="words")
    for text, said in (
        ("u 1 0.1 word\n", "CTM is"),
        ("u 1 0.5 -0.1 a\n", "must end after"),
        ("u 1 0 1 sil\n", "no word"),
    ):
        (tmp_path / "b.ctm").write_text(text, encoding="utf-8")
        with pytest.raises(ss.DataError, match=said):
            read_alignment(tmp_path / "b.ctm")


def test_the_command_line_measures_words(tmp_path, capsys):
    spoof, frames, words = drawn(3)
    references, scores = sides(spoof, frames)
    (tmp_path / "r.parquet").write_bytes(b"".join(parquet.write_references(references)))
    (tmp_path / "s.parquet").write_bytes(b"".join(parquet.write_scores(scores)))
    (tmp_path / "a.ctm").write_text(ctm(words), encoding="utf-8")
    who = ["utterance\tspeaker", *(f"{name}\ts{int(name[1:]) % 12}" for name in words)]
    (tmp_path / "who.tsv").write_text("\n".join(who) + "\n", encoding="utf-8")
    files = ["eval", tmp_path / "r.parquet", tmp_path / "s.parquet", "--gaps", "bonafide"]
    asked = [*files, "--words", tmp_path / "a.ctm", "--confidence", "0.95", "--format", "json"]
    cut = cut_into_words(references, scores, seconds(words))
    expected = ss.evaluate(cut.references, cut.scores, "utterance-eer", gaps="bonafide")["utterance-eer"]
    for more, levels in (([], {"utterance": 25}), (["--metadata", tmp_path / "who.tsv"], {"speaker": 12})):
        code, printed, said = run([*asked, *more], capsys)
        assert code == 0, said
        assert f"{len(cut.utterance_of)} words" in said
        (found,) = json.loads(printed)["measurements"]
        assert (found["measure"], found["value"]) == ("utterance-eer", expected.value)
        assert found["interval"]["levels"] == levels
        assert found["signature"]["comparable"] == expected.signature.comparable
    code, printed, said = run([*asked, "--metadata", tmp_path / "who.tsv", "--by", "speaker"], capsys)
    assert code == 0, said
    assert len(json.loads(printed)["crossed"][0]["rows"]) == 13
    for wrong, text in ((["--tier", "x"], "give both"), (["--words", tmp_path / "a.ctm", "--stream"], "in memory")):
        code, _, said = run([*files, *wrong], capsys)
        assert (code, text in " ".join(said.split())) == (2, True), said


def test_the_command_line_compares_on_words(tmp_path, capsys):
    spoof, frames, words = drawn(3)
    references, scores = sides(spoof, frames)
    noise = np.random.default_rng(0).normal(size=(3, scores.values.size))
    systems = {name: replace(scores, values=scores.values + one) for name, one in zip("abc", noise, strict=True)}
    (tmp_path / "r.parquet").write_bytes(b"".join(parquet.write_references(references)))
    for name, one in systems.items():
        (tmp_path / f"{name}.parquet").write_bytes(b"".join(parquet.write_scores(one)))
    (tmp_path / "a.ctm").write_text(ctm(words), encoding="utf-8")
    who = ["utterance\tspeaker\tattack", *(f"{name}\ts{int(name[1:]) % 12}\tA{int(name[1:]) % 2}" for name in words)]
    (tmp_path / "who.tsv").write_text("\n".join(who) + "\n", encoding="utf-8")
    files = ["compare", tmp_path / "r.parquet", *(tmp_path / f"{name}.parquet" for name in "ab"), "--gaps", "bonafide"]
    asked = [*files, "--words", tmp_path / "a.ctm", "--format", "json"]
    cut = {name: cut_into_words(references, one, seconds(words)) for name, one in systems.items()}
    by_word = {name: cut[name].scores for name in "ab"}
    speakers = {word: f"s{int(utt[1:]) % 12}" for word, utt in cut["a"].utterance_of.items()}
    for more, clusters in (([], cut["a"].utterance_of), (["--metadata", tmp_path / "who.tsv"], speakers)):
        code, printed, said = run([*asked, *more], capsys)
        assert code == 0, said
        expected = ss.compare(cut["a"].references, by_word, "utterance-eer", clusters=clusters, gaps="bonafide")
        (found,) = json.loads(printed)["comparisons"]
        assert found["measure"] == "utterance-eer"
        assert found["differences"][0]["p_value"] == expected["a", "b"].p_value
    code, printed, said = run([*asked, "--metadata", tmp_path / "who.tsv", "--by", "attack"], capsys)
    assert code == 0, said
    (groups,) = json.loads(printed)["comparisons"][0]["by"]
    assert [one["group"] for one in groups["groups"]] == ["A0", "A1"]
    seeds = ["compare", tmp_path / "r.parquet", f"x={tmp_path}/[ab].parquet", tmp_path / "c.parquet"]
    code, printed, said = run([*seeds, *asked[4:]], capsys)
    assert code == 0, said
    (found,) = json.loads(printed)["comparisons"]
    trained = {"x": by_word, "c": cut["c"].scores}
    expected = ss.compare(
        cut["a"].references, trained, "utterance-eer", clusters=cut["a"].utterance_of, gaps="bonafide"
    )
    assert found["differences"][0]["p_value"] == expected["x", "c"].p_value
    code, _, said = run([*files, "--tier", "x"], capsys)
    assert (code, "give both" in said) == (2, True)
