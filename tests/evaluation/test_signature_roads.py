"""One corpus has one signature on every road: Python, tables, RTTM, the shell, shards, comparisons, a challenge."""

import json
from dataclasses import replace

import numpy as np
import pytest
from challenge_cases import NOISE, build, kept_result, labels, scores, submit
from command_line import run

import spoofspan as ss
from spoofspan.challenge.judging import score_submissions
from spoofspan.evaluation.breakdown import by_attack
from spoofspan.evaluation.corpus import CorpusInMemory
from spoofspan.evaluation.plan import EvaluationOptions

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")

MEASURES = ["range-eer", "range-f1", "point-eer@20ms", "utterance-eer", "event-f1@iou=0.5", "event-ap@iou=0.5"]
TRUTH = labels()
SCORES = scores(TRUTH, 0.6)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The corpus as files; RTTM has names of attacks, and edges that may be joined."""
    folder = tmp_path_factory.mktemp("corpus")
    ss.write_references(TRUTH, folder / "r.rttm")
    ss.write_references(TRUTH, folder / "r.parquet")
    ss.write_scores(SCORES, folder / "s.parquet")
    seconds = dict(zip(TRUTH.utterances, (TRUTH.durations / 1e9).tolist(), strict=True))
    (folder / "reco2dur").write_text("".join(f"{utt} {one!r}\n" for utt, one in seconds.items()))
    (folder / "all.uem").write_text("".join(f"{utt} 1 0 1\n{utt} 1 0.9 {one!r}\n" for utt, one in seconds.items()))
    return folder


def signatures(references, given=SCORES, measures=MEASURES, **more):
    found = ss.evaluate(references, given, measures, **more).measurements
    return {name: one.signature for name, one in found.items()}


def by_hand(references):
    """The same labels without names of attacks, as from_ranges takes them."""
    return replace(references, attacks=None, attack_names=(), snap=0)


def test_references_of_any_source_have_one_signature(files):
    expected = signatures(by_hand(TRUTH))
    rttm = ss.read_references(files / "r.rttm", durations=files / "reco2dur")
    assert rttm.snap == 2_000_000
    assert rttm.attacks is not None
    for same in (
        TRUTH,
        rttm,
        ss.read_references(files / "r.parquet"),
        ss.References.from_table(TRUTH.to_pandas()),
        ss.References.from_table(rttm.to_arrow()),
    ):
        assert signatures(same) == expected
        assert signatures(same, threshold=0.1) == signatures(by_hand(TRUTH), threshold=0.1)


@pytest.mark.parametrize(
    "more",
    [
        [],
        ["--stream"],
        ["--jobs", "2"],
        ["--snap", "0"],
        ["--slack", "0.045"],
        ["--gaps", "bonafide"],
        ["--partial"],
        ["--regions", "all.uem"],
        ["--regions", "all.uem", "--stream"],
        ["--slack", "0.045", "--stream"],
    ],
    ids=" ".join,
)
def test_the_shell_signs_as_python_does(more, files, capsys):
    arguments = [files / one if one.endswith(".uem") else one for one in more]
    measures = [word for one in MEASURES if "--regions" not in more or "event" not in one for word in ("-m", one)]
    paths = [files / "r.rttm", files / "s.parquet", "--durations", files / "reco2dur"]
    code, printed = run(["eval", *paths, *measures, *arguments, "--format", "json"], capsys)
    assert code == 0, printed.err
    found = {one["measure"]: one["signature"] for one in json.loads(printed.out)["measurements"]}
    expected = signatures(by_hand(TRUTH))
    assert found == {name: expected[name].to_dict() for name in found}


CHANGES = {
    "gaps": ("gaps", {"gaps": "ignore"}),
    "rounded": ("rounded", {"gaps": "bonafide"}),
    "collar": ("whole", {"collar": 0.05}),
    "regions": ("whole", {"regions": {utt: [(0.0, 0.8)] for utt in TRUTH.utterances}}),
    "threshold": ("whole", {"threshold": 0.125}),
    "last frame": ("whole", {"last_frame": "drop", "uncovered": "ignore"}),
    "uncovered": ("whole", {"uncovered": "bonafide"}),
}


def other_references(name):
    """References on which a rule has something to change."""
    if name == "whole":
        return TRUTH
    first = TRUTH.offsets[:-1]
    starts = TRUTH.starts.copy()
    starts[first] += 1_000_000 if name == "rounded" else 100_000_000
    starts = np.minimum(starts, TRUTH.ends - 1_000_000)
    return replace(TRUTH, starts=starts, snap=2_000_000)


@pytest.mark.parametrize("change", CHANGES)
def test_shards_sign_as_memory_does(change, tmp_path):
    corpus, rules = CHANGES[change]
    references = other_references(corpus)
    ss.write_references(references, tmp_path / "r.parquet")
    ss.write_scores(SCORES, tmp_path / "s.parquet")
    measures = [one for one in MEASURES if "event" not in one or change in ("rounded", "threshold", "uncovered")]
    expected = signatures(references, measures=measures, **rules)
    usual = signatures(TRUTH, measures=measures)
    assert all(expected[name] != usual[name] for name in measures if change != "threshold" or "f1" in name)
    with ss.sharded(tmp_path / "r.parquet", tmp_path / "s.parquet", shards=4) as shards:
        assert len(shards) > 1
        found = ss.evaluate_shards(shards, measures, **rules).measurements
        assert {name: one.signature for name, one in found.items()} == expected


@pytest.mark.parametrize("by", ["attack", "length", "side"])
def test_groups_are_signed_alike_in_shards_and_in_memory(by, tmp_path):
    # the odd ones have gaps to fill
    column = {utt: "odd" if i % 2 else "even" for i, utt in enumerate(TRUTH.utterances)}
    starts = TRUTH.starts.copy()
    starts[TRUTH.offsets[1:-1:2]] += 1_000_000
    references = replace(TRUTH, starts=starts)
    ss.write_references(references, tmp_path / "r.parquet")
    ss.write_scores(SCORES, tmp_path / "s.parquet")
    options = EvaluationOptions(rules={"gaps": "ignore"})
    whole = CorpusInMemory(references, SCORES).break_down(by, "range-eer", options, lambda _: column)
    expected = {group.name: group.measurement.signature for group in whole.groups if group.measurement is not None}
    assert len({one.comparable for one in expected.values()}) > 1
    with ss.sharded(tmp_path / "r.parquet", tmp_path / "s.parquet", shards=4) as shards:
        found = shards.break_down(by, "range-eer", options, lambda _: column)
        assert {one.name: one.measurement.signature for one in found.groups if one.measurement} == expected
    if by == "side":  # a group of utterances is signed as a corpus of its own
        for name, one in expected.items():
            some = np.flatnonzero([column[utt] == name for utt in TRUTH.utterances])
            assert one == ss.range_eer(references.take(some), SCORES.take(some), gaps="ignore").signature
        assert "gaps" in expected["odd"].comparable
        assert "gaps" not in expected["even"].comparable


def test_groups_by_attack_are_told_apart_though_attacks_are_not_hashed():
    found = by_attack(TRUTH, SCORES)
    signed = [group.measurement.signature.comparable for group in found.groups]
    assert len(set(signed)) == len(signed) == 3
    # one attack alone is the whole corpus
    alone = replace(TRUTH, attacks=np.where(TRUTH.labels == 1, 0, -1).astype(np.int32), attack_names=("X",))
    (group,) = by_attack(alone, SCORES).groups
    assert group.measurement.signature == ss.range_eer(TRUTH, SCORES).signature


def test_comparisons_tables_and_challenges_sign_as_a_measurement_does(tmp_path):
    systems = {team: scores(TRUTH, noise, seed) for seed, (team, noise) in enumerate(NOISE.items())}
    expected = {name: ss.range_eer(by_hand(TRUTH), one).signature for name, one in systems.items()}
    assert ss.compare(TRUTH, systems, "range-eer", method="jackknife-t").signatures == expected
    table = ss.resolution_table(replace(TRUTH, snap=2_000_000), systems, [0.02])
    assert {row.name: row.ranges.measurements[""].signature for row in table.rows} == expected
    folder = build(tmp_path / "challenge")
    submit(tmp_path / "teams")
    score_submissions(folder, tmp_path / "teams")
    for team, one in expected.items():
        kept = kept_result(folder, team).measured
        assert kept[0]["signature"] == one.to_dict()


def test_utterance_scores_are_signed_alike():
    given = ss.UtteranceScores(TRUTH.utterances, np.random.default_rng(0).normal(size=len(TRUTH)), "bonafide")
    rounded = replace(TRUTH, snap=2_000_000)
    everything = {utt: [(0.0, 0.5), (0.5, 99.0)] for utt in (*TRUTH.utterances, "unknown")}
    usual = ss.evaluate_utterances(by_hand(TRUTH), given)["utterance-eer"].signature
    for references, rules in [
        (rounded, {}),
        (TRUTH, {"gaps": "bonafide"}),
        (TRUTH, {"regions": everything}),
        (TRUTH, {"eer_rule": "nearest"}),
    ]:
        assert ss.evaluate_utterances(references, given, **rules)["utterance-eer"].signature == usual
    by_name, by_share = (
        ss.evaluate_utterances(TRUTH, given, label=label)["utterance-eer"].signature for label in ("majority", 0.5)
    )
    assert by_name == by_share != usual


def test_proposals_are_signed_with_a_snap_that_unites_events():
    proposals = ss.Proposals.from_ranges({"u1": [(0.1, 0.6, 0.9)]})

    def signed(gap, snap):
        ranges = {"u1": [(0.0, 0.1, "bonafide"), (0.1, 0.3, "spoof"), (0.3 + gap, 0.6, "spoof"), (0.6, 1, "bonafide")]}
        references = ss.References.from_ranges(ranges, {"u1": 1.0}, snap=snap)
        return ss.evaluate(references, proposals, ["event-f1@iou=0.5"])["event-f1@iou=0.5"].signature

    assert signed(0.0, 0.0) == signed(0.0, 0.002)
    assert signed(0.001, 0.0) != signed(0.001, 0.002)
    assert "|snap:2000000ns|" in signed(0.001, 0.002).comparable
