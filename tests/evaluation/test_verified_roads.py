"""Results that nobody touched are confirmed, whatever road they were measured and are verified by: no false alarms."""

import json
from itertools import count

import numpy as np
import pytest
from challenge_cases import SPEAKERS, labels, scores
from command_line import invoke

import spoofspan as ss

pytestmark = [pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning"), pytest.mark.slow]

TRUTH = labels()
SEEDS = range(4)
# What is measured: flags, and the inputs besides references and scores that verify needs too.
CASES = {
    "usual": ([], []),
    "at a threshold": (["-m", "range-f1", "-m", "point-f1@20ms", "-m", "range-fpr", "--threshold", "0.2"], []),
    "events": (["-m", "event-f1@iou=0.5", "-m", "event-ap@iou=0.5", "-m", "event-psds"], []),
    "smoothed events": (["-m", "event-f1@iou=0.5", "--smoothing", "3", "--min-duration", "0.04"], []),
    "groups": (["--by", "attack", "--by", "length", "--confidence", "0.95"], []),
    "speakers": (["-m", "range-eer", "--by", "speaker", "--confidence", "0.95"], ["--metadata", "speakers.csv"]),
    "crossed": (["-m", "point-eer@40ms", "--by", "speaker,side"], ["--metadata", "speakers.csv"]),
    "bootstrap": (["-m", "range-eer", "--confidence", "0.9", "--interval", "percentile", "--replicates", "100"], []),
    "nii-2023": (["--convention", "nii-2023"], []),
    "wedefense": (["--convention", "wedefense", "-m", "range-eer", "--gaps", "bonafide"], []),
    "rules": (["--collar", "0.02", "--uncovered", "hold", "-m", "point-eer@30ms", "--label", "0.3"], []),
    "all thresholds": (["-m", "range-auc", "-m", "range-min-dcf", "-m", "range-cllr", "--scores-are", "llr"], []),
    "regions": (["-m", "range-eer", "-m", "utterance-eer"], ["--regions", "part.uem"]),
    "interpolated": (["--eer-rule", "interpolated", "--last-frame", "drop", "--uncovered", "ignore"], []),
}
ROADS = {
    "text": ["references.rttm", "scores.csv", "--durations", "reco2dur"],
    "Parquet": ["references.parquet", "scores.parquet"],
    "arrays": ["references.parquet", "scores.npz", "--hop", "0.02", "--higher", "bonafide"],
    "stream": ["references.parquet", "scores.parquet", "--stream"],
}


def write(folder, given):
    folder.mkdir()
    ss.write_references(TRUTH, folder / "references.rttm")
    ss.write_references(TRUTH, folder / "references.parquet")
    for name in ("scores.csv", "scores.parquet", "scores.npz"):
        ss.write_scores(given, folder / name)
    seconds = dict(zip(TRUTH.utterances, (TRUTH.durations / 1e9).tolist(), strict=True))
    (folder / "reco2dur").write_text("".join(f"{utt} {one!r}\n" for utt, one in seconds.items()))
    (folder / "part.uem").write_text("".join(f"{utt} 1 0 0.8\n" for utt in seconds))
    rows = (f"{utt},{speaker},{'ab'[i % 2]}\n" for i, (utt, speaker) in enumerate(SPEAKERS.items()))
    (folder / "speakers.csv").write_text("utterance,speaker,side\n" + "".join(rows))


def places(folder, words):
    return [folder / word if (folder / word).is_file() else word for word in words]


def test_200_untouched_results_are_confirmed_on_all_roads(tmp_path):
    confirmed, number = 0, count()
    for seed in SEEDS:
        given = scores(TRUTH, 0.6 + 0.3 * seed, seed)
        folder = tmp_path / str(seed)
        write(folder, given)
        columns = {name: ss.read_metadata(folder / "speakers.csv", name) for name in ("speaker", "side")}
        regions = ss.read_regions(folder / "part.uem")
        for case, (flags, inputs) in CASES.items():
            for road in ROADS:
                result = folder / f"{next(number)}.json"
                asked = ["eval", *ROADS[road], *flags, *inputs, "--format", "json", "--out", result, "--quiet"]
                measured = invoke(*places(folder, asked))
                assert measured.exit_code == 0, (case, road, measured.output, measured.exception)
                other = list(ROADS)[next(number) % len(ROADS)]
                again = invoke(*places(folder, ["verify", result, *ROADS[other], *inputs, "--quiet"]))
                assert again.exit_code == 0, (case, road, other, again.output, again.exception)
                more = {"regions": regions} if case == "regions" else {}
                found = ss.verify(result, TRUTH, given, columns=columns, **more)
                assert found, (case, road, str(found))
                assert not found.notes
                for one in json.loads(result.read_text())["measurements"]:
                    full = " || ".join(one["signature"].values())
                    assert ss.verify(full, TRUTH, given, **more), full
                    if "|+" not in one["short_signature"]:
                        assert ss.verify(one["short_signature"], TRUTH, given, **more), one["short_signature"]
                confirmed += 1
    assert confirmed >= 200


def test_results_of_utterance_scores_bisection_and_proposals_are_confirmed(tmp_path):
    confirmed = 0
    for seed in range(10):
        given = scores(TRUTH, 0.6 + 0.1 * seed, seed)
        means = np.array([given.values[a:b].mean() for a, b in zip(given.offsets, given.offsets[1:], strict=False)])
        whole = ss.UtteranceScores(given.utterances, means, "bonafide")
        spoofed = dict.fromkeys(TRUTH.utterances, "bonafide")
        rows = np.repeat(np.arange(len(TRUTH)), np.diff(TRUTH.offsets))
        spoofed |= {TRUTH.utterances[i]: "spoof" for i in rows[TRUTH.labels == 1]}
        proposals = ss.proposals_from_scores(given, 0.0)
        asv = {"asv_rates": [0.02, 0.03, 0.5]}
        for truth, system, result in [
            (TRUTH, whole, ss.evaluate_utterances(TRUTH, whole, ["utterance-eer", "utterance-f1"])),
            (spoofed, whole, ss.evaluate_utterances(spoofed, whole, ["utterance-eer", "utterance-auc"])),
            (spoofed, whole, ss.evaluate_utterances(spoofed, whole, ["utterance-min-tdcf"], **asv)),
            (TRUTH, proposals, ss.evaluate(TRUTH, proposals, ["event-f1@iou=0.5", "event-ap@iou=0.5"])),
            (TRUTH, given, ss.bisection_eer(TRUTH, given, collar=0.01)),
        ]:
            assert ss.verify(result, truth, system), (system, str(ss.verify(result, truth, system)))
            for one in getattr(result, "measurements", {"": result}).values():
                assert ss.verify(one.signature, truth, system)
                if "|+" not in one.signature.short:
                    assert ss.verify(one.signature.short, truth, system), one.signature.short
            confirmed += 1
    assert confirmed == 50
