"""A rule is declared once; everything that names it agrees with the declaration."""

import re
from dataclasses import fields
from pathlib import Path
from typing import get_type_hints

import pytest

import spoofspan as ss
from spoofspan.data.rules import RULES, RuleArguments, Touched

PAGE = (Path(__file__).parents[2] / "docs" / "rules.md").read_text(encoding="utf-8")


def test_rules_as_keyword_arguments_have_the_types_of_the_fields():
    assert get_type_hints(RuleArguments) == get_type_hints(ss.Rules)
    assert list(RULES) == [one.name for one in fields(ss.Rules)]


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_the_page_of_rules_names_each_rule_and_its_values(rule):
    # from the rule's bold name to the next rule or heading
    item = re.search(rf"\*\*`{rule.name}`\*\*(.*?)(?=\n##|\n\d+\. |\*\*`|\Z)", PAGE, re.DOTALL)
    assert item
    for value in rule.values:
        assert f"`{value}`" in item[1], value


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_default_comes_first_among_the_values_and_is_one(rule):
    rule.check(rule.default)
    # that of the modality is set by what is read
    assert not rule.values or rule.values[0] == rule.default or (rule.name, rule.default) == ("modality", None)
    assert rule.of in (("range", "point"), ("point",), ("references",))
    assert rule.help.endswith(".")
    assert rule.explanation
    assert f"\n{rule.name} : " in ss.Rules.__doc__


def test_what_a_rule_decided_is_a_sentence():
    source = "".join(path.read_text(encoding="utf-8") for path in Path(ss.__file__).parent.rglob("*.py"))
    noted = set(re.findall(r'(?:note_touched\(touched, |Touched\()"(\w+)", ', source)) | {"collar", "regions"}
    values = {rule: RULES[rule].values or ("0ns",) for rule in noted if rule != "partial"}
    assert {"gaps", "slack", "uncovered", "partial"} <= noted
    for rule, value in [(rule, value) for rule, valid in values.items() for value in valid]:
        assert re.match(r"0\.500 s \w.* \(rule: \w+\)$", str(Touched(rule, value, 500_000_000, 2)))
    assert str(Touched("gaps", "ignore", 10**9, 1)) == "1.000 s without a label in 1 utterance ignored (rule: gaps)"
    assert str(Touched("partial", "True", 0, 3)).startswith("3 utterances left out: only the references")
