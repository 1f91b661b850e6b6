"""Results in the form that leaderboards and model cards take: from the JSON of ``eval`` to plain data for YAML.

::

    arena              result.yaml of the Speech Anti-Spoofing Arena, which ranks the utterance EER
    hf-eval-results    .eval_results/*.yaml of a model repository on the Hugging Face hub
    model-index        the metadata of a model card on the Hugging Face hub (README.md)

Every value is in per cent where the measure is a share, as these places show it, and the signature says how it was
measured. Nothing is uploaded. ``spoofspan publish`` writes the documents.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spoofspan.base.errors import DataError, UsageError, nearest_name
from spoofspan.measures.measure import Measure, in_percent
from spoofspan.report.cells import measure_name

Plain = dict[str, Any]
ARENA_MEASURE = "utterance-eer"
COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, kw_only=True)
class PublishedSystem:
    """Facts that a leaderboard asks for besides the numbers.

    Parameters
    ----------
    system
        Name of the system.
    dataset
        The data set on the hub, ``OWNER/NAME``.
    revision
        The commit of the data set that was measured.
    split
        Which part of it.
    task
        The task of the benchmark, as its ``eval.yaml`` calls it; without it, each measure is a task of its own name.
    paper
        arXiv number of the paper.
    scores_url, scores_sha256
        Where the scores are, in a commit that does not change, and their hash.
    skipped
        Trials of the data set that have no score.
    date
        When it was measured, as 2026-11-18.
    source
        Address of a page about the result.

    """

    system: str
    dataset: str
    revision: str = ""
    split: str = "test"
    task: str = ""
    paper: str = ""
    scores_url: str = ""
    scores_sha256: str = ""
    skipped: int = 0
    date: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        """Refuse what no leaderboard would take."""
        if not re.fullmatch(r"[\w.-]+/[\w.-]+", self.dataset):
            raise UsageError(f"dataset={self.dataset!r}: must be OWNER/NAME, as on the hub")
        if self.revision and not COMMIT.fullmatch(self.revision):
            raise UsageError(f"revision={self.revision!r}: must be a commit of 40 hexadecimal digits; a branch changes")
        if self.scores_url and not re.search(rf"/resolve/{COMMIT.pattern}/", self.scores_url):
            raise UsageError(
                f"scores_url={self.scores_url!r}: must lead to a commit, as in .../resolve/COMMIT/...; a branch changes"
            )

    @property
    def slug(self) -> str:
        """The name in lower case, with hyphens."""
        return re.sub(r"[^a-z0-9]+", "-", self.system.lower()).strip("-")


def arena_result(result: Mapping[str, Any], about: PublishedSystem) -> Plain:
    """Write ``result.yaml`` of the Speech Anti-Spoofing Arena.

    Parameters
    ----------
    result
        The JSON of ``spoofspan eval``, with the utterance EER.
    about
        The system, the data set with its revision, and the scores with their hash.

    Returns
    -------
    dict
        For :func:`spoofspan.base.documents.yaml_text`.

    Examples
    --------
    >>> measured = {"measure": "utterance-eer", "value": 0.0119, "utterances": 71237, "signature": {}}
    >>> about = PublishedSystem(system="AASIST", dataset="owner/name", revision="0" * 40, scores_sha256="ab12")
    >>> arena_result({"measurements": [measured]}, about)["scores"]
    {'eer_percent': 1.19, 'n_trials': 71237, 'n_skipped': 0}

    """
    found = {one["measure"]: one for one in _measurements(result)}
    if ARENA_MEASURE not in found:
        raise UsageError(
            f"the Arena ranks the {ARENA_MEASURE}, and the result has {', '.join(found)}; eval -m {ARENA_MEASURE}"
        )
    flags = {"revision": "--revision COMMIT", "scores_sha256": "--scores FILE"}
    missing = [f"{name}= ({flag})" for name, flag in flags.items() if not getattr(about, name)]
    if missing:
        raise UsageError(f"the Arena needs {' and '.join(missing)}")
    one = found[ARENA_MEASURE]
    return {
        "schema_version": 1,
        "system": {"name": about.system, "slug": about.slug} | _given(paper=_given(arxiv_id=about.paper)),
        "dataset": {"id": about.dataset, "revision": about.revision, "split": about.split},
        "scores": {"eer_percent": _value(one), "n_trials": one["utterances"], "n_skipped": about.skipped},
        "artifact": _given(scores_url=about.scores_url, scores_sha256=about.scores_sha256),
    }


def hf_eval_results(result: Mapping[str, Any], about: PublishedSystem) -> list[Plain]:
    """Write ``.eval_results/*.yaml`` of a model repository on the Hugging Face hub: an entry for each measure.

    Examples
    --------
    >>> measured = {"measure": "range-eer", "value": 0.0521, "signature": {"comparable": "range-eer|..."}}
    >>> about = PublishedSystem(system="ours", dataset="owner/partial-spoof")
    >>> hf_eval_results({"measurements": [measured]}, about)[0]["dataset"]
    {'id': 'owner/partial-spoof', 'task_id': 'range-eer'}

    """
    found = _measurements(result)
    if about.task and len(found) > 1:
        names = ", ".join(one["measure"] for one in found)
        raise UsageError(f"the task {about.task!r} has one value, and the result has {names}; choose a measure")
    return [
        {
            "dataset": {"id": about.dataset, "task_id": about.task or one["measure"]} | _given(revision=about.revision),
            "value": _value(one),
            **_given(date=about.date, source=_given(url=about.source)),
            "notes": _how(one),
        }
        for one in found
    ]


def model_index(result: Mapping[str, Any], about: PublishedSystem) -> Plain:
    """Write the ``model-index`` of a model card on the Hugging Face hub, which stands between the lines of ``---``.

    Examples
    --------
    >>> measured = {"measure": "range-eer", "value": 0.0521, "signature": {"comparable": "range-eer|..."}}
    >>> about = PublishedSystem(system="ours", dataset="owner/partial-spoof")
    >>> written = model_index({"measurements": [measured]}, about)
    >>> written["model-index"][0]["results"][0]["metrics"][0]["name"]
    'Range EER (%)'

    """
    metrics = [
        {
            "type": one["measure"],
            "name": measure_name(one["measure"]) + (" (%)" if in_percent(one["measure"]) else ""),
            "value": _value(one),
            "args": {"signature": _signature(one)},
        }
        for one in _measurements(result)
    ]
    dataset = {"type": about.dataset, "name": about.dataset.partition("/")[2], "split": about.split}
    entry = {
        "task": {"type": "audio-classification", "name": "Spoof localization"},
        "dataset": dataset | _given(revision=about.revision),
        "metrics": metrics,
        **_given(source=_given(url=about.source)),
    }
    return {"model-index": [{"name": about.system, "results": [entry]}]}


# Name -> writer; what --to takes.
FORMS: dict[str, Callable[[Mapping[str, Any], PublishedSystem], Any]] = {
    "arena": arena_result,
    "hf-eval-results": hf_eval_results,
    "model-index": model_index,
}


def publish(result: Mapping[str, Any], form: str, about: PublishedSystem, measures: Sequence[str] = ()) -> Any:
    """Write a result, or some of its measures, as ``arena``, ``hf-eval-results`` or ``model-index`` in plain data."""
    if form not in FORMS:
        raise UsageError(f"no form {form!r}: {nearest_name(form, FORMS)}")
    found = {one["measure"]: one for one in _measurements(result)}
    for name in measures:
        if name not in found:
            raise UsageError(f"the result has no {name}, only {', '.join(found)}")
    return FORMS[form]({"measurements": [found[name] for name in measures or found]}, about)


def _measurements(result: Mapping[str, Any]) -> list[Plain]:
    """The measurements of a result, checked as far as they are used."""
    try:
        found = [dict(one) for one in result["measurements"]]
        for one in found:
            Measure.parse(one["measure"])
            if not isinstance(one["value"], float | int) or not isinstance(one["signature"], Mapping):
                raise ValueError(one["measure"])
    except (KeyError, TypeError, ValueError, UsageError):
        raise DataError("not the JSON of an evaluation with values; write one with eval --out FILE.json") from None
    if not found:
        raise DataError("the result has no measurement; write one with eval --out FILE.json")
    return found


def _value(one: Mapping[str, Any]) -> float:
    """A value as it is shown: shares in per cent, 4.13 rather than 4.130000000000001."""
    return round(100 * one["value"], 13) if in_percent(one["measure"]) else float(one["value"])


def _how(one: Mapping[str, Any]) -> str:
    """Name and unit of a value, and its signature."""
    unit = ", in %" if in_percent(one["measure"]) else ""
    return f"{measure_name(one['measure'])}{unit}; spoofspan: {_signature(one)}"


def _signature(one: Mapping[str, Any]) -> str:
    return " || ".join(str(one["signature"][name]) for name in ("comparable", "input") if name in one["signature"])


def _given(**values: Any) -> Plain:
    """Those of some values that are given."""
    return {name: value for name, value in values.items() if value}
