"""What a team can learn of the labels: the public part, one fixed sentence, and numbers of few bits.

The attacks are carried out: labels are written into the digits of a cost and read off again. The property is that of
two challenges with different labels, which show the same bytes but for rounded numbers.
"""

import gzip
import io
import json
import math
import os
import re
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from challenge_cases import IDS, SECONDS, build, frame_lines, judge_quickly, labels, scores, submit
from command_line import run

import spoofspan as ss
from spoofspan.challenge import judging
from spoofspan.challenge.challenge_folder import build_challenge
from spoofspan.challenge.definition import PHASE, Definition, Phase, PublicPart
from spoofspan.challenge.hidden_part import HiddenPart
from spoofspan.challenge.judging import NOT_SCORED, score_submissions
from spoofspan.challenge.leaderboard import leaderboard
from spoofspan.challenge.public_page import leaderboard_page
from spoofspan.challenge.published_numbers import (
    BITS_OF_A_NUMBER,
    LARGEST,
    MOST_LLR,
    VALUES,
    VALUES_OF_P,
    VALUES_OF_SHARES,
    bits_of_leaderboard,
    bits_of_result,
    clipped,
    difference_text,
    is_share,
    published_text,
    rounded,
    rounded_difference,
    rounded_p,
)
from spoofspan.challenge.scoring_program import score_in_container
from spoofspan.challenge.submission_check import check_submission
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.formats.text.utterance_scores import write_asvspoof5
from spoofspan.measures.measure import EXAMPLES

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
MOST_BITS = 14
RECEIVED = {"progress": "2027-01-15 12:00:00", "final": "2027-02-15 12:00:00"}
ABOUT = {"hop": 0.02, "higher": "bonafide"}


# ---------------------------------------------------------------- few bits


def test_a_rounded_number_is_one_of_few():
    """Counted, not computed: every value of the grids, found by rounding a finer one."""
    fine = np.arange(0, 1, 0.00002)
    shares = {rounded("range-eer", value) for value in [*fine.tolist(), 1.0, 1.5, -0.2, math.inf]}
    assert len(shares) + 1 == VALUES_OF_SHARES
    steps = [0.00002 * np.arange(50_000)] + [10.0**power * np.arange(1, 10, 0.0005) for power in range(6)]
    positive = np.concatenate([*steps, [LARGEST, 1e9, 1e300, math.inf]])
    others = {rounded_difference(sign * value) for value in positive.tolist() for sign in (-1, 1)}
    assert len(others) + 1 == VALUES
    assert all(value == rounded_difference(value) for value in others)
    found = {rounded_p(value) for value in np.geomspace(1e-12, 1, 100_000).tolist()}
    assert len(found) + 1 == VALUES_OF_P
    assert max(math.log2(count) for count in (VALUES, VALUES_OF_SHARES, VALUES_OF_P)) <= MOST_BITS


@pytest.mark.parametrize("measure", EXAMPLES)
def test_every_measure_is_published_in_few_bits(measure):
    rng = np.random.default_rng(0)
    drawn = [*rng.standard_cauchy(100).tolist(), *(10 ** rng.uniform(-9, 12, 100)).tolist(), *rng.random(100).tolist()]
    for value in drawn:
        shown = rounded(measure, value)
        assert shown == rounded(measure, shown)
        digits = f"{abs(shown):.10f}".strip("0").replace(".", "").strip("0")
        assert len(digits) <= (4 if is_share(measure) else 3), (value, shown)
        assert float(published_text(measure, shown)) == pytest.approx(shown * (100 if "%" in heading(measure) else 1))
    assert math.isnan(rounded(measure, math.nan))


def heading(measure):
    from spoofspan.report.cells import heading as of

    return str(of(measure))


def test_differences_have_no_more_digits_than_they_show():
    for value, text in ((0.12345, "12.3"), (-0.012345, "-1.23"), (0.00123, "0.12"), (0.0, "0.00")):
        assert difference_text("range-eer", rounded_difference(value)) == text


# ---------------------------------------------------------------- the attack


def labels_of_utterances(count, seed=0):
    """Half of them spoofed."""
    drawn = np.random.default_rng(seed).permutation(["spoof", "bonafide"] * (count // 2))
    return {f"u{i:03d}": label for i, label in enumerate(drawn.tolist())}


def written_into_scores(ids, some, weights):
    """Scores whose Cllr is a sum of weights, those of the utterances in ``some`` that are spoofed."""
    values = dict.fromkeys(ids, 0.0) | dict(zip(some, weights, strict=True))
    return UtteranceScores(tuple(ids), np.array([values[utt] for utt in ids]), "bonafide")


def read_off(value, truth, some, weights):
    """The labels that a Cllr tells: the heaviest utterance first, as digits are read.

    An utterance of weight w costs log2(1 + e^-w) if it is bona fide, and w / ln 2 more if it is spoofed.
    """
    half = len(truth)  # two classes of the same size, averaged
    rest = value - (len(truth) - len(some)) / half - sum(np.logaddexp(0.0, -weights)) / math.log(2) / half
    costs = weights / math.log(2) / half
    guessed = {}
    for place in np.argsort(-weights).tolist():
        is_spoof = rest >= costs[place] - costs.min() / 2
        guessed[some[place]] = "spoof" if is_spoof else "bonafide"
        rest -= costs[place] if is_spoof else 0
    return guessed


def leading(guessed, truth, order):
    """How many labels are right before the first wrong one: the digits that were read."""
    return next((place for place, utt in enumerate(order) if guessed[utt] != truth[utt]), len(order))


@pytest.mark.parametrize("weights", [2.0 ** np.arange(22, 52), 32 * 2.0 ** -np.arange(30)])
def test_labels_written_into_the_digits_of_a_cost_are_not_read_off(weights, tmp_path):
    """Four submissions, 30 utterances each; with all digits they tell 120 labels of 120."""
    truth = labels_of_utterances(120)
    ids = list(truth)
    definition = Definition("Attack", ("utterance-cllr",), submissions="utterance-scores", scores_are="llr")
    challenge = tmp_path / "challenge"
    build_challenge(challenge, definition, HiddenPart(truth))
    exact = told = 0
    for place in range(4):
        some = ids[30 * place : 30 * place + 30]
        attack = written_into_scores(ids, some, weights)
        heaviest = [some[i] for i in np.argsort(-weights)]
        value = ss.evaluate_utterances(truth, attack, ["utterance-cllr"], scores_are="llr")["utterance-cllr"].value
        exact += leading(read_off(value, truth, some, weights), truth, heaviest)
        (tmp_path / "team.tsv").write_bytes(b"".join(write_asvspoof5(attack)))
        scored = judge_quickly(challenge, tmp_path / "team.tsv")
        board = leaderboard(challenge).to_dict()
        shown = board["teams"][0]["measures"]["utterance-cllr"]["value"]
        assert scored.values == {"utterance-cllr": shown}
        counted = np.minimum(weights, MOST_LLR)  # an attacker knows of the clip
        told += leading(read_off(shown, truth, some, counted), truth, heaviest)
    assert exact == 120
    assert told <= 4 * BITS_OF_A_NUMBER


def test_any_attack_sees_no_more_values_than_the_bits_stated(tmp_path):
    """One crafted submission, measured under 400 different labels: as many exact values, and few published ones."""
    rng = np.random.default_rng(1)
    weights = 32 * 2.0 ** -np.arange(30)
    exact, published = set(), set()
    for _ in range(400):
        truth = labels_of_utterances(30, rng)
        attack = UtteranceScores(tuple(truth), clipped(weights, "llr"), "bonafide")
        value = ss.evaluate_utterances(truth, attack, ["utterance-cllr"], scores_are="llr")["utterance-cllr"].value
        exact.add(value)
        published.add(rounded("utterance-cllr", value))
    assert len(exact) > 395
    assert len(published) <= len({rounded_difference(x) for x in np.arange(min(exact), max(exact), 1e-5).tolist()}) + 1


def test_a_certain_score_that_is_wrong_costs_no_more_than_the_clip(tmp_path):
    truth = labels_of_utterances(40)
    values = np.array([math.inf if label == "spoof" else 0.0 for label in truth.values()])
    definition = Definition("Clip", ("utterance-cllr",), submissions="utterance-scores", scores_are="llr")
    build_challenge(tmp_path / "challenge", definition, HiddenPart(truth))
    (tmp_path / "team.tsv").write_bytes(b"".join(write_asvspoof5(UtteranceScores(tuple(truth), values, "bonafide"))))
    found = check_submission(PublicPart.read(tmp_path / "challenge"), tmp_path / "team.tsv")
    assert found.passed
    assert any(f"beyond a log-likelihood ratio of {MOST_LLR}" in note for note in found.notes)
    (scored,) = score_submissions(tmp_path / "challenge", tmp_path / "team.tsv")
    expected = (MOST_LLR / math.log(2) + 1) / 2
    assert scored.result.measured[0]["value"] == pytest.approx(expected, abs=1e-6)
    within = clipped(np.array([-3.0, 2.0]), "llr")
    assert clipped(within, "llr") is within


# ---------------------------------------------------------------- one road


def team_folder(folder, lines, about):
    folder.mkdir(parents=True)
    (folder / "scores.txt").write_text("\n".join(lines) + "\n")
    (folder / "submission.json").write_text(about if isinstance(about, str) else json.dumps(about))
    return folder


@pytest.mark.parametrize("digits", [10, 400, 4000])
def test_a_threshold_of_many_digits_is_the_same_to_check_and_score(digits, tmp_path):
    challenge = build(tmp_path / "challenge", measures=("range-f1",), by={})
    about = f'{{"hop": 0.02, "higher": "bonafide", "threshold": {"1" * digits}}}'
    folder = team_folder(tmp_path / "alpha", frame_lines(), about)
    found = check_submission(PublicPart.read(challenge), folder)
    (scored,) = score_submissions(challenge, folder)
    assert scored.problems == found.problems
    assert (scored.state == "scored") == found.passed == (digits == 10)


def test_scores_that_are_no_probabilities_are_refused_by_check_too(tmp_path):
    challenge = build(tmp_path / "challenge", measures=("range-cllr",), by={}, definition={"scores_are": "probability"})
    folder = team_folder(tmp_path / "alpha", frame_lines(), ABOUT)
    found = check_submission(PublicPart.read(challenge), folder)
    (scored,) = score_submissions(challenge, folder)
    assert "are no probabilities" in found.problems[0]
    assert scored.problems == found.problems


def test_only_so_many_submissions_are_scored(tmp_path):
    challenge = build(tmp_path / "challenge", definition={"max_submissions": 2})
    submissions = submit(tmp_path / "submissions")
    alpha, bravo, charlie = ((submissions / f"{team}.parquet").read_bytes() for team in ("alpha", "bravo", "charlie"))
    states = []
    for content in (alpha, b"broken", bravo, charlie, alpha):
        (submissions / "alpha.parquet").write_bytes(content)
        (found,) = score_submissions(challenge, submissions, teams=["alpha"])
        states.append(found.state)
    assert states == ["scored", "refused", "scored", "refused", "scored"]  # the last one was counted before
    assert "2 submissions of this team were scored" in score_limit(challenge, submissions)
    bundle = zipfile.ZipFile(challenge / "codabench.zip").read("competition.yaml").decode()
    assert "max_submissions: 2" in bundle
    assert "At most 2 submissions" in (challenge / "public" / "README.md").read_text()


def score_limit(challenge, submissions):
    """Refused over the limit; the result before stays ranked."""
    (submissions / "alpha.parquet").write_bytes((submissions / "charlie.parquet").read_bytes())
    (found,) = score_submissions(challenge, submissions, teams=["alpha"])
    assert [one.system for one in leaderboard(challenge).ranks] == ["alpha"]
    return found.problems[0]


# ---------------------------------------------------------------- what only the labels reveal


def hidden_challenge(folder, seed, phase=None):
    """A challenge whose labels, collared boundaries, ignored gaps, regions and hidden subset all depend on the seed."""
    rng = np.random.default_rng(seed)
    ranges = {}
    for utt, seconds in SECONDS.items():
        start, end = np.sort(rng.choice(np.arange(5, 45), 2, replace=False)) / 50
        gap = seconds - 0.02 * int(rng.integers(0, 4))
        attack = f"A0{1 + int(utt[3:]) % 3}"
        ranges[utt] = [(0.0, start, "bonafide"), (start, end, "spoof", attack), (end, gap, "bonafide")]
    references = ss.References.from_ranges(ranges, SECONDS)
    regions = {utt: [(0.0, seconds - 0.02 * int(rng.integers(0, 5)))] for utt, seconds in SECONDS.items()}
    some = sorted(rng.permutation(IDS)[:24].tolist())
    phases = (Phase("progress", None, "2027-02-01 00:00:00"), Phase("final", "2027-02-02 00:00:00"))
    definition = Definition(
        "Secrets",
        ("range-eer", "range-f1", "utterance-eer"),
        phases,
        rules={"collar": 0.04, "gaps": "ignore"},
        max_submissions=10_000,
    )
    speakers = {utt: f"s{i % 4}" for i, utt in enumerate(IDS)}
    hidden = HiddenPart(references, {"attack": None}, "speaker", speakers, {"progress": some}, regions)
    build_challenge(folder, definition, hidden)
    return folder


def damaged(rng, path):
    """A random submission, with damage of up to three kinds; often of one that the hidden part may leave out."""
    rows = [line.split() for line in frame_lines(labels(int(rng.integers(5))))]
    about = {**ABOUT, "threshold": float(rng.normal())}
    kinds = [rng.integers(2)] if rng.random() < 0.4 else rng.permutation(18)[: rng.integers(0, 4)]
    for kind in kinds:
        utt = str(rng.choice(IDS))
        if kind == 0:
            rows = [row for row in rows if row[0] != utt]
        elif kind == 1:  # the last frames, of one utterance or of all
            ends = {one: round(SECONDS[one] / 0.02) - int(rng.integers(1, 8)) for one in IDS}
            some = [utt] if rng.random() < 0.8 else IDS
            rows = [row for row in rows if row[0] not in some or int(row[1]) < ends[row[0]]]
        elif kind == 2:
            cut = int(rng.integers(30, 51))
            rows = [row for row in rows if row[0] != utt or int(row[1]) < cut]
        elif kind == 3:
            rows[int(rng.integers(len(rows)))][2] = str(rng.choice(["nan", "inf", "-inf", "1e400", "x", ""]))
        elif kind == 4:
            rows += [["stranger", "0", "0.5"]]
        elif kind == 5:
            rows += [rows[int(rng.integers(len(rows)))]]
        elif kind == 6:
            about.pop(str(rng.choice(list(about))), None)
        elif kind == 7:
            about["threshold"] = [math.inf, -math.inf, 10**500, 1e300, "0.5", None][int(rng.integers(6))]
        elif kind == 8:
            rows = [[row[0], row[1], str(1e9 * float(row[2])) if row[2] else ""] for row in rows]
        elif kind == 9:
            rows = [[*row[:2], "0.5"] for row in rows]
        elif kind == 10:
            rows += [[utt, str(round(SECONDS[utt] / 0.02) + extra), "0.1"] for extra in range(int(rng.integers(1, 9)))]
        elif kind == 11:
            about["hop"] = float(rng.choice([0.01, 0.021, 0.04, 1e-9, 1e9]))
        elif kind == 12:
            about["higher"] = "spoof"
        elif kind == 13:
            about |= {"format": str(rng.choice(["parquet", "nothing", "kaldi-scp"]))}
        elif kind == 14:
            rows = rows[: int(rng.integers(len(rows)))]
    content = ("\n".join(" ".join(row) for row in rows) + "\n").encode()
    name = "scores.txt"
    if rng.random() < 0.1:
        flipped = bytearray(content)
        for _ in range(int(rng.integers(1, 5))):
            flipped[int(rng.integers(len(flipped)))] = int(rng.integers(256))
        content = bytes(flipped)
    if rng.random() < 0.2:
        content, name = gzip.compress(content, mtime=0)[: None if rng.random() < 0.7 else 5000], "scores.txt.gz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, content)
        archive.writestr("submission.json", json.dumps(about))
    if rng.random() < 0.08:
        path.write_bytes(path.read_bytes()[: int(rng.integers(1, 4000))])
    return path


NUMBER = re.compile(r"[-+\u2212]?\d+(?:\.\d+)?(?:e[-+]?\d+)?|\bnone\b|\bnan\b|\bno interval\b|\bundecided\b")


def without_numbers(text):
    """A text without numbers, or what stands where there is none, the room they take, and drawings made of them."""
    shown = re.sub(r'(style|d|points|x[12]?|y[12]?|width|height|data-[a-z]+)="[^"]*"', "", text)
    shown = re.sub(r"# to #", "#", NUMBER.sub("#", shown))
    return re.sub(r"[\s#,\"'-]+", " ", shown)


def everything_seen(challenge, submission, folder, capsys):
    """All that a team gets to see of its submission in one phase."""
    folder.mkdir(parents=True)
    seen, given = {}, folder / "team.zip"
    given.write_bytes(submission.read_bytes())
    check = check_submission(PublicPart.read(challenge), given, "team")
    seen["check"] = json.dumps(check.to_dict())
    for phase in ("progress", "final"):
        found = judge_quickly(challenge, given, phase, RECEIVED[phase])
        assert check.passed or found.problems == check.problems
        seen[f"{phase} state"] = json.dumps([found.state, found.problems])
        seen[f"{phase} score"] = without_numbers(json.dumps(found.to_dict()))
        if found.state == "scored":
            board = leaderboard(challenge, phase=phase)
            for spelling in ("text", "latex", "markdown", "html"):
                tables = "".join(one.render(spelling) for one in board.tables(pairs=True))
                seen[f"{phase} {spelling}"] = without_numbers(tables)
            seen[f"{phase} csv"] = without_numbers(board.wide_table().render("csv"))
            seen[f"{phase} json"] = without_numbers(json.dumps(board.to_dict(pairs=True)))
            seen[f"{phase} page"] = without_numbers(leaderboard_page(board, with_pairs=True))
        seen |= {f"{phase} {name}": text for name, text in in_container(challenge, submission, folder, phase, capsys)}
    return seen


def in_container(challenge, submission, folder, phase, capsys):
    """What Codabench shows: the output and all that is printed. What cannot be unpacked does not get there."""
    given, output = folder / f"input {phase}", folder / f"output {phase}"
    (given / "ref").mkdir(parents=True)
    output.mkdir()
    for part in ("public", "hidden"):
        (given / "ref" / part).symlink_to(challenge / part)
    (given / "ref" / PHASE).write_text(json.dumps({"phase": phase}))
    try:
        zipfile.ZipFile(submission).extractall(given / "res")
    except zipfile.BadZipFile:
        return
    capsys.readouterr()
    code = score_in_container(given, output)
    printed = capsys.readouterr()
    yield "container", f"{code} {printed.out} {printed.err}"
    for one in sorted(output.iterdir()):
        yield one.name, without_numbers(one.read_text())


def assert_labels_do_not_show(seeds, tmp_path, capsys):
    challenges = [hidden_challenge(tmp_path / f"challenge {seed}", seed) for seed in (1, 2)]
    for name in ("challenge.json", "reco2dur", "README.md", "sample_submission.zip"):
        assert len({(one / "public" / name).read_bytes() for one in challenges}) == 1
    states = set()
    for seed in seeds:
        submission = damaged(np.random.default_rng(seed), tmp_path / f"team{seed}.zip")
        one, two = (
            everything_seen(challenge, submission, tmp_path / f"{seed} {place}", capsys)
            for place, challenge in enumerate(challenges)
        )
        assert one.keys() == two.keys(), seed
        for what, text in one.items():
            assert text == two[what], (seed, what)
        assert not {f"{seed} 0", "hidden", *(str(path) for path in challenges)}.intersection(one["final state"].split())
        states.add(json.loads(one["final state"])[0])
    return states


def test_labels_show_in_rounded_numbers_alone(tmp_path, capsys):
    assert assert_labels_do_not_show(range(8), tmp_path, capsys) == {"scored", "refused"}


@pytest.mark.slow
def test_labels_show_in_rounded_numbers_alone_over_many_submissions(tmp_path, capsys):
    assert assert_labels_do_not_show(range(100, 160), tmp_path, capsys) == {"scored", "refused"}


def test_a_submission_is_refused_for_what_the_public_part_says(tmp_path):
    """Time that a hidden collar, gap or region leaves out needs scores too, as do utterances that do not count."""
    for seed in (1, 2):
        challenge = hidden_challenge(tmp_path / f"challenge{seed}", seed)
        without = [line for line in frame_lines() if not line.startswith("utt07 ")]
        lacks = team_folder(tmp_path / f"lacks{seed}", without, {**ABOUT, "threshold": 0.0})
        cut = [line for line in frame_lines() if not line.startswith("utt07 ") or int(line.split()[1]) < 47]
        short = team_folder(tmp_path / f"short{seed}", cut, {**ABOUT, "threshold": 0.0})
        for phase in ("progress", "final"):
            found = judge_quickly(challenge, lacks, phase, RECEIVED[phase])
            assert found.problems == ("utterance 'utt07' is missing",)
            found = judge_quickly(challenge, short, phase, RECEIVED[phase])
            assert found.state == "refused"
            assert "utt07" in found.problems[0]


def test_what_only_the_labels_reveal_is_one_sentence_to_the_team(tmp_path, capsys, monkeypatch):
    challenge = hidden_challenge(tmp_path / "challenge", 1)
    submissions = submit(tmp_path / "submissions")
    folder = team_folder(submissions / "delta", frame_lines(), {**ABOUT, "threshold": 0.0})

    def fail(self, *_):
        raise ss.DataError(f"secret: {self.hidden.utterances[0]} is spoofed")

    monkeypatch.setattr("spoofspan.challenge.team_results.Judge.measure", fail)
    found = judge_quickly(challenge, folder, "progress")
    assert found.problems == (NOT_SCORED,)
    assert "secret" in found.cautions[0]
    assert "secret" not in json.dumps(found.to_dict())
    monkeypatch.setattr("spoofspan.cli.challenge.score_submissions", None, raising=False)
    monkeypatch.setattr(judging, "score_submissions", lambda *_, **__: [found])
    code, printed = run(["challenge", "score", challenge, submissions], capsys)
    assert code == 3
    assert "secret" not in printed.out
    assert "for the organisers: delta: not scored: secret" in printed.err


# ---------------------------------------------------------------- the rest that is published


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("published")
    challenge = build(folder / "challenge")
    score_submissions(challenge, submit(folder / "submissions"))
    return challenge, folder / "submissions"


def test_nothing_published_has_a_hash_of_the_labels(scored):
    board = leaderboard(scored[0])
    assert bits_of_leaderboard(2, 3, 3) < bits_of_leaderboard(2, 3, 3, pairs=True)
    hashes = set(re.findall(r"[0-9a-f]{8,}", "".join(board.comparable.values())))
    assert hashes
    texts = [leaderboard_page(board, with_pairs=True), json.dumps(board.to_dict(pairs=True))]
    texts += [one.render("text") for one in board.tables(pairs=True)]
    assert not any(one in text for one in hashes for text in texts)
    assert board.to_dict(all_digits=True)["comparable"] == dict(board.comparable)


def test_cautions_about_errors_are_for_the_organisers(tmp_path, capsys):
    references = labels()
    challenge = build(tmp_path / "challenge")
    (tmp_path / "submissions").mkdir()
    ss.write_scores(scores(references, 0.0), tmp_path / "submissions" / "perfect.parquet")
    code, printed = run(["challenge", "score", challenge, tmp_path / "submissions"], capsys)
    assert code == 0
    code, printed = run(["challenge", "leaderboard", challenge, "--page", tmp_path / "page.html"], capsys)
    assert "for the organisers" in printed.err
    assert "clusters with" in printed.err
    assert "clusters with" not in printed.out + (tmp_path / "page.html").read_text()
    assert "Only 12 speakers (fewer than 30)" in printed.out


def test_score_prints_rounded_values(scored, capsys):
    code, printed = run(["challenge", "score", *scored, "--format", "json"], capsys)
    assert code == 0
    for one in json.loads(printed.out)["submissions"]:
        for measure, value in one["values"].items():
            assert value == rounded(measure, value)


def test_build_states_the_bits(tmp_path, capsys):
    ss.write_references(labels(), tmp_path / "r.parquet")
    build_ = ["challenge", "build", tmp_path / "r.parquet", "-m", "range-eer", "--max-submissions", "5"]
    code, printed = run([*build_, "--out", tmp_path / "c"], capsys)
    assert code == 0
    assert f"at most {bits_of_result(1):.0f} bits of the labels, 5 of them {5 * bits_of_result(1):.0f}" in printed.out


def test_the_scoring_program_pins_what_it_needs(scored, tmp_path):
    program = zipfile.ZipFile(io.BytesIO(zipfile.ZipFile(scored[0] / "codabench.zip").read("scoring_program.zip")))
    wanted = program.read("requirements.txt").decode().split()
    assert [one.partition("==")[0] for one in wanted] == ["numpy", "pyarrow"]
    assert wanted[0] == f"numpy=={np.__version__}"
    (tmp_path / "score.py").write_bytes(program.read("score.py"))
    (tmp_path / "requirements.txt").write_text("numpy==0.0.1\n")  # another version than the one that is there
    command = [sys.executable, str(tmp_path / "score.py"), str(tmp_path), str(tmp_path)]
    done = subprocess.run(command, env={**os.environ, "PIP_NO_INDEX": "1"}, capture_output=True, text=True)
    assert done.returncode != 0
    assert "pip" in done.stderr
    assert "codabench" not in done.stderr  # nothing was scored with it
