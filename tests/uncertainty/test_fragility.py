"""How few clusters a verdict rests on, checked by comparing without them."""

import numpy as np
import pytest

import spoofspan as ss

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")


def corpus(apart, speakers=30, each=8, hard=()):
    """Two systems; the second errs on the speakers that are hard for it."""
    rng = np.random.default_rng(6)
    names = [f"u{i:03}" for i in range(speakers * each)]
    labels = {name: ("bonafide", "spoof")[i % 2] for i, name in enumerate(names)}
    speaker = {name: f"s{i // each:02}" for i, name in enumerate(names)}
    side = np.array([1.0 if label == "bonafide" else -1.0 for label in labels.values()])
    common = rng.normal(size=side.size)
    drop = np.array([4.0 * (one in hard) for one in speaker.values()])
    first = 1.3 * side + common + 0.3 * rng.normal(size=side.size)
    second = first + 0.3 * rng.normal(size=side.size) - side * (apart + drop)
    systems = {"a": first, "b": second}
    return labels, {name: ss.UtteranceScores(tuple(names), one, "bonafide") for name, one in systems.items()}, speaker


def without(labels, systems, speaker, gone):
    """The comparison without some speakers."""
    kept = [place for place, name in enumerate(labels) if speaker[name] not in gone]
    names = [list(labels)[place] for place in kept]
    some = {name: ss.UtteranceScores(tuple(names), one.values[kept], "bonafide") for name, one in systems.items()}
    found = ss.compare({name: labels[name] for name in names}, some, "utterance-eer", clusters=speaker)
    return found.better(found["a", "b"])


def test_a_verdict_that_rests_on_few_speakers_goes_without_them():
    hard = ("s03", "s11", "s17", "s20", "s26")
    labels, systems, speaker = corpus(0.0, hard=hard)
    how = {"clusters": speaker, "clusters_are": "speaker", "fragility": True}
    found = ss.compare(labels, systems, "utterance-eer", **how)
    assert found.better(found["a", "b"]) == "a"
    (one,) = found["a", "b"].fragility
    assert (one.factor, one.goes, one.of) == ("speaker", True, 30)
    assert set(one.left_out) <= set(hard)
    assert without(labels, systems, speaker, one.left_out) is None
    assert without(labels, systems, speaker, one.left_out[:-1]) == "a"
    assert str(one).startswith(f"undecided without {len(one.left_out)} of 30 speakers (s")
    assert found.to_dict()["differences"][0]["fragility"] == [one.to_dict()]


def test_a_verdict_that_all_speakers_support_holds_longer():
    labels, systems, speaker = corpus(1.2)
    how = {"clusters": speaker, "clusters_are": "speaker", "fragility": True}
    (one,) = ss.compare(labels, systems, "utterance-eer", **how)["a", "b"].fragility
    assert len(one.left_out) > 8
    assert (without(labels, systems, speaker, one.left_out) is None) == one.goes


def test_a_difference_that_is_not_shown_has_no_fragility_and_draws_have_none():
    labels, systems, speaker = corpus(0.0)
    found = ss.compare(labels, systems, "utterance-eer", clusters=speaker, fragility=True)
    assert found["a", "b"].fragility == ()
    labels, systems, speaker = corpus(1.2)
    with pytest.raises(ss.UsageError, match="jackknife-t"):
        ss.compare(labels, systems, "utterance-eer", clusters=speaker, fragility=True, method="percentile")
