"""The formats by name: how each is recognised, read and written.

A reader turns sources into what they hold (References, Scores, ...), once; a writer turns that into bytes. Everything
else (packing, folders, standard input, half-written files) is handled outside the formats.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from spoofspan.base.errors import DataError, UsageError, nearest_name
from spoofspan.data.rules import RULES, Modality
from spoofspan.data.scores import Higher, check_higher
from spoofspan.formats.file_names import unpacked_name
from spoofspan.formats.recognition import Recognises, text_of
from spoofspan.formats.sources import Source

if TYPE_CHECKING:
    from spoofspan.formats.tables.corpus_tables import Part

T = TypeVar("T")  # what a format holds
# What a file may leave open, by the option that says it.
UNSAID = {
    "hop": "how long a frame is",
    "higher": "whether high scores mean bona fide or spoof",
    "durations": "how long the utterances are",
}
STATED = {"higher": "higher='bonafide' or 'spoof'"}  # how an option is given, where its value is one of few
OF_METADATA = ("split", "modality", "subset")  # options of metadata of a whole corpus; other formats refuse them
OF_REFERENCES = (*OF_METADATA, "spoof_label")  # options that formats of references refuse unless they take them


@dataclass(frozen=True)
class ReadOptions:
    """Properties of a file that it may leave unstated, so that the user has to give them."""

    durations: Mapping[str, float] | None = None  # seconds
    hop: float | None = None  # seconds
    higher: Higher | None = None
    column: str | None = None  # which column or class holds the score, where there are several
    snap: float | None = None  # seconds; None: what suits the format
    modality: Modality | None = None  # whose fakes are spoof in audio-visual metadata; None: what its benchmark ranks
    subset: str | None = None  # which files of LAV-DF count; None: all
    split: str | None = None  # which part of a corpus (train, test, ...), where one file holds several
    label2id: Mapping[str, int] | None = None  # which column of a matrix is which class
    fps: float | None = None  # frames per second of times that are frame numbers; None: they are seconds
    spoof_label: int | None = None  # which of the labels 0 and 1 means spoof, where the format does not state it

    def __post_init__(self) -> None:
        if self.spoof_label not in (None, 0, 1):
            raise UsageError(f"spoof_label must be 0 or 1, the label that means spoof, not {self.spoof_label!r}")
        if self.higher is not None:
            check_higher(self.higher)
        if self.modality is not None:
            RULES["modality"].check(self.modality)

    def words_of_digits(self, name: str) -> dict[str, str]:
        """Return the words that the labels 0 and 1 of the file ``name`` stand for, refusing them if nothing says it."""
        if self.spoof_label is None:
            raise UsageError(
                f"{name}: the labels are 0 and 1, and nothing says which of them means spoof; give spoof_label=1 if 1 "
                "means spoof, or spoof_label=0 if 0 does"
            )
        return {str(int(self.spoof_label)): "spoof", str(1 - self.spoof_label): "bonafide"}

    def refuse_unsaid(self, who: str, needs: Sequence[str]) -> None:
        """Ask for what ``who`` (a file, a format) does not say, unless the user said it."""
        if missing := [need for need in needs if getattr(self, need) is None]:
            unsaid = " and ".join(UNSAID[need] for need in missing)
            raise UsageError(
                f"{who} does not say {unsaid}; give {' and '.join(STATED.get(one, f'{one}=') for one in missing)}"
            )

    def hop_and_higher(self, who: str) -> tuple[float, Higher]:
        """The hop and what high scores mean, neither of which ``who`` says."""
        self.refuse_unsaid(who, ("hop", "higher"))
        return cast(float, self.hop), cast(Higher, self.higher)

    def class_column(self, columns: Mapping[str, int]) -> tuple[int, Higher]:
        """Choose between the columns of the two classes: the spoof column, unless ``column`` says otherwise."""
        name = "spoof" if self.column is None else self.column
        if name not in columns:
            raise UsageError(f"no column {name!r}: {nearest_name(name, columns)}")
        return columns[name], self.polarity("bonafide" if name == "bonafide" else "spoof", f"the column {name!r}")

    def polarity(self, stated: Higher, what: str) -> Higher:
        """Return what high values mean in a format, refusing a user's word against it."""
        if self.higher not in (None, stated):
            raise UsageError(
                f"high values of {what} mean {stated}, not {self.higher}; leave higher= out, or choose "
                "another column= or format"
            )
        return stated


def unsaid_in(refusal: UsageError) -> list[str]:
    """Options that a reader asks for."""
    return [name for name in UNSAID if f"{name}=" in str(refusal)]


def read_assuming(read: Callable[..., T], stated: Mapping[str, Any], usual: Mapping[str, Any]) -> T:
    """Read a file by the options ``stated``; what neither they nor the file say is as ``usual``."""
    told = dict(stated)
    while True:  # one thing after the other may turn out to be unsaid
        try:
            return read(**told)
        except UsageError as refusal:
            asked = [name for name in unsaid_in(refusal) if told.get(name) is None]
            known = {name: usual[name] for name in asked if usual.get(name) is not None}
            if not known:
                raise
        told |= known


@dataclass(frozen=True)
class Format(Generic[T]):
    """One format of one kind of content."""

    name: str
    about: str  # one line: the grammar, and whose format it is
    read: Callable[[Sequence[Source], ReadOptions], T]
    recognises: Recognises  # by the first 64 KiB, unpacked; True only if unambiguous
    write: Callable[[T], Iterable[bytes]] | None = None
    _: KW_ONLY
    suffixes: tuple[str, ...] = ()  # which files of a folder belong to it
    needs: tuple[str, ...] = ()  # options without which it cannot be read
    takes: tuple[str, ...] = ()  # options that mean something to few formats, and are refused by others
    # piece by piece, as tables of any rows in any order, for files larger than memory
    stream: Callable[[Sequence[Source], ReadOptions], Iterator[Part]] | None = None
    # where each utterance has a file of its own: the name and the content of each
    write_files: Callable[[T], Iterator[tuple[str, bytes]]] | None = None
    # a frequent mistake that files which cannot be read show, with its remedy; empty if there is none
    explain: Callable[[Sequence[Source]], str] | None = None
    columns: tuple[str, ...] = ()  # those to choose from, where every line or matrix has several; first what is read
    higher: Higher | None = None  # what high scores mean, where the format states it
    hop: float | None = None  # seconds, where the format states it
    named: str = ""  # a pattern that the name of a file must match where its content does not tell


class Registry(Generic[T]):
    """Formats of one kind, by name."""

    def __init__(self, kind: str, formats: Iterable[Format[T]]) -> None:
        self.kind = kind
        self.formats: dict[str, Format[T]] = {one.name: one for one in formats}

    def named(self, name: str) -> Format[T]:
        """Look up a format by name."""
        if name not in self.formats:
            raise UsageError(f"no {self.kind} format {name!r}: {nearest_name(name, self.formats)}")
        return self.formats[name]

    def recognise(self, source: Source, column: str | None = None) -> Format[T]:
        """Find the one format whose content this is; a ``column`` that was asked for may decide."""
        if not source.head.strip():
            raise DataError(f"{source.name}: the file is empty")
        fits = self.fits(source)
        fits = [one for one in fits if one.named] or fits
        if len(fits) > 1:  # the ending of the name decides, if it is that of one
            path = unpacked_name(source.name)
            fits = [one for one in fits if one.suffixes and path.endswith(one.suffixes)] or fits
        if len(fits) > 1:
            fits = [one for one in fits if column in one.columns] or fits
        if len(fits) == 1:
            return fits[0]
        how = f"state it with format= (--{self.kind}-format)"
        if not fits:
            wanted = _wanted(source.head, self.kind)
            raise DataError(
                f"{source.name}: no {self.kind} format is recognised; {wanted}{how}: {', '.join(self.formats)}"
            )
        could = " or ".join(f"{one.name} ({one.about})" for one in fits)
        named = " or ".join(
            f"--column {' or '.join(one.columns)} for {one.name}" for one in fits if one.columns and one.higher is None
        )
        raise DataError(f"{source.name}: could be {could}; {how}{f', or by {named}' if named else ''}")

    def recognise_one_of(
        self, sources: Sequence[Source], default: str | None = None, column: str | None = None
    ) -> Format[T]:
        """Find the format of several sources by the first that has content; without any, it is the ``default``."""
        first = first_with_content(sources)
        if default is not None and not self.fits(first):
            return self.named(default)
        try:
            return self.recognise(first, column)
        except DataError:
            for source in sources:
                fits = self.fits(source)
                if len(fits) == 1:
                    other = f"{source.name} is {fits[0].name}; {self._one_format(fits[0])}"
                    raise DataError(f"{first.name}: no {self.kind} format is recognised, but {other}") from None
            raise

    def refuse_mixture(self, chosen: Format[T], sources: Sequence[Source]) -> None:
        """Raise if a source is of another format than the chosen one: the reason why reading them as one failed."""
        for source in sources:
            fits = self.fits(source)
            if fits and chosen not in fits:
                first = first_with_content(sources)
                other = f"{source.name} is {fits[0].name}; {self._one_format(chosen)}"
                raise DataError(f"{first.name} is {chosen.name}, but {other}")

    def fits(self, source: Source) -> list[Format[T]]:
        """Formats whose content this can be; each is asked once."""
        if self not in source.look.fits:
            head = source.head
            name = unpacked_name(source.name)
            source.look.fits[self] = [
                one for one in self.formats.values() if re.search(one.named, name) and one.recognises(head)
            ]
        return source.look.fits[self]

    def _one_format(self, chosen: Format[T]) -> str:
        named = f"format={chosen.name!r} (--{self.kind}-format {chosen.name})"
        folder = f", or take the {' and '.join(chosen.suffixes)} files of a folder with {named}"
        return f"give files of one format{folder if chosen.suffixes else ''}"


def first_with_content(sources: Sequence[Source]) -> Source:
    """The first source that is not blank, which shows the format of all; the first one if all are."""
    return next((source for source in sources if source.head.strip()), sources[0])


# What a table or JSON must hold to be recognised, by kind.
COLUMNS_WANTED = {
    "reference": "utterance, start, end, label",
    "scores": "utterance, start, end, score (or utterance, frame, score)",
}
JSON_WANTED = {
    "reference": '{"utterance": "u1", "start": 0.0, "end": 1.2, "label": "bonafide"}',
    "scores": '{"utterance": "u1", "scores": [0.9, -0.4], "hop": 0.02, "higher": "bonafide"}',
}


WIDE = 8  # numbers on a line that belong to no known table


def _wanted(head: bytes, kind: str) -> str:
    """Expected layout of the file, if it is a table or JSON; empty otherwise."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "it is UTF-16 text: save it as UTF-8, or "
    if head.startswith(b"PK\x03\x04"):
        return "it is a zip archive, and no npz file: unpack it (unzip), or "
    first, second, *_ = [*text_of(head).strip().splitlines(), "", ""]
    if first.startswith(("{", "[")) and kind in JSON_WANTED:
        return f"JSON has one object a line, such as {JSON_WANTED[kind]}: write it so, or "
    fields, columns = first.split(), COLUMNS_WANTED.get(kind)
    if columns is None:
        return ""
    if len(fields) > 2 and fields[-1].endswith("%"):
        return "its numbers have a % sign: remove it, or "
    if kind == "scores" and (many := [one for one in re.split(r"[\s,;]+", first) if _ends_in_a_number(one)])[WIDE:]:
        return (
            f"its lines have {len(many)} numbers each: write a line for each frame, <utterance> <frame> <score>, or "
            "JSON {utterance: [score, ...]}, or "
        )
    if kind == "scores" and len(fields) == 3 and all(re.fullmatch(r"-?\d*\.\d+", one) for one in fields[1:]):
        return "its second column holds times: write the number of the frame there (time / hop), or "
    if len(fields) > 2 and re.search(r"\d,\d", fields[-1]):
        return "its numbers have a decimal comma: write a decimal point, or "
    if first.count(";") > 1:
        return f"it has semicolons between its columns: write commas (a table has the columns {columns}), or "
    for separator in (",", "\t"):
        if first.count(separator) > 1:
            nameless = _ends_in_a_number(first, separator)
            what = "begins without their names, by" if nameless else "has"
            do = "write them above it" if nameless else "rename them"
            return f"a table has the columns {columns}, and this one {what} {first[:200]!r}: {do}, or "
    if len(fields) > 2 and not _ends_in_a_number(first) and _ends_in_a_number(second):
        return "its first line looks like a header: remove it, or "
    if len(fields) > 2 and _ends_in_a_number(first):
        return f"write it as a table with the columns {columns}, or "
    return ""


def _ends_in_a_number(line: str, separator: str | None = None) -> bool:
    """True if the last field of a line is one."""
    try:
        float(line.split(separator)[-1])
    except (ValueError, IndexError):
        return False
    return True
