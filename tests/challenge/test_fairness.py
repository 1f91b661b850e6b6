"""Copies, scores of ids, constants, polarity, and the luck of many tries."""

from statistics import NormalDist

import numpy as np
import pytest
from challenge_cases import IDS, SECONDS, build, judge_quickly, labels, scores
from command_line import run

import spoofspan as ss
from spoofspan.challenge.fairness import audit, caution, luck, rank_correlation
from spoofspan.challenge.leaderboard import leaderboard

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")


def frames(of):
    values = {utt: np.float32(of(place, round(SECONDS[utt] / 0.02))) for place, utt in enumerate(IDS)}
    return ss.Scores.from_frames(values, hop=0.02, higher="bonafide")


def ranged(system):
    """The same scores as ranges, with high meaning spoof."""
    return ss.Scores.from_ranges(
        {
            utt: [(0.02 * k, min(0.02 * (k + 1), SECONDS[utt]), -float(value)) for k, value in enumerate(values)]
            for utt, values in system.items()
        },
        higher="spoof",
    )


@pytest.fixture(scope="module")
def challenge(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fairness")
    challenge = build(folder / "challenge", measures=("range-eer",), by={}, definition={"counts": "best"})
    base = scores(labels(), 0.8)
    noise = np.random.default_rng(1).standard_normal(base.values.size).astype(np.float32)
    systems = {
        "base": base,
        "copy": base,
        "near": ss.Scores.from_columns(
            base.utterances, base.offsets, base.values + 0.01 * noise, hop=0.02, higher="bonafide"
        ),
        "ranges": ranged(base),
        "other": scores(labels(), 0.8, seed=5),
        "better": scores(labels(), 0.3, seed=6),
        "byid": frames(lambda place, count: np.full(count, place)),
        "flat": frames(lambda place, count: np.where(np.arange(count) < 1, place, 0.5)),
        "turned": ss.Scores.from_columns(
            base.utterances, base.offsets, -base.values - noise, hop=0.02, higher="bonafide"
        ),
    }
    for team, system in systems.items():
        ss.write_scores(system, folder / f"{team}.parquet")
        judge_quickly(challenge, folder / f"{team}.parquet")
    ss.write_scores(scores(labels(), 0.7, seed=7), folder / "other.parquet", force=True)
    judge_quickly(challenge, folder / "other.parquet")
    return challenge


def found(challenge, check):
    return {one.teams: one.text for one in audit(challenge) if one.check == check}


def test_copies_are_found_in_any_form_and_honest_systems_are_not(challenge):
    assert list(found(challenge, "equal files")) == [("base", "copy")]
    copies = {"base", "copy", "near", "ranges"}
    pairs = {frozenset(teams) for teams in found(challenge, "near-duplicates")}
    assert pairs == {frozenset((one, two)) for one in copies for two in copies if one != two}


def test_scores_of_ids_constants_and_polarity(challenge):
    assert list(found(challenge, "scores of ids")) == [("byid",)]
    assert "0.5" in found(challenge, "constant scores")[("flat",)]
    assert list(found(challenge, "constant scores")) == [("flat",)]
    assert ("turned",) in found(challenge, "polarity")
    assert not {("base",), ("other",), ("better",)}.intersection(found(challenge, "polarity"))


def test_scores_of_the_letters_of_ids_are_found(tmp_path):
    """As of PartialSpoof, where CON and LA tell what an utterance is."""
    ids = {utt: f"{'CON' if place % 3 else 'LA'}_{utt}" for place, utt in enumerate(IDS)}
    ranges = {ids[utt]: rows for utt, rows in labels().items()}
    truth = ss.References.from_ranges(ranges, {ids[utt]: seconds for utt, seconds in SECONDS.items()})
    challenge = build(tmp_path / "challenge", truth, measures=("range-eer",), by={}, cluster=None, clusters=None)
    rng = np.random.default_rng(0)
    values = {
        utt: np.float32((utt.startswith("LA")) + 0.1 * rng.standard_normal(round(1e-9 * end / 0.02)))
        for utt, end in zip(truth.utterances, truth.durations, strict=True)
    }
    ss.write_scores(ss.Scores.from_frames(values, hop=0.02, higher="bonafide"), tmp_path / "letters.parquet")
    judge_quickly(challenge, tmp_path / "letters.parquet")
    assert "letters of ids explain" in found(challenge, "scores of ids")[("letters",)]


def test_the_luck_of_many_tries_is_that_of_simulated_ones(challenge):
    draws = np.random.default_rng(0).standard_normal((200_000, 10))
    for tries in (2, 3, 10):
        assert luck(tries) == pytest.approx(draws[:, :tries].max(axis=1).mean(), abs=0.01)
    text = found(challenge, "many submissions")[("other",)]
    assert "the best of 2 equally good ones looks 0.56 standard errors too good" in text
    interval = leaderboard(challenge).first.intervals["other"]
    error = (interval.high - interval.low) / 2 / NormalDist().inv_cdf(0.975)
    assert float(text.split()[-4]) == pytest.approx(100 * luck(2) * error, abs=0.05)
    assert "the best of 2 equally good submissions looks 0.6 standard errors too good" in leaderboard(challenge).notes
    assert caution([1, 1]) is None


def test_the_best_submission_so_far_is_tested_against_the_one_before(challenge):
    text = found(challenge, "improvements")[("other",)]
    numbers = [one.submission.number for one in leaderboard(challenge).standings.values() if one.team == "other"]
    assert text.startswith(f"submission {numbers[0]} against ")
    assert "points of range-eer, not a significant improvement (p = " in text
    assert text.endswith("over 10 submissions)")
    assert ("base",) not in found(challenge, "improvements")


def test_rank_correlation_is_spearmans():
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(0)
    for _ in range(5):
        one, two = rng.integers(0, 20, 50).astype(float), rng.standard_normal(50)
        assert rank_correlation(one, two) == pytest.approx(stats.spearmanr(one, two).statistic)
    assert rank_correlation(np.ones(5), np.arange(5.0)) == 0.0


def test_other_kinds_of_submissions_are_audited_too(tmp_path):
    truth = {f"u{i:02d}": ["bonafide", "spoof"][i % 2] for i in range(40)}
    challenge = tmp_path / "challenge"
    from spoofspan.challenge.challenge_folder import build_challenge
    from spoofspan.challenge.definition import Definition
    from spoofspan.challenge.hidden_part import HiddenPart
    from spoofspan.data.utterance_scores import UtteranceScores
    from spoofspan.formats.text.utterance_scores import write_asvspoof5

    build_challenge(challenge, Definition("T", ("utterance-eer",), submissions="utterance-scores"), HiddenPart(truth))
    rng = np.random.default_rng(0)
    values = rng.standard_normal(40)
    for team, given in {"one": values, "two": 3 * values + 1, "three": rng.standard_normal(40)}.items():
        content = b"".join(write_asvspoof5(UtteranceScores(tuple(truth), given, "bonafide")))
        (tmp_path / f"{team}.tsv").write_bytes(content)
        judge_quickly(challenge, tmp_path / f"{team}.tsv")
    assert list(found(challenge, "near-duplicates")) == [("one", "two")]


def test_the_command(challenge, capsys):
    code, printed = run(["challenge", "audit", challenge], capsys)
    assert code == 0
    assert "near-duplicates" in printed.out
