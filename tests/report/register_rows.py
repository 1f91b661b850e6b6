"""A row of the register of published numbers, checked as those who add one need it."""

from dataclasses import fields, replace

from spoofspan.base.documents import parse_yaml
from spoofspan.base.errors import nearest_name
from spoofspan.data.rules import RULES
from spoofspan.evaluation.signature_text import is_signature
from spoofspan.measures.measure import Measure, check_eer_rule, in_percent
from spoofspan.report.published import Published

REQUIRED = ("name", "source", "data", "system", "values")


def checked_row(path):
    """The row of a file; ValueError where it is no such row: a key, a measure, a rule or a value that cannot be."""
    row = parse_yaml(path.read_text(encoding="utf-8"))
    check(row)
    return Published(**row)


def check(row):
    known = [one.name for one in fields(Published)]
    for name, value in row.items():
        if name not in known:
            raise ValueError(f"unknown key {name!r}: {nearest_name(name, known)}")
        kind = {"values": dict, "rules": dict, "hop": int | float}.get(name, str)
        if not isinstance(value, kind) or value == "":
            wanted = {str: "text", dict: "a key with lines below it"}.get(kind, "a number")
            raise ValueError(f"{name} must be {wanted}")
    if missing := [name for name in REQUIRED if name not in row]:
        raise ValueError(f"{', '.join(missing)} must be given")
    if not 0 < row.get("hop", 1) <= 10:
        raise ValueError("hop is in seconds, such as 0.02")
    for name, value in row["values"].items():
        measure = Measure.parse(name)
        if str(measure) != name:
            raise ValueError(f"write the measure {name} as {measure}")
        highest = 100 if in_percent(name) else float("inf")
        if isinstance(value, str) or not 0 <= value <= highest:
            raise ValueError(f"{name}: {value} must be a number from 0 to {highest:g}")
        if row.get("convention"):
            replace(Published(**row), eer_rule="").known_rules(measure.basis)
    for name, value in row.get("rules", {}).items():
        if name not in RULES:
            raise ValueError(f"unknown rule {name!r}: {nearest_name(name, RULES)}")
        RULES[name].check(value)
    if "eer_rule" in row:
        check_eer_rule(row["eer_rule"])
    if row.get("label_sources", "one") not in ("one", "nii-2023"):
        raise ValueError("label_sources must be one or nii-2023")
    if "signature" in row and not is_signature(row["signature"]):
        raise ValueError("signature must be one that spoofspan printed")
