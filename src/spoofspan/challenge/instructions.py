"""Instructions for teams in Markdown: the README of the public part."""

from __future__ import annotations

import json
from typing import Literal

from spoofspan.challenge.definition import COUNTS, DEFINITION, DURATIONS, TIES, UTTERANCES, Definition
from spoofspan.challenge.public_part import PublicPart
from spoofspan.challenge.published_numbers import MOST_LLR
from spoofspan.challenge.submission import ABOUT
from spoofspan.data.rules import rules_for
from spoofspan.report.names import measure_name

SAMPLE = "sample_submission.zip"


def instructions(public: PublicPart) -> str:
    """Instructions for teams, in Markdown."""
    definition = public.definition
    rules = _rules(definition)
    under = f", under these rules\n(`spoofspan explain rules`):\n\n{rules}" if rules else "."
    phases = [
        f"- {one.name}" + (f", from {one.start} UTC" if one.start else "") + (f" to {one.end} UTC" if one.end else "")
        for one in definition.phases
    ]
    measures = [f"- {measure_name(one)}: `{one}`" for one in definition.measures]
    measures[0] += ", which ranks"
    if any(one.kind.needs_asv for one in definition.parsed):
        measures.append("\nThe tandem is one with a speaker verification system of the organisers, which they keep.")
    length = f", {public.seconds / 3600:.2f} hours" if public.ends.size else ""
    ids = (
        f"`{DURATIONS}` has the id and the duration (in\nseconds) of each"
        if length
        else f"`{UTTERANCES}` has their ids"
    )
    clip = ""
    if any(one.kind.declared for one in definition.parsed):
        clip = (
            f" Scores\nthat are taken at their word count as log-likelihood ratios from -{MOST_LLR:g} to {MOST_LLR:g}."
        )
    return f"""# {definition.title}

{len(public.utterances):,} utterances{length}. {ids}; `{DEFINITION}` has everything below for programs.

## What to submit

{_what_to_submit(public)}
`{SAMPLE}` is an example, made at random. At most {public.most_bytes:,} bytes, unpacked.

## Check it first

    spoofspan challenge check . my-submission.zip

says everything that is wrong with a submission. It needs no labels: what it says is what the organisers' check says.

## What is measured

{chr(10).join(measures)}

with intervals and ranks at a confidence of {100 * definition.confidence:g} %{under}

## Phases

{chr(10).join(phases)}

Submit all utterances in every phase; a phase may count some of them only.
{_policy(definition)}

Values between 0 and 1 are published with four decimals (0.01 %), all others with three significant digits.{clip}
"""


def _policy(definition: Definition) -> str:
    """Limits, deadlines, and what counts."""
    day = "" if definition.max_per_day is None else f", {definition.max_per_day:,} on one day (UTC)"
    lines = [f"- At most {definition.max_submissions:,} submissions of a team are scored in a phase{day}."]
    lines.append("- What the check refuses is not counted, and replaces no valid submission.")
    if definition.grace and any(one.end for one in definition.phases):
        lines.append(f"- A phase takes submissions for {definition.grace:,} minutes after its end.")
    lines += [f"- {text[0].upper()}{text[1:]}." for text in (COUNTS[definition.counts], TIES[definition.ties])]
    for name in definition.optional:
        lines.append(f"- `{name}` is optional: a team that states no threshold is not measured by it.")
    if definition.contact:
        lines.append(f"- Questions: {definition.contact}")
    return "\n".join(lines)


def _rules(definition: Definition) -> str:
    """The rules a line; of submissions that are not in time, those that were stated."""
    spelled = {name: str(value) for name, value in definition.rules.items()}
    if definition.takes_timed_scores:
        basis: Literal["range", "point"] = "range" if definition.submissions == "scores" else "point"
        rules, eer_rule = rules_for(basis, definition.convention, definition.rules)
        spelled = {**rules.spelled(basis), "EER rule": definition.eer_rule or eer_rule}
        if not rules.collar:
            del spelled["collar_edges"]
    hidden = ("snap", "regions", "partial")  # of the hidden part, or always the same
    return "\n".join(f"- {name}: {value}" for name, value in spelled.items() if name not in hidden)


def _what_to_submit(public: PublicPart) -> str:
    definition = public.definition
    at = [f"`{one}`" for one in definition.parsed if definition.takes_threshold(one)]
    threshold = f"""`threshold` is yours for {", ".join(at)}, chosen on other data.\n""" if at else ""
    if definition.submissions == "proposals":
        frames = f" Times are frames, {definition.fps:g} a second." if definition.fps is not None else ""
        return f"""Ranges that you believe to be spoofed, each with a confidence (high = spoof), in one file: JSON
`{{"<utterance>": [[confidence, start, end], ...]}}`, or CSV with the columns `utterance,start,end,confidence`, in
seconds.{frames} What is spoofed in an utterance without proposals counts as missed. Submit the file alone, or in a zip
archive."""
    if definition.submissions == "utterance-scores":
        several = any(" " in utt for utt in public.utterances)
        trial = "trial (`spk`, `filename`)" if several else "utterance (`filename`)"
        more = f" Beside it, `{ABOUT}` has {json.dumps({'threshold': 0.5})}: {threshold}" if at else ""
        return f"""One score for every {trial}, in one file: `cm-score` under a header, with tabs between the columns,
high = bona fide; or another format that spoofspan reads. Submit the file alone, or in a zip archive.{more}"""
    about: dict[str, object] = {"hop": 0.02, "higher": "bonafide", "threshold": 0.5}
    what, means = "Scores", ", `higher` says whether high scores mean `bonafide` or `spoof`"
    stated = [f"`{name}` is {value}" for name, value in definition.usual.items() if value is not None]
    if definition.submissions == "boundary-scores":
        what, means = "Scores of boundaries, high where spoof begins or ends,", ""
        stated = [f"`hop` is {definition.hop}"] if definition.hop is not None else []
        del about["higher"]
    if not at:
        del about["threshold"]
    unless = f" Where it says nothing: {', '.join(stated)}." if stated else ""
    return f"""{what} for all of the time of every utterance, in one file of any format that spoofspan reads:
`<utterance> <frame> <score>` a line, Parquet, npz, Kaldi archives and others. Submit the file alone, or a zip archive
of the file and `{ABOUT}`, which says what the file does not:

    {json.dumps(about)}

`hop` is the spacing of the scores in seconds{means}.{unless}
{threshold}"""
