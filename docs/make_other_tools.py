"""Write the tables of coming-from.md from the golden cases: ``python docs/make_other_tools.py [--check]``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import made_pages

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests" / "golden"

CASES = ["full_cover", "ties", "short_tail", "gaps", "saturated"]
BISECTIONS = ["bisection_terminates", "bisection_crashes"]
FRAME_RUNS = {
    "frame_eer": "20 ms",
    "frame_eer_r100000": "20 ms, 100000 buckets",
    "frame_eer_zoom2": "10 ms",
    "frame_eer_zoom-2": "40 ms",
}
NOISE = 1e-9  # what double precision does to a sum is not listed


def tables() -> str:
    """All tables, one per tool."""
    parts = [range_eer_script(), wedefense(), millisecond_eer(), frame_eer(), segment_eer_script()]
    return "\n".join(parts)


def range_eer_script() -> str:
    """RangeEER.py: what its bisection left behind."""
    rows = []
    for case in CASES + BISECTIONS:
        golden = expected(case)
        exact = golden["rule_sets"]["nii_range"]["result"]["eer"]
        run = golden["tools"]["nii_RangeEER"]["own_bisection"]
        if run["outcome"] == "does not terminate":
            calls = run["first_repeated_state_at_call"]
            printed = run["best_row_written"]["eer"]
            why = f"never ends: from evaluation {calls} on it repeats itself; this is the best row it wrote"
        elif run["outcome"] == "crashes":
            printed, why = None, f"{run['error'].split(':')[0]}: the first midpoint was good enough"
        else:
            printed, why = run["eer"], f"ends after {run['evaluations']} evaluations"
        rounding = "" if printed is None else points(printed - exact)
        rows.append([f"`{case}`", percent(exact), rounding, percent(printed), why])
    return table("RangeEER.py (`nii-2023`)", ["case", "exact", "rounding", "printed", "why"], rows)


def wedefense() -> str:
    """Tabulate rangeeer.py, with either class in the first line of the RTTM."""
    rows = []
    for case in CASES:
        golden = expected(case)
        rules, tools = golden["rule_sets"]["wedefense_range"], golden["tools"]
        exact, bucketed = rules["result_without_buckets"]["eer"], rules["result_with_buckets"]["eer"]
        printed = tools["wedefense_rangeeer"]["eer"]
        swapped = tools["wedefense_rangeeer_rttm_starting_with_spoof"]["eer"]
        steps = [percent(exact), points(bucketed - exact), points(printed - bucketed), percent(printed)]
        rows.append([f"`{case}`", *steps, percent(swapped)])
    head = ["case", "exact", "buckets", "rounding", "printed", "printed if the RTTM starts with a spoof line"]
    return table("rangeeer.py (`wedefense`)", head, rows)


def millisecond_eer() -> str:
    """Tabulate calculate_mseer.py at two numbers of buckets."""
    rows = []
    for case in CASES:
        golden = expected(case)
        ours = golden["rule_sets"]["psm_mseer_decimal_comparison"]
        lost = golden["rule_sets"]["psm_mseer"]["utterances_where_double_arithmetic_drops_one_frame_more"]
        exact = ours["result_without_buckets"]["eer"]
        for run, buckets in (("mseer", 100000), ("mseer_r8000", 8000)):
            bucketed = ours[f"result_with_buckets_{buckets}"]["eer"]
            printed = golden["tools"][f"partialspoof_metrics_{run}"]["eer"]
            steps = [percent(exact), points(bucketed - exact), points(printed - bucketed), percent(printed)]
            why = f"{len(lost)} utterances lose a whole frame" if lost else ""
            rows.append([f"`{case}`", f"{buckets} buckets", *steps, why])
    head = ["case", "run", "exact", "buckets", "rounding", "printed", "what is rounded"]
    return table("calculate_mseer.py (`partialspoof-metrics`, range-based)", head, rows)


def frame_eer() -> str:
    """Tabulate calculate_eer.py at three resolutions and two numbers of buckets."""
    rows = []
    for case in CASES:
        golden = expected(case)
        for run, name in FRAME_RUNS.items():
            ours = golden["rule_sets"]["psm_frame_decimal_comparison"][run]
            theirs = golden["rule_sets"]["psm_frame"][run]
            exact, bucketed = ours["result_without_buckets"]["eer"], ours["result_with_buckets"]["eer"]
            printed = golden["tools"][f"partialspoof_metrics_{run}"]["eer"]
            steps = [percent(exact), points(bucketed - exact), points(printed - bucketed), percent(printed)]
            spoofs = f"{ours['spoof_frames']} -> {theirs['spoof_frames']}"
            total, their_total = (r["spoof_frames"] + r["bona_fide_frames"] for r in (ours, theirs))
            rows.append([f"`{case}`", name, *steps, spoofs, f"{total} -> {their_total}"])
    head = ["case", "run", "exact", "buckets", "rounding", "printed", "spoof points", "all points"]
    return table("calculate_eer.py (`partialspoof-metrics`, point-based)", head, rows)


def segment_eer_script() -> str:
    """SegmentEER.py on `coarse`: the cells finer than the scores; the others must agree with the paper."""
    golden = expected("coarse")
    rule_sets, printed = golden["rule_sets"], golden["tools"]["nii_SegmentEER"]["eer"]
    rows, equal = [], 0
    for i, hop in enumerate(golden["rows_ms"]):
        for j, resolution in enumerate(golden["columns_ms"]):
            cell = {name: rules["eer"][i][j] for name, rules in rule_sets.items()}
            if resolution == "utt" or resolution >= hop:
                if abs(cell["paper"] - printed[i][j]) > NOISE:
                    sys.exit(f"SegmentEER.py differs from the paper at {hop} ms, {resolution} ms")
                equal += 1
                continue
            rows.append(
                [
                    f"{hop} ms",
                    f"{resolution} ms",
                    percent(cell["paper"]),
                    percent(cell["nii_segment_exact_rounding"]),
                    points(printed[i][j] - cell["nii_segment_exact_rounding"]),
                    percent(printed[i][j]),
                    points(cell["nii_segment"] - cell["nii_segment_grouped_ties"]),
                ]
            )
    head = ["scores", "points", "paper", "exact", "rounding", "printed", "split ties (in printed)"]
    note = (
        f"Case `coarse`. The other {equal} cells, points not finer than the scores, are the paper's.\n"
        "*Exact* has the ties split as the script does; the convention keeps them together.\n\n"
    )
    return table("SegmentEER.py (`nii-2023`, point-based)", head, rows, note)


def expected(case: str) -> dict[str, Any]:
    """The numbers of one golden case."""
    return json.loads((GOLDEN / case / "expected.json").read_text(encoding="utf-8"))


def percent(rate: float | None) -> str:
    """Write a rate as it appears in the tables."""
    return "nothing" if rate is None else f"{100 * rate:.4f}"


def points(difference: float) -> str:
    """Write a difference of two rates, in percentage points."""
    return "0" if abs(difference) < NOISE else f"{100 * difference:+.4f}"


def table(title: str, head: list[str], rows: list[list[str]], note: str = "") -> str:
    """Lay out one Markdown table under a heading."""
    lines = [head, ["---"] * len(head), *rows]
    return f"#### {title}\n\n{note}" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    made_pages.write(__file__, "coming-from.md", tables())
