"""Calibrations and fusions: against scikit-learn, against what was planted, and what they must not change."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import spoofspan as ss
import spoofspan.demo
from spoofspan.evaluation.calibration import LearningSet
from spoofspan.mass.joint_scores import joint_scores
from spoofspan.measures.calibration import least_cost_map

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")


@pytest.fixture(scope="module")
def corpus():
    return ss.demo.load()


def drawn(systems=1, utterances=20, frames=60, seed=0, strength=1.5):
    """A corpus of random ranges, and systems whose scores tell something about it."""
    rng = np.random.default_rng(seed)
    ranges, columns = {}, [{} for _ in range(systems)]
    for i in range(utterances):
        first, last = np.sort(rng.choice(np.arange(1, frames), 2, replace=False)) * 0.02 + 0.007
        name = f"u{i:02}"
        ranges[name] = [(0.0, first, "bonafide"), (first, last, "spoof"), (last, frames * 0.02, "bonafide")]
        centre = (np.arange(frames) + 0.5) * 0.02
        spoof = (centre > first) & (centre < last)
        for k, column in enumerate(columns):
            column[name] = np.where(spoof, -strength, strength) / (k + 1) + rng.normal(size=frames) * 1.5 + 0.3 * k
    references = ss.References.from_ranges(ranges)
    return references, [ss.Scores.from_frames(one, hop=0.02, higher="bonafide") for one in columns]


def durations_by_frame(references, scores):
    """The bona fide and spoofed time of every frame, frame by frame."""
    rows = []
    for utterance, frames in scores.items():
        for k in range(len(frames)):
            a, b = round(k * 0.02, 9), round((k + 1) * 0.02, 9)
            amount = {"bonafide": 0.0, "spoof": 0.0}
            for start, end, label, *_ in references[utterance]:
                amount[label] += max(0.0, min(b, end) - max(a, start))
            rows.append((amount["bonafide"], amount["spoof"]))
    return np.array(rows).T


def by_scikit_learn(columns, bona_fide, spoof, prior, ridge=0.0):
    """Logistic regression of weighted rows; the offset is that of log-likelihood ratios."""
    linear = pytest.importorskip("sklearn.linear_model", reason="scikit-learn, the other tool, is not installed")
    x = np.concatenate([np.stack(columns, axis=1)] * 2)
    y = np.repeat([1, 0], bona_fide.size)
    weight = np.concatenate(((1 - prior) * bona_fide / bona_fide.sum(), prior * spoof / spoof.sum()))
    both = weight[: bona_fide.size] + weight[bona_fide.size :]
    mean = both @ x[: bona_fide.size]
    deviation = np.sqrt(both @ (x[: bona_fide.size] - mean) ** 2)
    penalty = {"C": 1 / ridge} if ridge else {"C": np.inf}
    model = linear.LogisticRegression(tol=1e-12, max_iter=10_000, solver="newton-cholesky", **penalty)
    model.fit((x - mean) / deviation, y, sample_weight=weight)
    weights = model.coef_[0] / deviation
    return weights, model.intercept_[0] - weights @ mean - math.log((1 - prior) / prior)


@pytest.mark.parametrize("prior", [0.5, 0.05, 0.9])
@pytest.mark.parametrize("systems", [1, 3])
@pytest.mark.parametrize("ridge", [0.0, 0.01])
def test_weights_are_those_of_scikit_learn(prior, systems, ridge):
    references, given = drawn(systems)
    bona_fide, spoof = durations_by_frame(references, given[0])
    columns = [one.values.astype(float) for one in given]
    weights, offset = by_scikit_learn(columns, bona_fide, spoof, prior, ridge)
    if systems == 1:
        learned = ss.calibrate(references, given[0], prior=prior, ridge=ridge)
    else:
        named = {f"s{k}": one for k, one in enumerate(given)}
        learned = ss.fuse(references, named, prior=prior, ridge=ridge)
    np.testing.assert_allclose(learned.map.weights, weights, rtol=1e-5)
    np.testing.assert_allclose(learned.map.offset, offset, rtol=1e-5, atol=1e-6)


def test_an_affine_map_has_the_least_cllr_of_all_lines():
    references, (scores,) = drawn()
    learned = ss.calibrate(references, scores)

    def cllr(weight, offset):
        line = replace(scores, values=weight * scores.values + offset)
        return ss.evaluate(references, line, ["range-cllr"], scores_are="llr")["range-cllr"].value

    weight, offset = learned.map.weights[0], learned.map.offset
    best = cllr(weight, offset)
    assert all(
        cllr(weight + dw, offset + do) > best
        for dw, do in [(0.01, 0), (-0.01, 0), (0, 0.01), (0, -0.01), (0.01, -0.01)]
    )


@pytest.mark.parametrize("method", ["affine", "pav"])
def test_the_eer_stays_as_it_was_to_the_bit(corpus, method):
    for scores in corpus.systems.values():
        calibrated = ss.calibrate(corpus.references, scores, method=method).apply(scores)
        before, after = ss.range_eer(corpus.references, scores), ss.range_eer(corpus.references, calibrated)
        assert (before.value, before.false_positive_rate) == (after.value, after.false_positive_rate)
        assert np.unique(scores.values).size == np.unique(calibrated.values).size


@pytest.mark.parametrize("method", ["affine", "pav"])
def test_polarity_changes_nothing_but_the_sign(method):
    references, (scores,) = drawn()
    mirrored = replace(scores, values=-scores.values, higher="spoof")
    one, other = (ss.calibrate(references, side, method=method) for side in (scores, mirrored))
    assert other.apply(mirrored).higher == "spoof"
    np.testing.assert_array_equal(other.apply(mirrored).values, -one.apply(scores).values)


def test_the_order_of_utterances_changes_nothing():
    references, systems = drawn(2)
    order = np.random.default_rng(1).permutation(len(systems[0]))
    shuffled = [one.take(order) for one in systems]
    assert (
        ss.fuse(references, dict(zip("ab", systems, strict=True))).to_dict()
        == ss.fuse(references, dict(zip("ab", shuffled, strict=True))).to_dict()
    )


def test_ranges_learn_what_their_frames_learn():
    references, (scores,) = drawn()
    pieces = {
        utt: [(k * 0.02, (k + 1) * 0.02, float(value)) for k, value in enumerate(frames)]
        for utt, frames in scores.items()
    }
    ranges = ss.Scores.from_ranges(pieces, higher="bonafide")
    one, other = ss.calibrate(references, scores), ss.calibrate(references, ranges)
    assert one.map == other.map
    assert one.learned_on == other.learned_on


def test_planted_ratios_are_found_again():
    rng = np.random.default_rng(3)
    count = 40_000
    spoof = rng.random(count) < 0.3
    # unit normals at +-1 have the log-likelihood ratio 2 x
    x = rng.normal(size=count) + np.where(spoof, -1.0, 1.0)
    found = least_cost_map([x * 5 - 2], (~spoof).astype(float), spoof.astype(float), ["a"], 0.5, 0.0)
    assert found.weights[0] * 5 == pytest.approx(2.0, rel=0.02)
    assert found.offset - 2 * found.weights[0] == pytest.approx(0.0, abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["affine", "pav"])
def test_a_fusion_does_not_lose_to_its_best_system_on_held_out_speakers(corpus, method):
    speakers = dict(zip(corpus.protocol.utterance, corpus.protocol.speaker, strict=True))
    named = {f"{hop}": scores for hop, scores in corpus.systems.items()}

    def held_out(systems):
        made = LearningSet.of(corpus.references, systems, "default", {}).held_out(speakers, method, 0.5, 0.0)
        return ss.evaluate(corpus.references, made, ["range-cllr"], scores_are="llr")["range-cllr"].value

    assert held_out(named) <= min(held_out({name: scores}) for name, scores in named.items())


def test_pav_maps_cost_at_most_1_15_of_the_least_on_held_out_speakers(corpus):
    """Of cosines, for which a line costs 1.2 times the least."""
    speakers = dict(zip(corpus.protocol.utterance, corpus.protocol.speaker, strict=True))
    for name, scores in corpus.systems.items():
        made = LearningSet.of(corpus.references, {str(name): scores}, "default", {}).held_out(speakers, "pav", 0.5, 0.0)
        cost = ss.evaluate(corpus.references, made, ["range-cllr"], scores_are="llr")["range-cllr"].value
        assert cost <= 1.15 * ss.evaluate(corpus.references, scores, ["range-min-cllr"])["range-min-cllr"].value


def test_a_fusion_of_pav_maps_weighs_what_each_map_says():
    references, systems = drawn(2)
    names = {"a": systems[0], "b": systems[1]}
    learned = ss.fuse(references, names, method="pav")
    each = [ss.calibrate(references, one, method="pav", name=name) for name, one in names.items()]
    assert learned.map.maps == tuple(one.map for one in each)
    ratios = [one.apply(scores) for one, scores in zip(each, systems, strict=True)]
    assert learned.map.sum == ss.fuse(references, dict(zip("ab", ratios, strict=True))).map
    weights, offset = by_scikit_learn([one.values for one in ratios], *durations_by_frame(references, ratios[0]), 0.5)
    assert learned.map.sum.weights == pytest.approx(weights, rel=1e-5)
    expected = offset + weights @ np.stack([one.values for one in ratios])
    np.testing.assert_allclose(learned.apply(*systems).values, expected, rtol=1e-4, atol=1e-5)
    assert ss.Calibration.from_dict(json.loads(json.dumps(learned.to_dict()))) == learned
    mirrored = replace(systems[1], values=-systems[1].values, higher="spoof")
    assert "* pav(-b)" in str(ss.fuse(references, {"a": systems[0], "b": mirrored}, method="pav"))


def test_systems_of_other_hops_are_laid_on_the_finest():
    fine = ss.Scores.from_frames({"u": [1.0, 2, 3, 4, 5]}, hop=0.02, higher="bonafide")
    coarse = ss.Scores.from_frames({"u": [10.0, 20]}, hop=0.04, higher="bonafide")  # its last score is held
    joint = joint_scores([coarse, fine], ["coarse", "fine"])
    assert joint.rows.hop == 0.02
    assert [column.tolist() for column in joint.columns] == [[10, 10, 20, 20, 20], [1, 2, 3, 4, 5]]
    odd = ss.Scores.from_frames({"u": [10.0, 20, 30, 40]}, hop=0.03, higher="bonafide")
    joint = joint_scores([fine, odd], ["fine", "odd"])
    assert joint.rows.hop is None
    assert joint.rows.starts.tolist() == [0, 20_000_000, 30_000_000, 40_000_000, 60_000_000, 80_000_000, 90_000_000]
    assert [column.tolist() for column in joint.columns] == [[1, 2, 2, 3, 4, 5, 5], [10, 10, 20, 20, 30, 30, 40]]
    short = ss.Scores.from_frames({"u": [10.0]}, hop=0.04, higher="bonafide")
    with pytest.raises(ss.DataError, match=r"at 0\.120 s there is a score of fine, but none of short"):
        joint_scores([ss.Scores.from_frames({"u": np.arange(9.0)}, hop=0.02, higher="spoof"), short], ["fine", "short"])


def test_json_gives_the_same_scores_back(corpus, tmp_path):
    scores = corpus.systems[0.02]
    for method in ("affine", "pav"):
        learned = ss.calibrate(corpus.references, scores, method=method)
        again = ss.Calibration.from_dict(json.loads(json.dumps(learned.to_dict())))
        assert again == learned
        ss.write_calibration(learned, tmp_path / f"{method}.json")
        assert ss.read_calibration(tmp_path / f"{method}.json") == learned
        np.testing.assert_array_equal(again.apply(scores).values, learned.apply(scores).values)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.pop("systems"), "damaged calibration"),
        (lambda data: data["systems"][0].update(weight=-1.0), "must be positive"),
        (lambda data: data["systems"][0].update(weight=float("nan")), "must be finite"),
        (lambda data: data["systems"][0].update(higher="fake"), "bonafide or spoof"),
        (lambda data: data.update(spoofspan_calibration=2), "use a newer spoofspan"),
        (lambda data: data.clear(), "this is no calibration"),
    ],
)
def test_a_damaged_calibration_is_refused(change, message):
    references, (scores,) = drawn()
    data = ss.calibrate(references, scores).to_dict()
    change(data)
    with pytest.raises(ss.DataError, match=message):
        ss.Calibration.from_dict(data, "a.json")


def test_a_file_that_is_no_calibration_is_named(tmp_path):
    (tmp_path / "a.json").write_text("SPEAKER u1 1 0 1")
    with pytest.raises(ss.DataError, match=r"a\.json:1: no JSON .* expected what spoofspan calibrate"):
        ss.read_calibration(tmp_path / "a.json")


def test_scores_that_separate_need_a_ridge():
    references = ss.References.from_ranges({"u": [(0.0, 0.06, "bonafide"), (0.06, 0.12, "spoof")]})
    scores = ss.Scores.from_frames({"u": [0.9, 0.8, 0.7, 0.3, 0.2, 0.1]}, hop=0.02, higher="bonafide")
    with pytest.raises(ss.UndefinedMeasureError, match="separate bona fide from spoof without an error"):
        ss.calibrate(references, scores)
    weights = [ss.calibrate(references, scores, ridge=ridge).map.weights[0] for ridge in (0.1, 0.001)]
    assert 0 < weights[0] < weights[1] < math.inf
    noisy = ss.Scores.from_frames({"u": [0.1, 0.9, 0.2, 0.3, 0.2, 0.1]}, hop=0.02, higher="bonafide")
    with pytest.raises(ss.UndefinedMeasureError, match="separate"):
        ss.fuse(references, {"a": scores, "b": noisy})
    # a tie of both classes at the border does not help
    tied = ss.Scores.from_frames({"u": [0.9, 0.8, 0.5, 0.5, 0.2, 0.1]}, hop=0.02, higher="bonafide")
    with pytest.raises(ss.UndefinedMeasureError, match="separate"):
        ss.calibrate(references, tied)


def test_what_cannot_be_learned_is_said():
    references, (one, other) = drawn(2)
    with pytest.raises(ss.DataError, match="check what high scores mean"):
        ss.calibrate(references, replace(one, higher="spoof"))
    with pytest.raises(ss.DataError, match=r"b: high scores do not lie over bona fide .* check what high scores mean"):
        ss.fuse(references, {"a": one, "b": replace(other, higher="spoof")}, method="pav")
    with pytest.raises(ss.UndefinedMeasureError, match="follow from those of the others"):
        ss.fuse(references, {"a": one, "b": other, "c": replace(one, values=2 * one.values + other.values)})
    with pytest.raises(ss.UndefinedMeasureError, match="all scores are equal"):
        ss.calibrate(references, replace(one, values=np.zeros_like(one.values)))
    infinite = one.values.copy()
    infinite[0] = np.inf
    with pytest.raises(ss.DataError, match="infinite scores"):
        ss.calibrate(references, replace(one, values=infinite))
    with pytest.raises(ss.UsageError, match="did you mean 'affine'"):
        ss.calibrate(references, one, method="afine")
    with pytest.raises(ss.UsageError, match="at least two systems"):
        ss.fuse(references, {"a": one})
    with pytest.raises(ss.DataError, match="'u00' has scores of a, but none of b"):
        ss.fuse(references, {"a": one, "b": other.take(np.arange(1, len(other)))})
    learned = ss.calibrate(references, one)
    with pytest.raises(ss.UsageError, match="high scores meant bonafide"):
        learned.apply(replace(one, higher="spoof"))
    with pytest.raises(ss.UsageError, match="of whole utterances"):
        learned.apply(ss.UtteranceScores(("u00",), np.array([0.1]), "bonafide"))
    with pytest.raises(ss.UsageError, match="learned on 1 systems"):
        learned.apply(one, other)


def test_utterance_scores_are_calibrated_and_fused():
    rng = np.random.default_rng(5)
    labels = {f"u{i}": "spoof" if i % 3 == 0 else "bonafide" for i in range(200)}
    spoof = np.array([label == "spoof" for label in labels.values()])
    columns = [rng.normal(size=200) * 2 + np.where(spoof, -1.5, 1.0) for _ in range(2)]
    one, other = (ss.UtteranceScores(tuple(labels), column, "bonafide") for column in columns)
    fused = ss.fuse(labels, {"a": one, "b": other}, prior=0.2)
    weights, offset = by_scikit_learn(columns, (~spoof).astype(float), spoof.astype(float), 0.2)
    np.testing.assert_allclose(fused.map.weights, weights, rtol=1e-5)
    np.testing.assert_allclose(fused.map.offset, offset, rtol=1e-4)
    assert fused.unit == "utterances"
    values = fused.apply(one, other)
    expected = columns[0] * fused.map.weights[0] + columns[1] * fused.map.weights[1] + fused.map.offset
    np.testing.assert_allclose(values.values, expected)
    after = ss.evaluate_utterances(labels, values, ["utterance-cllr", "utterance-min-cllr"], scores_are="llr")
    assert after["utterance-cllr"].value < 1.15 * after["utterance-min-cllr"].value


def test_a_pav_map_states_no_more_than_the_number_of_utterances_allows():
    references, (scores,) = drawn(strength=6.0)
    calibrated = ss.calibrate(references, scores, method="pav").apply(scores)
    assert np.abs(calibrated.values).max() < math.log(len(scores) + 1) + 1e-3
    far = replace(scores, values=np.where(scores.values > 0, np.inf, -np.inf))
    assert np.isfinite(ss.calibrate(references, scores, method="pav").apply(far).values).all()


def test_held_out_scores_do_not_know_their_own_cluster():
    references, (scores,) = drawn(utterances=6)
    clusters = {utt: utt[-1] for utt in scores.utterances}
    held_out = LearningSet.of(references, {"a": scores}, "default", {}).held_out(clusters, "affine", 0.5, 0.0)
    for i, utt in enumerate(scores.utterances):
        others = np.array([k for k in range(6) if k != i])
        learned = ss.calibrate(references.take(others), scores.take(others))
        np.testing.assert_allclose(held_out[utt], learned.apply(scores)[utt], rtol=1e-9)


# ---------------------------------------------------------------- public tools

GOLDEN = Path(__file__).parents[1] / "golden" / "calibration"
SYSTEMS = {"system 0": [0], "system 1": [1], "both": [0, 1]}
FOUND = json.loads((GOLDEN / "expected.json").read_text())


def golden_columns():
    case = json.loads((GOLDEN / "case.json").read_text())["utterances"].values()
    bona_fide = np.array([one["label"] == "bonafide" for one in case])
    return np.array([[float(text) for text in one["scores"]] for one in case]).T, bona_fide


def logit(share):
    return math.log(share / (1 - share))


@pytest.mark.parametrize("name", FOUND["wedefense train_calibration_fusion_model"])
def test_wedefense_learns_the_same_under_its_weights(name):
    columns, bona_fide = golden_columns()
    theirs = FOUND["wedefense train_calibration_fusion_model"][name]
    prior, count = theirs["p_tar"], bona_fide.size
    weighed = (count * prior + bona_fide.sum()) / (count + bona_fide.sum())
    chosen = [columns[k] for k in SYSTEMS[name.partition(",")[0]]]
    ours = least_cost_map(chosen, bona_fide * 1.0, ~bona_fide * 1.0, ["s"] * len(chosen), 1 - weighed, 0.0)
    np.testing.assert_allclose(theirs["weights"], ours.weights, rtol=5e-3)
    assert theirs["bias"] == pytest.approx(ours.offset + logit(weighed) - logit(prior), rel=5e-3, abs=5e-3)


@pytest.mark.parametrize(
    "name", [one for one in FOUND["asvspoof5 Tool-score-fusion logistic_reg"] if "both" not in one]
)
def test_the_tool_of_asvspoof5_learns_the_same_under_its_weights(name):
    columns, bona_fide = golden_columns()
    theirs = FOUND["asvspoof5 Tool-score-fusion logistic_reg"][name]
    column, prior = columns[SYSTEMS[name.partition(",")[0]][0]], theirs["pos_prior"]
    whole = bona_fide.sum() * prior + (~bona_fide).sum() * (1 - prior)
    weighed = bona_fide.sum() * prior / whole
    weight = np.where(bona_fide, weighed / bona_fide.sum(), (1 - weighed) / (~bona_fide).sum())
    ridge = 1 / whole / (weight @ (column - weight @ column) ** 2)
    ours = least_cost_map([column], bona_fide * 1.0, ~bona_fide * 1.0, ["s"], 1 - weighed, ridge)
    assert theirs["scale"][0] == pytest.approx(ours.weights[0], rel=2e-3)
    assert theirs["bias"] == pytest.approx(ours.offset + logit(weighed) - logit(prior), rel=2e-3)


@pytest.mark.parametrize("tool", FOUND)
def test_no_tool_finds_a_lower_cllr(tool):
    columns, bona_fide = golden_columns()

    def cllr(weights, offset, chosen):
        ratios = offset + np.asarray(weights) @ columns[chosen]
        costs = np.logaddexp(0, np.where(bona_fide, -ratios, ratios)) / math.log(2)
        return costs[bona_fide].mean() / 2 + costs[~bona_fide].mean() / 2

    for name, theirs in FOUND[tool].items():
        chosen = SYSTEMS[name.partition(",")[0]]
        amounts = bona_fide * 1.0, ~bona_fide * 1.0
        ours = least_cost_map([columns[k] for k in chosen], *amounts, ["s"] * len(chosen), 0.5, 0.0)
        best = cllr(ours.weights, ours.offset, chosen)
        assert best < cllr(theirs.get("weights", theirs.get("scale")), theirs["bias"], chosen)


@pytest.mark.parametrize("method", ["affine", "pav"])
@pytest.mark.filterwarnings("error")
def test_a_class_of_one_cluster_cannot_be_held_out(method):
    ranges = {f"u{i}": [(0.0, 1.0, "spoof" if i < 2 else "bonafide")] for i in range(6)}
    references = ss.References.from_ranges(ranges, durations=dict.fromkeys(ranges, 1.0))
    scores = ss.Scores.from_frames({f"u{i}": np.float64([0.1 * i] * 10) for i in range(6)}, hop=0.1, higher="bonafide")
    learning = LearningSet.of(references, {"a": scores}, "default", {})
    with pytest.raises(ss.UndefinedMeasureError, match="one class is missing"):
        learning.held_out({f"u{i}": f"s{i // 2}" for i in range(6)}, method, 0.5, 0.001)
