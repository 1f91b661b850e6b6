"""A description of any file: its content, its writers, what it leaves open, and the command that takes it.

Formats of references, scores and proposals are those of the registries, which the file is read with. Everything else
that people have lying around (keys, durations, regions, sound, models, archives, results) is told by its first bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from spoofspan.base.errors import DataError, SpoofspanError, UsageError
from spoofspan.base.times import milliseconds
from spoofspan.data.references import References
from spoofspan.formats.format import Format, ReadOptions, first_with_content
from spoofspan.formats.identify import KINDS, LABELS, Contents
from spoofspan.formats.other_files import OTHERS, OtherFile
from spoofspan.formats.reading import read_with
from spoofspan.formats.recognition import first_lines, text_of
from spoofspan.formats.sources import GZIP, ZSTD, Source, Where, typed_name
from spoofspan.formats.text.protocol import read_utterance_labels
from spoofspan.formats.text.utterance_tables import (
    BINARY,
    FORMS,
    has_only_labels,
    layout_of,
    recognises_utterance_labels,
)

# What stands in a command for what the file does not say, and what it is read with to see the rest.
ASKED: dict[str, tuple[str, Any]] = {
    "hop": ("--hop SECONDS", 0.02),
    "higher": ("--higher bonafide|spoof", "bonafide"),
    "spoof_label": ("--spoof-label 0|1", 1),
    "durations": ("--durations RECO2DUR", None),
    "column": ("--column NAME", None),
    "gaps": ("--gaps bonafide", None),  # of references that list one class only
}
ALSO = ("durations", "scores of a speaker verification system")  # what labels or scores may be too
COMMANDS = {
    "references": "spoofspan eval {file} SCORES",
    "scores": "spoofspan eval REFERENCES {file}",
    "proposals": "spoofspan eval REFERENCES {file} -m event-ap@iou=0.5",
    "utterance scores": "spoofspan eval KEY {file}",
    LABELS: "spoofspan eval {file} SCORES",
}


@dataclass(frozen=True)
class Description:
    """Description of a file."""

    file: str
    kind: str  # "references", "scores", ...; or in words
    about: str = ""
    whose: str = ""
    higher: str | None = None
    hop: float | None = None
    holds: str = ""
    missing: tuple[str, ...] = ()
    command: str = ""
    problem: str = ""
    seen: str = ""  # what the first scores of each class show
    files: int = 1  # of this sort

    @property
    def named(self) -> str:
        """The file, and how many others of its sort there are."""
        return self.file if self.files == 1 else f"{self.file} and {self.files - 1:,} more"

    @property
    def facts(self) -> dict[str, str]:
        """Everything that is known, in words."""
        has_scores = self.kind in ("scores", "utterance scores")
        polarity = {None: "not stated in the file", "bonafide": "bona fide", "spoof": "spoof"}[self.higher]
        found = {
            "file": self.named,
            "content": self.kind,
            "format": self.about,
            "written by": self.whose,
            "holds": self.holds,
            "high scores mean": f"{polarity} {self.seen}".strip() if has_scores else "",
            "hop": "" if self.hop is None else milliseconds(self.hop),
            "missing": ", ".join(self.missing),
            "command": self.command,
        }
        return {name: value for name, value in found.items() if value}


def _is_text(head: bytes) -> bool:
    text = text_of(head)
    return bool(text.strip()) and re.search(r"[\x00-\x08\x0e-\x1a]", text[:200]) is None


def describe(where: Where | Sequence[Where], told: ReadOptions | None = None) -> Description:
    r"""Say what a file is, reading it as far as it can be read.

    >>> import io
    >>> describe(io.BytesIO(b"u1 0.75 spoof\nu2 0.5 bonafide\n")).missing
    ('--higher bonafide|spoof',)
    """
    contents = Contents(where)
    source = first_with_content(contents.sources)
    found = [_of_kind(kind, contents, source, told or ReadOptions()) for kind in KINDS if contents.holds(kind)]
    if contents.holds(LABELS) or (source.head.startswith(BINARY) and _has_labels(source)):
        found.append(_of_labels(source, told))
    others = [one for one in OTHERS if one.fits(source.head)]
    best = min(found, key=_rank, default=None)
    if best is not None and best.kind == "utterance scores" and ASKED["durations"][0] in best.missing:
        best = None  # numbers of utterances in a file that is called durations
    if best is not None and not best.problem:
        return _with_alternative(best, source, [one for one in others if one.kind.startswith(ALSO)])
    if others and not (best is not None and others[0].may_be_read):
        one = others[0]
        return Description(source.name, one.kind, whose=one.whose, command=one.command_for(source))
    return best if best is not None else _unknown(source)


def describe_each(where: str, found: Sequence[Source], told: ReadOptions | None = None) -> list[Description]:
    """Say what the files of a folder or glob are: all of them as one where they are read together, or else each sort.

    Files of a sort share their content, format and hop; the first of them stands for all.
    """
    registered = {*KINDS, LABELS}
    whole = describe(list(found), told)
    if whole.kind in registered and not whole.problem and not any("-format" in flag for flag in whole.missing):
        first = typed_name(first_with_content(found))
        return [replace(whole, file=where, command=whole.command.replace(first, where))]
    sorts: dict[tuple[Any, ...], Description] = {}
    for source in found:
        one = describe(source, told)
        key = one.kind, one.about if one.kind in registered else "", one.hop
        sorts[key] = replace(sorts[key], files=sorts[key].files + 1) if key in sorts else one
    return list(sorts.values())


def facts_of_several(described: Sequence[Description]) -> dict[str, str]:
    """A line for each sort of file: the first of them, what it is, and the command that takes it."""
    facts = {}
    for one in described:
        facts[one.named] = f"{one.kind}: {one.command}" if one.command else one.kind
    return facts


def _rank(one: Description) -> tuple[bool, int]:
    """Readable before refused; then the kind that needs the least to be said."""
    return bool(one.problem), ("references", "proposals", "scores", "utterance scores", LABELS).index(one.kind)


def _has_labels(source: Source) -> bool:
    layout = layout_of(source, ())
    return layout is not None and has_only_labels(layout)


def _with_alternative(best: Description, source: Source, others: list[OtherFile]) -> Description:
    """Name the other thing that labels or scores of utterances may be."""
    if not others or best.kind not in ("utterance scores", LABELS):
        return best
    also = f"{best.command}; or, if these are {others[0].kind}: {others[0].command_for(source)}"
    return replace(best, command=also)


def _of_kind(kind: str, contents: Contents, source: Source, told: ReadOptions) -> Description:
    registry = KINDS[kind]
    packed = {GZIP: ", packed with gzip", ZSTD: ", packed with zstd"}
    how = next((words for start, words in packed.items() if source.stored.startswith(start)), "")
    try:
        chosen: Format[Any] = registry.recognise_one_of(contents.sources)
    except DataError as error:
        formats = registry.fits(source)
        about = " or ".join(f"{one.name} ({one.about})" for one in formats)
        columns = [name for one in formats for name in one.columns]
        flag = "--column " if columns else f"--{registry.kind}-format "
        flag += "|".join(columns or [one.name for one in formats])
        command = f"{COMMANDS[kind].format(file=typed_name(source))} {flag}"
        return Description(source.name, kind, about or str(error), missing=(flag,), command=command)
    about, _, whose = chosen.about.rpartition(": ")
    if not about or re.search(r"[<\[{]", whose):  # a colon within a grammar
        about, whose = chosen.about, ""
    one = Description(source.name, kind, f"{chosen.name}{how}: {about}", whose, chosen.higher, chosen.hop)
    missing: dict[str, Any] = {}
    content: Any = None
    for _ in ASKED:
        try:
            content = read_with(registry, contents.sources, chosen.name, replace(told, **missing))
            break
        except UsageError as error:
            asked = [name for name in ASKED if f"{name}=" in str(error) and name not in missing]
            if not asked or ASKED[asked[0]][1] is None:
                return _told(one, kind, source, [*missing, *asked], str(error) if not asked else "")
            seen = "".join(re.findall(r"\(its first lines.*?\)", str(error)))
            one = replace(one, seen=seen or one.seen)
            missing |= {name: ASKED[name][1] for name in asked if ASKED[name][1] is not None}
        except SpoofspanError as error:
            asked = [*missing, *(["durations"] if "durations=" in str(error) else [])]
            return _told(one, kind, source, asked, str(error))
    if content is not None:
        hops = getattr(content, "hops", None)
        one = replace(
            one,
            # without what was put in to read it
            holds=re.sub(r", higher = \w+" if "higher" in missing else "$^", "", _without_times(content, missing)),
            higher=None if "higher" in missing else getattr(content, "higher", None),
            hop=float(hops[0]) if hops is not None and len(hops) and "hop" not in missing else one.hop,
        )
    asked = list(missing)
    if isinstance(content, References) and not content.names_both_classes:
        asked += [*(["durations"] if content.durations is None else []), "gaps"]
    return _told(one, kind, source, asked, "")


def _without_times(content: Any, missing: Mapping[str, Any]) -> str:
    """Content that was read, without times if these were invented to read it."""
    if "hop" not in missing:
        return repr(content)
    if isinstance(content, References):
        return f"labels of {len(content):,} utterances"
    return re.sub(r" frames of [^,)]*", " frames", repr(content))


def _told(one: Description, kind: str, source: Source, asked: list[str], problem: str) -> Description:
    """Add what must be said, and the command that says it."""
    if recognises_utterance_labels(source.head) and kind == "utterance scores":
        try:
            read_utterance_labels(source)
        except UsageError:
            asked = [*asked, "spoof_label"]
        except DataError:
            pass
    flags = dict.fromkeys(ASKED[name][0] for name in asked)
    if kind == "references":
        flags = {flag.replace("--hop", "--reference-hop"): None for flag in flags}
    if problem and not asked:
        return replace(one, problem=problem)
    command = " ".join([COMMANDS[kind].format(file=typed_name(source)), *flags])
    if kind == "utterance scores" and recognises_utterance_labels(source.head):
        command = command.replace("KEY", typed_name(source), 1)  # which has labels itself
    return replace(one, missing=tuple(flags), command=command, problem=problem)


def _of_labels(source: Source, told: ReadOptions | None) -> Description:
    layout = layout_of(source)
    form = FORMS.get(layout.form.name) if layout is not None and layout.form is not None else None
    about = form.line if form is not None else "a table with a header" if layout is not None else ""
    one = Description(source.name, LABELS, about, form.whose if form is not None else "")
    command = COMMANDS[LABELS].format(file=typed_name(source))
    try:
        labels: Mapping[str, str] = read_utterance_labels(source, None if told is None else told.spoof_label)
    except UsageError:
        flag = ASKED["spoof_label"][0]
        return replace(one, missing=(flag,), command=f"{command} {flag}")
    except SpoofspanError as error:
        return replace(one, problem=str(error), command=command)
    counts = {word: list(labels.values()).count(word) for word in dict.fromkeys(labels.values())}
    holds = ", ".join(f"{count:,} {word}" for word, count in counts.items())
    return replace(one, holds=f"{len(labels):,} utterances or trials: {holds}", command=command)


def _unknown(source: Source) -> Description:
    """A file that nothing here knows, with what its beginning looks like."""
    head, suffix = source.head, Path(source.name).suffix
    if _is_text(head):
        first = ascii(first_lines(head)[0][:100])
        about = f"text whose first line is {first}"
        problem = (
            "no format fits; if it holds scores or labels, write them as a table with the columns utterance, start, "
            "end, score or label (docs/formats.md lists all formats)"
        )
    else:
        about, problem = (
            f"binary data that begins with {head[:16].hex(' ')}",
            "no format fits; convert it with its own tool",
        )
    return Description(
        source.name, f"unknown{f' ({suffix})' if suffix else ''}", about, problem=f"{source.name}: {problem}"
    )
