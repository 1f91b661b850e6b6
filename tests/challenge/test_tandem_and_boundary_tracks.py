"""Challenges of a tandem with speaker verification (t-DCF, t-EER), and of boundary tracks.

What is scored is what ``evaluate`` says of the same files, to the bit, and what other tools say: ASVspoof 5's package
of each attack and codec, BAM of a boundary track.
"""

import importlib
import io
import json
import math
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from challenge_cases import HOP, IDS, SECONDS, judge_quickly, kept_result, labels, scores
from command_line import run

import spoofspan as ss
from spoofspan.challenge.challenge_folder import build_challenge
from spoofspan.challenge.decisions import set_role
from spoofspan.challenge.definition import Definition, PublicPart
from spoofspan.challenge.hidden_part import HiddenPart
from spoofspan.challenge.leaderboard import leaderboard
from spoofspan.challenge.public_page import leaderboard_page
from spoofspan.challenge.published_numbers import rounded
from spoofspan.challenge.rescoring import rescore
from spoofspan.challenge.scoring_program import score_in_container
from spoofspan.challenge.submission_check import check_submission
from spoofspan.data.utterance_scores import UtteranceScores, VerificationScores
from spoofspan.formats.reading import read_utterance_scores
from spoofspan.formats.text.protocol import read_utterance_labels
from spoofspan.formats.text.utterance_scores import write_asvspoof5
from spoofspan.measures.costs import VerificationErrors
from spoofspan.measures.measure import Measure

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
GOLDEN = Path(__file__).parents[1] / "golden"
TRIALS = GOLDEN / "attack_codec_trials"
KEYS, SCORES, ASV = TRIALS / "keys.txt", TRIALS / "sasv_scores.tsv", TRIALS / "asv_scores.tsv"
TANDEM = ("utterance-min-tdcf", "utterance-t-eer", "utterance-act-tdcf", "utterance-min-tdcf@form=2024")
RATES = "0.02,0.03,0.4"
BOUNDARIES = ("point-boundary-eer@20ms", "point-boundary-f1@20ms")
PLATFORMS = ["evalai", "huggingface"]


def built(folder, capsys, *arguments):
    code, printed = run(["challenge", "build", *arguments, "--out", folder], capsys)
    assert code == 0, printed.err
    return folder


def values_of(result):
    return {one["measure"]: one["value"] for one in result.measured}


# ---------------------------------------------------------------- a tandem


@pytest.fixture
def tandem(tmp_path, capsys):
    """A challenge of trials by attack and codec, and the submission of ASVspoof 5's table."""
    asked = [word for one in TANDEM for word in ("-m", one)]
    by = ["--by", "attack", "--by", "codec", "--by", "attack,codec", "--metadata", KEYS, "--cluster", "utterance"]
    files = [KEYS, "--submissions", "utterance-scores", "--scores-are", "llr", "--asv-scores", ASV]
    challenge = built(tmp_path / "challenge", capsys, *files, *asked, *by)
    (tmp_path / "alpha.tsv").write_bytes(SCORES.read_bytes())
    return challenge


def test_a_tandem_is_scored_as_eval_does_to_the_bit(tandem, capsys):
    alpha = tandem.parent / "alpha.tsv"
    public = PublicPart.read(tandem / "public")
    assert check_submission(public, alpha).problems == ()
    assert check_submission(public, tandem / "public" / "sample_submission.zip").problems == ()
    scored = judge_quickly(tandem, alpha)
    asked = [word for one in TANDEM for word in ("-m", one)]
    files = ["eval", KEYS, "--utterance-scores", SCORES, "--asv-scores", ASV, "--scores-are", "llr"]
    code, printed = run([*files, *asked, "--format", "json"], capsys)
    assert code == 0
    found = {str(Measure.parse(one["measure"])): one for one in json.loads(printed.out)["measurements"]}
    kept = {one["measure"]: one for one in kept_result(tandem, "alpha").measured}
    assert kept.keys() == found.keys()
    for name, one in kept.items():
        assert one["value"] == found[name]["value"]
        assert one["signature"]["comparable"] == found[name]["signature"]["comparable"]
        assert scored.values[name] == rounded(name, found[name]["value"])
    key, system = read_utterance_labels(KEYS), read_utterance_scores(SCORES)
    how = {"asv_scores": ss.read_verification_scores(ASV, key), "scores_are": "llr", "resampling": ss.Resampling()}
    for name in (TANDEM[0], TANDEM[2]):
        alone = ss.evaluate_utterances(key, system, [name], **how)[name].interval
        interval = kept[str(Measure.parse(name))]["interval"]
        assert (interval["low"], interval["high"]) == (alone.low, alone.high)


def test_the_cells_of_a_tandem_are_those_of_asvspoof_5(tandem):
    judge_quickly(tandem, tandem.parent / "alpha.tsv")
    board = leaderboard(tandem)
    expected = json.loads((TRIALS / "expected.json").read_text())
    table = expected["tools"]["min-tdcf of accepted spoofs"]
    cells = board.groups["attack,codec"]["alpha"]
    assert len(cells) == 12
    for name, cell in cells.items():
        attack, codec = name.split(", ")
        row, column = expected["attacks"].index(attack), expected["codecs"].index(codec)
        assert cell["value"] == pytest.approx(table[row][column], abs=1e-12)


def test_rates_of_a_verification_system_are_enough_for_a_t_dcf(tmp_path, capsys):
    files = [KEYS, "--submissions", "utterance-scores", "--asv-rates", RATES, "-m", "utterance-min-tdcf"]
    challenge = built(tmp_path / "challenge", capsys, *files)
    (tmp_path / "alpha.tsv").write_bytes(SCORES.read_bytes())
    judge_quickly(challenge, tmp_path / "alpha.tsv")
    asked = ["eval", KEYS, "--utterance-scores", SCORES, "--asv-rates", RATES, "-m", "utterance-min-tdcf"]
    code, printed = run([*asked, "--format", "json"], capsys)
    assert code == 0
    (one,) = json.loads(printed.out)["measurements"]
    (kept,) = kept_result(challenge, "alpha").measured
    assert (kept["value"], kept["signature"]["comparable"]) == (one["value"], one["signature"]["comparable"])


def test_a_t_eer_ranks_by_value_and_says_that_it_has_no_interval(tmp_path):
    key, system = read_utterance_labels(KEYS), read_utterance_scores(SCORES).of_column(trials=False)
    asv = ss.read_verification_scores(ASV, key)
    definition = Definition("Tandem", ("utterance-t-eer",), submissions="utterance-scores", ties="earlier")
    build_challenge(tmp_path / "challenge", definition, HiddenPart(key, asv=asv))
    rng, expected = np.random.default_rng(1), {}
    for team, noise in (("charlie", 2.0), ("alpha", 0.0), ("bravo", 0.5)):
        values = system.values + noise * rng.standard_normal(system.values.size)
        noisy = UtteranceScores(system.utterances, values, "bonafide", of_trials=True)
        found = ss.evaluate_utterances(key, noisy, ["utterance-t-eer"], asv_scores=asv)
        expected[team] = found["utterance-t-eer"].value
        lines = [
            f"{utt.replace(' ', chr(9))}\t{value!r}"
            for utt, value in zip(noisy.utterances, values.tolist(), strict=True)
        ]
        (tmp_path / f"{team}.tsv").write_text("\n".join(["spk\tfilename\tcm-score", *lines]) + "\n")
        judge_quickly(tmp_path / "challenge", tmp_path / f"{team}.tsv")
    board = leaderboard(tmp_path / "challenge")
    assert [one.system for one in board.ranks] == sorted(expected, key=expected.__getitem__)
    for one in board.ranks:
        assert (one.value, one.low, one.high) == (expected[one.system], 1, 3)
        assert math.isnan(board.first.intervals[one.system].low)
    assert board.warnings == (
        "utterance-t-eer has no interval and no tests, because its two thresholds jump from trial to trial: its ranks "
        "are by value alone.",
    )
    assert board.cautions == ()
    set_role(tmp_path / "challenge", "charlie", "baseline", "of the organisers")
    board = leaderboard(tmp_path / "challenge")
    assert "charlie" in leaderboard_page(board, others=[board])
    assert "nan" not in "".join(table.render("text") for table in board.tables())


def test_a_t_dcf_of_scores_in_time_is_that_of_their_lowest(tmp_path):
    key = read_utterance_labels(KEYS)
    asv, truth = ss.read_verification_scores(ASV, key), labels()
    definition = Definition("Pooled", ("range-eer", "utterance-min-tdcf"))
    challenge = tmp_path / "challenge"
    build_challenge(challenge, definition, HiddenPart(truth, asv=asv))
    ss.write_scores(scores(truth, 1.0), tmp_path / "alpha.parquet")
    judge_quickly(challenge, tmp_path / "alpha.parquet")
    found = ss.evaluate(truth, scores(truth, 1.0), definition.measures, asv_scores=asv)
    kept = kept_result(challenge, "alpha")
    assert list(values_of(kept).values()) == [found[one].value for one in definition.measures]
    comparable = [one["signature"]["comparable"] for one in kept.measured]
    assert comparable == [found[one].signature.comparable for one in definition.measures]


SOME_TRIALS = {"target": ("u1", "u2"), "nontarget": ("u3",), "spoof": ("u4", "u5")}


@pytest.mark.parametrize(
    "asv",
    [
        VerificationErrors.of_rates([0.02, 1 / 3, 0.4]),
        VerificationScores(np.array([1.5, math.inf]), np.array([-0.1]), np.array([0.1, -math.inf])),
        VerificationScores(np.array([1.5, 0.1]), np.array([0.3]), np.array([0.1, 0.7]), ("A1", "A2"), SOME_TRIALS),
    ],
)
def test_a_verification_system_comes_back_as_it_was(asv, tmp_path):
    hidden = HiddenPart({"u1": "bonafide", "u4": "spoof"}, asv=asv)
    read = hidden.write(tmp_path)
    assert read.fingerprint == hidden.fingerprint
    if isinstance(asv, VerificationErrors):
        assert (str(read.asv), read.asv.signed) == (str(asv), asv.signed)
        assert read.asv.rejected_targets == asv.rejected_targets
        return
    for kind in ("target", "nontarget", "spoof"):
        assert getattr(read.asv, kind).tolist() == getattr(asv, kind).tolist()
    assert (read.asv.attacks, read.asv.trials) == (asv.attacks, asv.trials)
    other = VerificationScores(asv.target, asv.nontarget, asv.spoof[::-1], asv.attacks, asv.trials)
    assert HiddenPart(hidden.truth, asv=other).fingerprint != hidden.fingerprint


def test_another_verification_system_scores_everything_again(tandem, capsys, monkeypatch):
    from challenge_cases import InThisProcess

    monkeypatch.setattr("spoofspan.challenge.rescoring.ScoringProcess", InThisProcess)
    judge_quickly(tandem, tandem.parent / "alpha.tsv")
    before = values_of(kept_result(tandem, "alpha"))
    asked = [word for one in TANDEM for word in ("-m", one)]
    by = ["--by", "attack", "--by", "codec", "--by", "attack,codec", "--metadata", KEYS, "--cluster", "utterance"]
    files = [KEYS, "--submissions", "utterance-scores", "--scores-are", "llr", "--asv-scores", SCORES]
    corrected = built(tandem.parent / "corrected", capsys, *files, *asked, *by)
    found = rescore(tandem, "scores of another system were built in", corrected=corrected)
    assert found.what == ("verification system",)
    assert [one.scored for one in found.moves] == [1]
    assert before != {one["measure"]: one["value"] for one in leaderboard_values(tandem)}


def leaderboard_values(challenge):
    return leaderboard(challenge).standings["alpha"].result.measured


# ---------------------------------------------------------------- a boundary track


def golden_track(ms):
    case = json.loads((GOLDEN / "boundary_track" / "case.json").read_text())["utterances"]
    durations = {name: one["duration"] / 1000 for name, one in case.items()}
    spoof = {name: [(a / 1000, b / 1000, "spoof") for a, b in one["spoof"]] for name, one in case.items()}
    track = {name: one["scores"][ms] for name, one in case.items()}
    return ss.References.from_ranges(spoof, durations), ss.Scores.from_frames(track, hop=int(ms) / 1000, higher="spoof")


@pytest.mark.parametrize("ms", ["20", "160"])
def test_a_boundary_track_is_scored_as_bam_does(ms, tmp_path, capsys):
    references, track = golden_track(ms)
    ss.write_references(references, tmp_path / "r.parquet")
    ss.write_scores(track, tmp_path / "alpha.parquet")
    measures = [f"point-boundary-{one}@{ms}ms" for one in ("eer", "f1", "precision")]
    asked = [word for one in measures for word in ("-m", one)]
    rules = ["--gaps", "bonafide"]
    files = [tmp_path / "r.parquet", "--submissions", "boundary-scores", *rules]
    challenge = built(tmp_path / "challenge", capsys, *files, *asked)
    (tmp_path / "alpha").mkdir()
    (tmp_path / "alpha" / "s.parquet").write_bytes((tmp_path / "alpha.parquet").read_bytes())
    (tmp_path / "alpha" / "submission.json").write_text('{"threshold": 0.4}')
    public = PublicPart.read(challenge)
    check = check_submission(public, tmp_path / "alpha")
    assert check.problems == ()
    assert check.facts["high scores mean"] == "a boundary"
    assert check_submission(public, challenge / "public" / "sample_submission.zip").problems == ()
    judge_quickly(challenge, tmp_path / "alpha")
    kept = {one["measure"]: one for one in kept_result(challenge, "alpha").measured}
    tool = json.loads((GOLDEN / "boundary_track" / "expected.json").read_text())["tools"][ms]["eer"]
    assert kept[measures[0]]["value"] == pytest.approx(tool, abs=1e-15)
    files = ["eval", tmp_path / "r.parquet", tmp_path / "alpha.parquet", *rules]
    at = ["--boundary-scores", tmp_path / "alpha.parquet", "--threshold", "0.4", "--confidence", "0.95"]
    code, printed = run([*files, *at, *asked, "--format", "json"], capsys)
    assert code == 0, printed.err
    for one in json.loads(printed.out)["measurements"]:
        assert kept[one["measure"]]["value"] == one["value"]
        assert kept[one["measure"]]["signature"]["comparable"] == one["signature"]["comparable"]
        interval = kept[one["measure"]]["interval"]
        assert (interval["low"], interval["high"]) == (one["interval"]["low"], one["interval"]["high"])


def track_of(truth, noise, seed=0):
    """Scores of boundaries that know the labels, through noise."""
    rng, frames = np.random.default_rng(seed), {}
    for utt, ranges in truth.items():
        middles = (np.arange(round(SECONDS[utt] / HOP)) + 0.5) * HOP
        edges = [start for start, _, label, *_ in ranges if start] if len(ranges) > 1 else []
        near = np.min([np.abs(middles - edge) for edge in edges] or [np.full(middles.size, 9.0)], axis=0) < HOP
        frames[utt] = np.float32(near + noise * rng.standard_normal(middles.size))
    return ss.Scores.from_frames(frames, hop=HOP, higher="spoof")


def boundary_challenge(folder, seed=0, **more):
    codec = {utt: f"C{i % 2}" for i, utt in enumerate(IDS)}
    hidden = HiddenPart(labels(seed), {"codec": codec})
    definition = Definition("Boundaries", BOUNDARIES[:1], submissions="boundary-scores", **more)
    build_challenge(folder, definition, hidden, platforms=PLATFORMS)
    return folder


def test_a_boundary_track_ranks_and_has_columns(tmp_path):
    challenge, tracks = boundary_challenge(tmp_path / "challenge"), {}
    for team, noise in (("alpha", 0.2), ("bravo", 0.6), ("charlie", 2.0)):
        tracks[team] = track_of(labels(), noise)
        ss.write_scores(tracks[team], tmp_path / f"{team}.parquet")
        judge_quickly(challenge, tmp_path / f"{team}.parquet")
    board = leaderboard(challenge)
    assert [one.system for one in board.ranks] == ["alpha", "bravo", "charlie"]
    some = np.array([place for place, utt in enumerate(IDS) if place % 2 == 0])
    part, truth = tracks["bravo"].take(some), labels().take(some)
    found = ss.evaluate(truth, part, BOUNDARIES[:1], boundary_scores=part)[BOUNDARIES[0]].value
    assert board.groups["codec"]["bravo"]["C0"]["value"] == found


@pytest.mark.parametrize(
    ("written", "about", "words"),
    [
        ("bonafide", {}, "high where spoof begins or ends"),
        ("spoof", {"higher": "spoof"}, "higher says nothing of boundary-scores"),
        (None, {}, "how long a frame is"),
    ],
)
def test_what_is_no_boundary_track_is_refused(written, about, words, tmp_path):
    challenge = boundary_challenge(tmp_path / "challenge")
    (tmp_path / "alpha").mkdir()
    track = track_of(labels(), 0.5)
    if written is None:
        lines = [f"{utt} {k} {value}" for utt, frames in track.items() for k, value in enumerate(frames.tolist())]
        (tmp_path / "alpha" / "scores.txt").write_text("\n".join(lines) + "\n")
    else:
        mirrored = ss.Scores.from_columns(track.utterances, track.offsets, track.values, hop=HOP, higher=written)
        ss.write_scores(mirrored, tmp_path / "alpha" / "scores.parquet")
    (tmp_path / "alpha" / "submission.json").write_text(json.dumps(about))
    found = check_submission(PublicPart.read(challenge), tmp_path / "alpha")
    assert words in found.problems[0]
    assert judge_quickly(challenge, tmp_path / "alpha").problems == found.problems


def test_boundaries_of_ranges_found_by_scores_are_measured_within_a_tolerance(tmp_path):
    measures = ("event-boundary-f1@tolerance=0.04", "event-onset-error")
    definition = Definition("Edges", measures)
    build_challenge(tmp_path / "challenge", definition, HiddenPart(labels()))
    (tmp_path / "alpha").mkdir()
    ss.write_scores(scores(labels(), 0.5), tmp_path / "alpha" / "scores.parquet")
    (tmp_path / "alpha" / "submission.json").write_text('{"threshold": 0.2}')
    judge_quickly(tmp_path / "challenge", tmp_path / "alpha")
    found = ss.evaluate(labels(), scores(labels(), 0.5), measures, threshold=0.2)
    assert list(values_of(kept_result(tmp_path / "challenge", "alpha")).values()) == [
        one.value for one in found.values()
    ]


# ---------------------------------------------------------------- refusals when it is built


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-m", "utterance-min-tdcf"], "needs a speaker verification system"),
        (["-m", "utterance-t-eer", "--asv-rates", RATES], "not its rates"),
        (["-m", "utterance-eer", "--asv-rates", RATES], "no measure needs them"),
        (["-m", "utterance-t-eer", "--asv-scores", "lines.txt", "--by", "codec"], "--asv-scores"),
        (["-m", "point-boundary-eer@20ms"], "--submissions boundary-scores"),
    ],
)
def test_what_a_track_lacks_is_named_when_it_is_built(arguments, words, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lines.txt").write_text("a target 2.5\nb nontarget -1\nA07 spoof 0.5\n")
    files = ["challenge", "build", KEYS, "--submissions", "utterance-scores", "--metadata", KEYS]
    code, printed = run([*files, "--cluster", "utterance", *arguments, "--out", tmp_path / "c"], capsys)
    assert code in (2, 4)
    assert words in " ".join(printed.err.split())
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        ({"measures": ("range-eer",)}, "cannot be measured of boundary-scores"),
        ({"measures": BOUNDARIES, "higher": "spoof"}, "leave it out"),
        ({"measures": BOUNDARIES, "smoothing": 5}, "event"),
    ],
)
def test_a_boundary_track_that_makes_no_sense_is_refused(definition, words):
    with pytest.raises(ss.UsageError, match=words):
        Definition("Boundaries", submissions="boundary-scores", **definition)


# ---------------------------------------------------------------- what is hidden


def tandem_in(folder, seed):
    """A challenge whose labels and verification scores depend on the seed."""
    rng = np.random.default_rng(seed)
    kinds = rng.permutation(["target"] * 12 + ["nontarget"] * 12 + ["spoof"] * 12).tolist()
    asv = VerificationScores(*(rng.normal(mean, 1, 50) for mean in (2, 0, 1)))
    definition = Definition("Tandem", ("utterance-t-eer", "utterance-min-tdcf"), submissions="utterance-scores")
    build_challenge(folder, definition, HiddenPart(dict(zip(IDS, kinds, strict=True)), asv=asv), platforms=PLATFORMS)
    return folder


def zipped(path):
    with zipfile.ZipFile(path) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


@pytest.mark.parametrize("made", [tandem_in, boundary_challenge])
def test_no_public_file_depends_on_labels_or_verification_scores(made, tmp_path):
    found = []
    for seed in (1, 2):
        challenge = made(tmp_path / str(seed), seed)
        files = {one.name: one.read_bytes() for one in sorted((challenge / "public").iterdir())}
        for bundle in ("codabench", *PLATFORMS):
            files |= {f"{bundle}/{name}": data for name, data in zipped(challenge / f"{bundle}.zip").items()}
        found.append(files)
    differ = {name for name in found[0] if found[0][name] != found[1][name]}
    assert differ == {
        "codabench/reference_data_0.zip",
        "evalai/annotations/0.zip",
        "huggingface/dataset/reference_data_0.zip",
    }


def submission_of(made, folder):
    """A submission in a zip archive, and what its values are in the tables of platforms."""
    if made is boundary_challenge:
        track, truth = track_of(labels(1), 0.6), labels(1)
        ss.write_scores(track, folder / "scores.parquet")
        found = ss.evaluate(truth, track, BOUNDARIES[:1], boundary_scores=track)
    else:
        rng = np.random.default_rng(5)
        system = UtteranceScores(tuple(IDS), rng.standard_normal(len(IDS)), "bonafide")
        (folder / "scores.parquet").write_bytes(b"".join(write_asvspoof5(system)))
        (folder / "scores.parquet").rename(folder / "scores.tsv")
        hidden = HiddenPart.read(folder / "challenge" / "hidden")
        names = ("utterance-t-eer", "utterance-min-tdcf")
        found = ss.evaluate_utterances(hidden.truth, system, names, asv_scores=hidden.asv)
    (given,) = (one for one in folder.iterdir() if one.stem == "scores")
    with zipfile.ZipFile(folder / "mine.zip", "w") as archive:
        archive.write(given, given.name)
    percent = {True: 100, False: 1}
    return [round(rounded(name, one.value) * percent["eer" in name], 4) for name, one in found.items()]


@pytest.mark.parametrize("made", [tandem_in, boundary_challenge])
def test_a_team_sees_the_same_but_for_rounded_numbers_whatever_is_hidden(made, tmp_path, capsys):
    seen = []
    for seed in (1, 2):
        folder = tmp_path / str(seed)
        folder.mkdir()
        challenge = made(folder / "challenge", seed)
        if not seen:
            submission_of(made, folder)
        with zipfile.ZipFile(tmp_path / "1" / "mine.zip") as archive:
            given = next(name for name in archive.namelist())
            content = archive.read(given)
        (folder / f"alpha{Path(given).suffix}").write_bytes(content)
        (folder / f"bravo{Path(given).suffix}").write_bytes(content[: len(content) // 2])
        told = []
        for path in sorted(one for one in folder.iterdir() if one.stem in ("alpha", "bravo")):
            found = judge_quickly(challenge, path)
            for name, value in found.values.items():
                assert value == rounded(name, value)
            told.append((found.state, found.problems, sorted(found.values)))
        board = leaderboard(challenge)
        shown = [json.dumps(board.to_dict(pairs=True)), leaderboard_page(board, with_pairs=True)]
        shown += [table.render("text") for table in board.tables()]
        hashes = set(re.findall(r"[0-9a-f]{8,}", "".join(board.comparable.values())))
        assert hashes
        assert not any(one in text for one in hashes for text in shown)
        drawn = r'(style|d|points|x[12]?|y[12]?|width|height|data-[a-z]+)="[^"]*"'
        told += [re.sub(r"[\s\-]*\d+(\.\d+)?[\s\-]*", "#", re.sub(drawn, "", text)) for text in shown]
        seen.append(told)
    assert [one[0] for one in seen[0][:2]] == ["scored", "refused"]
    assert seen[0] == seen[1]


@pytest.mark.parametrize("made", [tandem_in, boundary_challenge])
def test_codabench_scores_these_tracks(made, tmp_path, capsys):
    challenge = made(tmp_path / "challenge", 1)
    expected = submission_of(made, tmp_path)
    bundle = zipped(challenge / "codabench.zip")
    for name, part in (("reference_data_0.zip", "ref"), ("mine", "res")):
        given = io.BytesIO(bundle[name]) if name in bundle else tmp_path / "mine.zip"
        with zipfile.ZipFile(given) as archive:
            archive.extractall(tmp_path / "input" / part)
    (tmp_path / "output").mkdir()
    assert score_in_container(tmp_path / "input", tmp_path / "output") == 0
    assert list(json.loads((tmp_path / "output" / "scores.json").read_text()).values()) == expected


@pytest.mark.slow
@pytest.mark.parametrize("made", [tandem_in, boundary_challenge])
def test_every_platform_runs_these_tracks(made, tmp_path, monkeypatch):
    """The packed programs, each in a process of its own, in the folders of its platform."""
    challenge = made(tmp_path / "challenge", 1)
    expected, mine = submission_of(made, tmp_path), tmp_path / "mine.zip"
    with zipfile.ZipFile(challenge / "evalai.zip") as opened:
        opened.extractall(tmp_path / "evalai")
    with zipfile.ZipFile(tmp_path / "evalai" / "evaluation_script.zip") as opened:
        opened.extractall(tmp_path / "worker" / f"evalai_{made.__name__}")
    monkeypatch.syspath_prepend(tmp_path / "worker")
    evaluate = importlib.import_module(f"evalai_{made.__name__}").evaluate
    found = evaluate(str(tmp_path / "evalai" / "annotations" / "0.zip"), str(mine), "phase0")
    assert list(found["submission_result"].values()) == expected
    with zipfile.ZipFile(challenge / "huggingface.zip") as opened:
        opened.extractall(tmp_path / "huggingface")
    dataset = tmp_path / "huggingface" / "dataset"
    program = "import json, metric; from pathlib import Path; print(json.dumps(metric.scores_of({}, {}, {})))"
    paths = (dataset / "scoring_program.zip", dataset / "reference_data_0.zip", mine)
    words = program.format(*(f"Path({str(one)!r})" for one in paths))
    done = subprocess.run([sys.executable, "-c", words], cwd=dataset, capture_output=True, text=True, check=True)
    assert list(json.loads(done.stdout).values()) == expected
    for part, given in (("ref", tmp_path / "evalai" / "annotations" / "0.zip"), ("res", mine)):
        with zipfile.ZipFile(given) as opened:
            opened.extractall(tmp_path / "input" / part)
    with zipfile.ZipFile(dataset / "scoring_program.zip") as opened:
        opened.extractall(tmp_path / "program")
    (tmp_path / "output").mkdir()
    command = [
        sys.executable,
        str(tmp_path / "program" / "score.py"),
        str(tmp_path / "input"),
        str(tmp_path / "output"),
    ]
    subprocess.run(command, check=True)
    assert list(json.loads((tmp_path / "output" / "scores.json").read_text()).values()) == expected
