"""A description of any file: its content, its writers, what it leaves open, and the command that takes it.

Formats of references, scores and proposals are those of the registries, which the file is read with. Everything else
that people have lying around (keys, durations, regions, sound, models, archives, results) is told by its first bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from spoofspan.base.errors import DataError, SpoofspanError, UsageError
from spoofspan.base.times import milliseconds
from spoofspan.data.references import References
from spoofspan.formats.format import Format, ReadOptions, first_with_content, text_of
from spoofspan.formats.identify import KINDS, LABELS, Contents
from spoofspan.formats.reading import read_with
from spoofspan.formats.sources import GZIP, ZSTD, Source, Where
from spoofspan.formats.text.lines import first_lines, is_finite, is_number
from spoofspan.formats.text.protocol import has_only_labels, read_utterance_labels, recognises_utterance_labels
from spoofspan.formats.text.utterance_tables import FORMS, header_layout, layout_of

# What stands in a command for what the file does not say, and what it is read with to see the rest.
ASKED: dict[str, tuple[str, Any]] = {
    "hop": ("--hop SECONDS", 0.02),
    "higher": ("--higher bonafide|spoof", "bonafide"),
    "spoof_label": ("--spoof-label 0|1", 1),
    "durations": ("--durations RECO2DUR", None),
    "column": ("--column NAME", None),
    "gaps": ("--gaps bonafide", None),  # of references that list one class only
}
COMMANDS = {
    "references": "spoofspan eval {file} SCORES",
    "scores": "spoofspan eval REFERENCES {file}",
    "proposals": "spoofspan eval REFERENCES {file} -m event-ap@iou=0.5",
    "utterance scores": "spoofspan eval KEY {file}",
    LABELS: "spoofspan eval {file} SCORES",
}


@dataclass(frozen=True)
class Description:
    """What a file is."""

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
    def facts(self) -> dict[str, str]:
        """Everything that is known, in words."""
        has_scores = self.kind in ("scores", "utterance scores")
        polarity = {None: "not stated in the file", "bonafide": "bona fide", "spoof": "spoof"}[self.higher]
        found = {
            "file": self.file,
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


@dataclass(frozen=True)
class Other:
    """Files that are no references and no scores, told by their first bytes."""

    kind: str
    whose: str
    command: str
    fits: Callable[[bytes], bool]


def _begins(*starts: bytes) -> Callable[[bytes], bool]:
    return lambda head: head.startswith(starts)


def _lines_fit(head: bytes, *fields: Callable[[str], bool]) -> bool:
    """Whether all of the first lines have these fields."""
    rows = [line.split() for line in first_lines(head) if not line.startswith(";;")]
    return bool(rows) and all(
        len(row) == len(fields) and all(test(field) for test, field in zip(fields, row, strict=True)) for row in rows
    )


def _any(field: str) -> bool:
    return True


def _word(field: str) -> bool:
    return not is_number(field)


def _seconds(field: str) -> bool:
    return is_finite(field) and float(field) >= 0


def _json_with(*keys: str) -> Callable[[bytes], bool]:
    return lambda head: head.lstrip()[:1] == b"{" and all(f'"{key}"'.encode() in head for key in keys)


def _is_word_table(head: bytes) -> bool:
    layout = [name.strip().lower() for name in "".join(first_lines(head)[:1]).split(",")]
    return {"begin", "end", "label", "type"} <= set(layout)


def _is_metadata(head: bytes) -> bool:
    layout = header_layout(head)
    return layout is not None and not layout.json


def _is_text(head: bytes) -> bool:
    text = text_of(head)
    return bool(text.strip()) and re.search(r"[\x00-\x08\x0e-\x1a]", text[:200]) is None


WORDS_COMMAND = (
    "awk '{{print $1, $2, $3, $3 + $4}}' {file} > words.uem && spoofspan eval REFERENCES SCORES --regions words.uem"
)
OTHERS = (
    Other("an empty file", "", "", lambda head: not head.strip()),
    Other(
        "sound",
        "recorders, speech corpora",
        "spoofspan locate {file} --model MODEL",
        lambda head: (
            head[:4] in (b"fLaC", b"OggS", b"RF64", b"FORM", b"NIST")
            or (head[:4] == b"RIFF" and head[8:12] == b"WAVE")
            or head[:3] == b"ID3"
            or head[4:8] == b"ftyp"
            or head[:2] in (b"\xff\xfb", b"\xff\xf3", b"\xff\xf1")
        ),
    ),
    Other(
        "model weights (safetensors)",
        "Hugging Face, spoofspan cm train",
        "spoofspan cm info FOLDER",
        lambda head: head[8:9] == b"{" and int.from_bytes(head[:8], "little") < 1 << 27,
    ),
    Other("a tar archive", "tar", "tar -xf {file}", lambda head: head[257:262] == b"ustar"),
    Other("a zip archive", "zip", "unzip {file}", _begins(b"PK\x03\x04")),
    Other("a file packed with xz", "xz", "xz -dk {file}", _begins(b"\xfd7zXZ")),
    Other("a file packed with bzip2", "bzip2", "bzip2 -dk {file}", _begins(b"BZh")),
    Other("a 7z archive", "7-Zip", "7z x {file}", _begins(b"7z\xbc\xaf")),
    Other(
        "an HDF5 or MATLAB file",
        "h5py, MATLAB",
        "python -c \"import h5py, numpy; numpy.savez('scores.npz', **{{k: v[()] for k, v in "
        "h5py.File('{file}').items()}})\"",
        _begins(b"\x89HDF", b"MATLAB 5.0"),
    ),
    Other(
        "one array, without the names of utterances",
        "numpy.save",
        "python -c \"import numpy; numpy.savez('scores.npz', UTTERANCE=numpy.load('{file}'))\"",
        _begins(b"\x93NUMPY"),
    ),
    Other(
        "a pickle",
        "pickle.dump",
        "spoofspan eval REFERENCES {file} --hop SECONDS --higher bonafide|spoof",
        _begins(b"\x80"),
    ),
    Other("a picture", "", "", _begins(b"\x89PNG", b"\xff\xd8\xff", b"%PDF", b"GIF8")),
    Other(
        "results of spoofspan",
        "spoofspan eval --format json",
        "spoofspan verify {file} REFERENCES SCORES",
        _json_with("spoofspan", "measurements"),
    ),
    Other(
        "a fusion of several systems",
        "spoofspan fuse",
        "spoofspan fuse --apply {file} SCORES SCORES --out FUSED",
        lambda head: _json_with("spoofspan_calibration")(head) and b'fusion"' in head,
    ),
    Other(
        "a calibration of one system",
        "spoofspan calibrate",
        "spoofspan calibrate --apply {file} SCORES --out CALIBRATED",
        _json_with("spoofspan_calibration"),
    ),
    Other(
        "a published result, without scores",
        "the Speech Anti-Spoofing Arena (result.yaml), Hugging Face (.eval_results, model-index)",
        "",
        lambda head: b"eer_percent" in head or b"model-index" in head,
    ),
    Other(
        "scores of a speaker verification system",
        "ASVspoof",
        "spoofspan eval KEY SCORES --asv-scores {file} -m utterance-min-tdcf",
        lambda head: _lines_fit(head, _any, {"target", "nontarget", "spoof"}.__contains__, is_number),
    ),
    Other(
        "scores of a speaker verification system",
        "ASVspoof 5",
        "spoofspan eval KEY SCORES --asv-scores {file} -m utterance-min-tdcf",
        lambda head: (layout := header_layout(head)) is not None and "asv-score" in layout.names,
    ),
    Other(
        "words in time (CTM), without labels",
        "NIST, Kaldi, Montreal Forced Aligner",
        WORDS_COMMAND,
        lambda head: (
            _lines_fit(head, _any, _any, _seconds, _seconds, _word)
            or _lines_fit(head, _any, _any, _seconds, _seconds, _word, is_number)
        ),
    ),
    Other(
        "words or phones in time, without labels",
        "Montreal Forced Aligner (CSV)",
        'awk -F, \'NR > 1 && $4 == "words" {{print "UTTERANCE", 1, $1, $2}}\' {file} > words.uem && spoofspan eval '
        "REFERENCES SCORES --regions words.uem",
        _is_word_table,
    ),
    Other(
        "regions that count (UEM)",
        "NIST, PartialSpoof",
        "spoofspan eval REFERENCES SCORES --regions {file}",
        lambda head: _lines_fit(head, _word, _any, _seconds, _seconds) or _lines_fit(head, _word, _seconds, _seconds),
    ),
    Other(
        "durations (reco2dur)",
        "Kaldi, PartialSpoof",
        "spoofspan eval REFERENCES SCORES --durations {file}",
        lambda head: _lines_fit(head, _word, lambda field: is_finite(field) and float(field) > 0),
    ),
    Other(
        "metadata", "pandas and others", "spoofspan eval REFERENCES SCORES --metadata {file} --by COLUMN", _is_metadata
    ),
    Other("UTF-16 text", "Windows", "iconv -f utf-16 -t utf-8 {file} > text.txt", _begins(b"\xff\xfe", b"\xfe\xff")),
)


def describe(where: Where | Sequence[Where], told: ReadOptions | None = None) -> Description:
    r"""Say what a file is, reading it as far as it can be read.

    >>> import io
    >>> describe(io.BytesIO(b"u1 0.75 spoof\nu2 0.5 bonafide\n")).missing
    ('--higher bonafide|spoof',)
    """
    contents = Contents(where)
    source = first_with_content(contents.sources)
    found = [_of_kind(kind, contents, source, told or ReadOptions()) for kind in KINDS if contents.holds(kind)]
    if contents.holds(LABELS) or (source.head.startswith((b"PAR1", b"ARROW1")) and _has_labels(source)):
        found.append(_of_labels(source, told))
    others = [one for one in OTHERS if one.fits(source.head)]
    best = min(found, key=_rank, default=None)
    if best is not None and not best.problem:
        return _with_alternative(best, [one for one in others if one.kind.startswith("durations")])
    if others and not (best is not None and others[0].kind in ("a zip archive", "a pickle", "metadata")):
        one = others[0]
        return Description(source.name, one.kind, whose=one.whose, command=one.command.format(file=_typed(source)))
    return best if best is not None else _unknown(source)


def describe_each(where: str, found: Sequence[Source], told: ReadOptions | None = None) -> list[Description]:
    """Say what the files of a folder or glob are: all of them as one where they are read together, or else each sort.

    Files of a sort share their content, format and hop; the first of them stands for all.
    """
    registered = {*KINDS, LABELS}
    whole = describe(list(found), told)
    if whole.kind in registered and not whole.problem and not any("-format" in flag for flag in whole.missing):
        first = _typed(first_with_content(found))
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
        name = one.file if one.files == 1 else f"{one.file} and {one.files - 1:,} more"
        facts[name] = f"{one.kind}: {one.command}" if one.command else one.kind
    return facts


def _rank(one: Description) -> tuple[bool, int]:
    """Readable before refused; then the kind that needs the least to be said."""
    return bool(one.problem), ("references", "proposals", "scores", "utterance scores", LABELS).index(one.kind)


def _has_labels(source: Source) -> bool:
    layout = layout_of(source, ())
    return layout is not None and has_only_labels(layout)


def _with_alternative(best: Description, others: list[Other]) -> Description:
    """Name the other thing that two columns may be."""
    if not others or best.kind != "utterance scores":
        return best
    also = f"{best.command}; or, if these are {others[0].kind}: {others[0].command.format(file=best.file)}"
    return replace(best, command=also)


def _typed(source: Source) -> str:
    """The name of a file as it is typed."""
    if source.name == "<stdin>":
        return "-"
    return source.name if re.fullmatch(r"[\w./@%+=:,~-]+", source.name) else f"'{source.name}'"


def _of_kind(kind: str, contents: Contents, source: Source, told: ReadOptions) -> Description:
    registry = KINDS[kind]
    packed = {GZIP: ", packed with gzip", ZSTD: ", packed with zstd"}
    how = next((words for start, words in packed.items() if source.stored.startswith(start)), "")
    try:
        chosen: Format[Any] = registry.recognise_one_of(contents.sources)
    except DataError as error:
        formats = registry.fits(source)
        flag = f"--{registry.kind}-format {'|'.join(one.name for one in formats)}"
        command = f"{COMMANDS[kind].format(file=_typed(source))} {flag}"
        return Description(source.name, kind, str(error), missing=(flag,), command=command)
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
            return _told(one, kind, source, list(missing), str(error))
    if content is not None:
        known = {name: getattr(content, name, None) for name in ("higher",)}
        hops = getattr(content, "hops", None)
        one = replace(
            one,
            # without what was put in to read it
            holds=re.sub(r", higher = \w+" if "higher" in missing else "$^", "", _without_hop(repr(content), missing)),
            higher=None if "higher" in missing else known["higher"],
            hop=float(hops[0]) if hops is not None and len(hops) and "hop" not in missing else one.hop,
        )
    asked = list(missing)
    if isinstance(content, References) and not content.names_both_classes:
        asked += [*(["durations"] if content.durations is None else []), "gaps"]
    return _told(one, kind, source, asked, "")


def _without_hop(text: str, missing: Mapping[str, Any]) -> str:
    return re.sub(r" frames of [^,)]*", " frames", text) if "hop" in missing else text


def _told(one: Description, kind: str, source: Source, asked: list[str], problem: str) -> Description:
    """Add what must be said, and the command that says it."""
    flags = dict.fromkeys(ASKED[name][0] for name in asked)
    command = " ".join([COMMANDS[kind].format(file=_typed(source)), *flags])
    if kind == "utterance scores" and recognises_utterance_labels(source.head):
        command = command.replace("KEY", _typed(source), 1)  # which has labels itself
    return replace(one, missing=tuple(flags), command=command, problem=problem)


def _of_labels(source: Source, told: ReadOptions | None) -> Description:
    layout = layout_of(source)
    form = FORMS.get(layout.form.name) if layout is not None and layout.form is not None else None
    about = form.line if form is not None else "a table with a header" if layout is not None else ""
    one = Description(source.name, LABELS, about, form.whose if form is not None else "")
    command = COMMANDS[LABELS].format(file=_typed(source))
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
