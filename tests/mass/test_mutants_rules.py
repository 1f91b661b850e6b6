"""Claims about the rules that mutation testing found unguarded (see tools/mutation/README.md)."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from small_corpora import MS, TWO, TWO_SCORES

import spoofspan as ss
import spoofspan.data.rules
from spoofspan.data.rules import Touched, rules_for
from spoofspan.mass.labelling import note_touched

pytestmark = [pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning"), pytest.mark.quick]


CHOICES = {
    "gaps": ["error", "bonafide", "spoof", "ignore", "following"],
    "extent": ["duration", "cut-at-duration", "last-range-end"],
    "nonspeech": ["error", "ignore", "bonafide", "spoof"],
    "uncovered": ["error", "hold", "bonafide", "spoof", "ignore", "unanswered"],
    "overlong": ["error", "cut"],
    "last_frame": ["use", "drop"],
    "overlap": ["error", "min", "mean", "centre"],
    "utterances": ["all", "drop-bonafide-CON"],
    "last_point": ["use", "round", "drop", "scored"],
}
RANGE_DEFAULTS = {
    "gaps": "error",
    "snap": "auto",
    "extent": "duration",
    "nonspeech": "error",
    "uncovered": "error",
    "slack": "auto",
    "overlong": "error",
    "last_frame": "use",
    "overlap": "error",
    "regions": "all",
    "collar": "0ns",
    "collar_edges": "inside",
    "partial": "False",
    "utterances": "all",
}


@pytest.mark.parametrize("name", CHOICES)
def test_each_rule_takes_its_values_and_no_other(name):
    assert spoofspan.data.rules.RULES[name].values == tuple(CHOICES[name])
    for value in CHOICES[name]:
        assert getattr(ss.Rules(**{name: value}), name) == value
    for wrong in ("no such choice", None, 1):
        with pytest.raises(ss.UsageError, match=f"{name}="):
            ss.Rules(**{name: wrong})


@pytest.mark.parametrize("name", ["snap", "slack", "collar"])
def test_times_must_not_be_negative(name):
    assert getattr(ss.Rules(**{name: 0.0}), name) == 0.0
    assert ss.Rules(**{name: 1e-9}).spelled("range")[name] == "1ns"
    for wrong in (-1e-9, -1.0):
        with pytest.raises(ss.UsageError, match="must not be negative"):
            ss.Rules(**{name: wrong})
    for wrong in (math.nan, math.inf, 10**400, "long"):
        with pytest.raises(ss.UsageError, match=f"{name} must be"):
            ss.Rules(**{name: wrong})


def test_snap_and_slack_may_be_left_to_the_data_but_not_the_collar():
    assert ss.Rules(snap=None, slack=None) == ss.Rules()
    with pytest.raises(ss.UsageError, match="collar"):
        ss.Rules(collar=None)


def test_partial_and_regions_have_types():
    assert ss.Rules(partial=True).partial
    for wrong in (1, "True", None):
        with pytest.raises(ss.UsageError, match="True or False"):
            ss.Rules(partial=wrong)
    assert ss.Rules(regions={"u": [(0, 1)]}).spelled("range")["regions"] == "given"
    with pytest.raises(ss.UsageError, match="must be a dict"):
        ss.Rules(regions=[(0, 1)])


def test_label_is_a_name_or_a_fraction():
    assert ss.Rules(label="majority").spoof_fraction == Fraction(1, 2)
    assert ss.Rules(label=0.3).spoof_fraction == Fraction(3, 10)
    assert ss.Rules(label=1).spoof_fraction == 1
    assert ss.Rules(label=0.3).spelled("point")["label"] == "3/10"
    for label in ("any", "majority", "rounded"):
        assert ss.Rules(label=label).spelled("point")["label"] == label
    for wrong in (0, -0.1, 1.1, "half", None, math.nan, math.inf, 10**400):
        with pytest.raises(ss.UsageError, match="label="):
            ss.Rules(label=wrong)


def test_the_defaults_are_spelled_out():
    assert ss.Rules().spelled("range") == RANGE_DEFAULTS
    assert ss.Rules().spelled("point") == {**RANGE_DEFAULTS, "label": "any", "last_point": "use", "pooling": "min"}
    assert ss.Rules(snap=0.002, slack=0.1, collar=0.05).spelled("range") == {
        **RANGE_DEFAULTS,
        "snap": "2000000ns",
        "slack": "100000000ns",
        "collar": "50000000ns",
    }


TOOL = {"snap": 0.0, "slack": 0.0, "overlong": "cut", "nonspeech": "ignore"}
NII = {**TOOL, "gaps": "bonafide", "nonspeech": "bonafide", "extent": "cut-at-duration"}
CONVENTIONS = {
    ("default", "range", False): ({}, "nearest"),
    ("default", "point", False): ({}, "nearest"),
    ("default", "point", True): ({}, "nearest"),
    ("paper", "range", False): ({**TOOL, "gaps": "ignore", "uncovered": "unanswered"}, "nearest"),
    ("paper", "point", False): ({**TOOL, "gaps": "ignore", "uncovered": "unanswered"}, "nearest"),
    ("nii-2023", "range", False): ({**NII, "uncovered": "bonafide", "utterances": "drop-bonafide-CON"}, "nearest"),
    ("nii-2023", "point", False): ({**NII, "uncovered": "ignore"}, "nearest"),
    ("nii-2023", "point", True): ({**NII, "uncovered": "ignore", "gaps": "spoof", "label": "rounded"}, "nearest"),
    ("partialspoof-metrics", "range", False): (
        {**TOOL, "gaps": "following", "uncovered": "hold", "extent": "last-range-end", "last_frame": "drop"},
        "bucketed(-2,2,100000)",
    ),
    ("partialspoof-metrics", "point", False): (
        {**TOOL, "gaps": "bonafide", "uncovered": "hold", "last_point": "round", "nonspeech": "bonafide"},
        "bucketed(-2,2,10000)",
    ),
    ("wedefense", "range", False): (
        {**TOOL, "gaps": "following", "uncovered": "hold", "extent": "last-range-end"},
        "bucketed(2max,100000)",
    ),
}


@pytest.mark.parametrize(("convention", "measure", "finer"), CONVENTIONS)
def test_a_convention_is_this_set_of_rules(convention, measure, finer):
    rules, eer_rule = CONVENTIONS[convention, measure, finer]
    assert rules_for(measure, convention, {}, finer_than_hop=finer) == (ss.Rules(**rules), eer_rule)


def test_stated_rules_go_before_those_of_the_convention():
    rules, _ = rules_for("range", "paper", {"gaps": "spoof"})
    assert (rules.gaps, rules.uncovered) == ("spoof", "unanswered")
    assert rules_for("point", "nii-2023", {})[0].label == "any"
    with pytest.raises(ss.UsageError, match="unknown rule 'gap': did you mean 'gaps'"):
        rules_for("range", "paper", {"gap": "spoof"})
    with pytest.raises(ss.UsageError, match="did you mean 'paper'"):
        rules_for("range", "papers", {})
    with pytest.raises(ss.UsageError, match="defines no point-based measure"):
        rules_for("point", "wedefense", {})


def test_rules_and_conventions_cannot_be_changed():
    for thing in (ss.Rules(), ss.CONVENTIONS["paper"], Touched("gaps", "ignore", 1, 1)):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(thing, dataclasses.fields(thing)[0].name, None)


def test_the_version_of_the_rules_is_part_of_every_signature():
    assert "|rules:2|" in ss.range_eer(TWO, TWO_SCORES).signature.comparable


def test_touched_time_is_summed_over_the_utterances_that_have_some():
    touched = []
    note_touched(touched, "gaps", "ignore", np.array([0, 1500 * MS, 500 * MS]))
    note_touched(touched, "snap", "2ns", np.zeros(3, np.int64))
    assert touched == [Touched("gaps", "ignore", 2000 * MS, 2)]
    assert touched[0].seconds == 2.0
