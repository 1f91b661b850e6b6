"""The PartialSpoof database by its folder: ``partialspoof:FOLDER:SET``, where SET is train, dev or eval.

The official layout; FOLDER is ``database`` or the folder around it::

    database/
      eval/eval.lst                                   utterances, one a line; also in eval/con_data/
      eval/con_data/rttm_2cls_0sil[_spoof]            ranges; the _spoof file lists spoofs only
      eval/con_data/reco2dur                          durations
      protocols/PartialSpoof_LA_cm_protocols/PartialSpoof.LA.cm.eval.trl.txt
      segment_labels/eval_seglab_{0.01,...,0.64}.npy  labels at each resolution; or .npz, without pickles
    anywhere, or in a folder of results:
      eval_score_ali_{2,...,64}_{date}.pkl            scores; the number is the hop in units of 10 ms

A file that is not in its place is looked for by its name. The utterances of the set are those of the list and the
protocol, which must agree. Utterances that a ``_spoof`` file does not name belong to it as well: they have no range,
and the rule ``gaps`` says what that means.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from spoofspan.base.columns import utterance_of_rows
from spoofspan.base.errors import DataError, Problems, SpoofspanWarning, UsageError, nearest_name, warn_user
from spoofspan.base.times import milliseconds
from spoofspan.data.protocol import Protocol
from spoofspan.data.references import SPOOF, References
from spoofspan.data.rules import Modality
from spoofspan.data.scores import Scores
from spoofspan.formats.datasets.folders import one_file_databases, read_folder
from spoofspan.formats.file_names import SCORE_ALI_PER_SECOND, unpacked_name
from spoofspan.formats.reading import read_references, read_scores
from spoofspan.formats.sources import sources
from spoofspan.formats.text.durations import read_durations
from spoofspan.formats.text.protocol import read_protocol

NAME = "partialspoof"
# The first that is there is the default. Corpora of `spoofspan corpus build` have one that names the attacks as well.
RTTM_NAMES = ("rttm_attacks", "rttm_2cls_0sil", "rttm_2cls_0sil_spoof")
SEGMENT_FILE = re.compile(r"_seglab_([0-9]+(?:\.[0-9]+)?)\.(npy|npz)")
SEGMENT_LABELS = "segment_labels"
AUDIO_FOLDERS = ("con_wav",)  # a hundred thousand files that nobody needs to look through
DEEPEST = 6  # folders below the one that is searched
PACKED = r"(?:\.gz|\.zst)?"

Column = Literal["speaker", "attack", "label"]


@dataclass(frozen=True)
class Dataset:
    """One set of a database: references, what the protocol says, and where everything was found.

    Attributes
    ----------
    spec
        What was asked for, ``partialspoof:FOLDER:SET``.
    references
        The references of the utterances of the set.
    protocol
        Speaker, attack and label of each utterance; None if there is no protocol.
    files
        The files that were read, by what they hold: "labels", "durations", "list", "protocol".
    folder, subset
        The folder and the set of ``spec``.

    Examples
    --------
    See :func:`spoofspan.read_dataset`.

    """

    spec: str
    references: References
    protocol: Protocol | None
    files: Mapping[str, Path]  # by what they hold
    folder: Path
    subset: str

    def about(self) -> str:
        """Number of utterances, and the files they were read from."""
        found = "".join(f"\n  {what}: {path}" for what, path in self.files.items())
        return f"{self.spec}: {len(self.references):,} utterances{found}"

    def by_utterance(self, column: Column) -> dict[str, str | None]:
        """The speaker, the attack (None: bona fide or not named) or the label of each utterance."""
        if self.protocol is None:
            raise DataError(
                f"{self.spec}: no protocol was found, so the {column} of an utterance is not known; "
                "put the protocol of the set into the folder, as PartialSpoof has it"
            )
        values: Iterable[str | None] = getattr(self.protocol, column)
        return dict(zip(self.protocol.utterance, values, strict=True))

    def scores_by_resolution(self, where: str | Path | None = None) -> dict[float, list[Path]]:
        """The score files of the set by their hop in seconds: in the database, or in another folder."""
        folder = self.folder if where is None else Path(where).expanduser()
        name = re.compile(rf"{re.escape(self.subset)}_score_ali_([0-9]+)(?:_.*)?\.pkl{PACKED}")
        found: dict[float, list[Path]] = {}
        for path in sorted(files_below(folder)):
            if (match := name.fullmatch(path.name)) is not None and int(match[1]):
                found.setdefault(int(match[1]) / SCORE_ALI_PER_SECOND, []).append(path)
        return dict(sorted(found.items()))

    def scores_path(self, hop: float | None = None, where: str | Path | None = None) -> Path | None:
        """The one score file of a hop, in the database or in another folder; None if there is no score file at all."""
        if not (found := self.scores_by_resolution(where)):
            return None
        known = ", ".join(map(milliseconds, found))
        if hop is None and len(found) > 1:
            raise UsageError(
                f"there are scores of the set {self.subset!r} at {known}; choose one with hop= (--hop {min(found):g})"
            )
        chosen = [paths for one, paths in found.items() if hop is None or abs(one - hop) < 1e-9]
        if not chosen:
            raise UsageError(
                f"there are no scores of {self.subset!r} at {hop:g} s, only at {known}; give another hop= (--hop)"
            )
        if len(chosen[0]) > 1:
            listed = "".join(f"\n  {path}" for path in chosen[0])
            raise UsageError(f"several score files have the same hop; give one of them by its name:{listed}")
        return chosen[0][0]

    def scores(self, hop: float | None = None, where: str | Path | None = None) -> Scores:
        """Read the scores of a hop (seconds), from the database or from another folder."""
        if (path := self.scores_path(hop, where)) is None:
            raise DataError(
                f"there is no {self.subset}_score_ali_*.pkl in {self.folder if where is None else where}; "
                "give the folder of the results"
            )
        return read_scores(path)


def read_dataset(
    spec: str,
    *,
    source: str | None = None,
    snap: float | None = None,
    modality: Modality | None = None,
    subset: str | None = None,
) -> Dataset:
    """Read one set of a database by its folder: ``read_dataset("partialspoof:database:eval")``.

    Parameters
    ----------
    spec
        ``partialspoof:FOLDER:SET``; or ``av-deepfake1m``, ``had``, ``lav-df``, ``llamapartialspoof`` in its place.
    source
        The labels: the name of an RTTM file, or ``segment_labels@20ms``; otherwise the RTTM with both classes.
    snap
        How far rounded edges may miss each other, in seconds; otherwise what suits the labels.
    modality, subset
        Of audio-visual databases, as in :func:`spoofspan.read_references`.

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        If a file is missing, or list, protocol, durations and labels contradict each other.
    UsageError
        If there is no such folder or no such source.

    Examples
    --------
    >>> dataset = read_dataset("partialspoof:database:eval")  # doctest: +SKIP
    >>> ss.range_eer(dataset.references, dataset.scores(hop=0.02))  # doctest: +SKIP

    """
    name, folder, part = _parse(spec)
    if name != NAME:
        if source is not None:
            raise UsageError(f"{spec}: {name} has one kind of labels; leave source= (--reference-source) out")
        labels, references = read_folder(name, folder, part, snap=snap, modality=modality, subset=subset)
        return Dataset(spec, references, None, {"labels": labels}, folder, part)
    if modality is not None or subset is not None:
        raise UsageError(f"{spec}: {NAME} is sound alone; leave modality= and subset= (--modality, --subset) out")
    found = _Folder(folder, part)
    listed, protocol = found.one_of(LIST), found.one_of(PROTOCOL)
    if listed is None and protocol is None:
        others = [name for name in found.other_sets() if name != found.subset]
        hint = f"; the sets there: {', '.join(others)}" if others else ""
        raise DataError(
            f"{spec}: neither the list nor the protocol of the set {found.subset!r} is there{hint}\n"
            f"  list: {found.sought(LIST)}\n  protocol: {found.sought(PROTOCOL)}"
        )
    labels, durations = _choose_labels(found, source), found.one_of(DURATIONS)
    segments = SEGMENT_FILE.search(labels.name)
    if segments is None and durations is None:
        raise DataError(f"{spec}: there is no reco2dur of the set {found.subset!r}; {found.sought(DURATIONS)}")
    said = None if protocol is None else read_protocol(protocol)
    utterances = _utterances(listed, protocol, said)
    known = None if durations is None else read_durations(durations)
    if known is not None:
        without = [utt for utt in utterances if utt not in known]
        _refuse("complete the durations", {f"has no duration in {durations}": without})
    form = "rttm" if segments is None else {"npy": "segment-labels", "npz": "npz"}[segments[2]]
    hop = None if segments is None else float(segments[1])
    spoof_label = None if segments is None else 0
    references = read_references(labels, durations=known, format=form, hop=hop, snap=snap, spoof_label=spoof_label)
    references = _of_the_set(references, utterances, labels, listed or protocol)
    _check_ranges(references, labels, said, must_have=segments is not None)
    files = {"labels": labels, "durations": durations, "list": listed, "protocol": protocol}
    there = {what: path for what, path in files.items() if path is not None}
    return Dataset(spec, references, said, there, found.folder, found.subset)


def _parse(spec: str) -> tuple[str, Path, str]:
    """Take ``partialspoof:FOLDER:SET`` apart; FOLDER may have a colon of its own (``C:``)."""
    name, _, rest = spec.partition(":")
    path, _, subset = rest.rpartition(":")
    if name not in (NAME, *one_file_databases()):
        raise UsageError(
            f"{spec!r}: no dataset is called {name!r}: {nearest_name(name, [NAME, *one_file_databases()])}"
        )
    if not path or not re.fullmatch(r"[\w.-]+" if name != NAME else r"[\w-]+", subset):
        raise UsageError(f"{spec!r}: write {name}:FOLDER:SET, for example {name}:{rest or 'database'}:eval")
    folder = Path(path).expanduser()
    if not folder.is_dir():
        raise UsageError(f"{spec!r}: there is no folder {path!r}")
    return name, folder, subset


# ---------------------------------------------------------------- finding files


@dataclass(frozen=True)
class _Part:
    """A kind of file: its places in the official layout, and its name if it is elsewhere. ``{set}`` is filled in."""

    what: str
    places: tuple[str, ...]
    name: str
    names_set: bool  # if not, a folder above it must


LIST = _Part("list", ("{set}/{set}.lst", "{set}/con_data/{set}.lst"), r"{set}\.lst", True)
PROTOCOL = _Part(
    "protocol",
    ("protocols/PartialSpoof_LA_cm_protocols/PartialSpoof.LA.cm.{set}.trl.txt",),
    r"PartialSpoof\.LA\.cm\.{set}\.tr[ln]\.txt",
    True,
)
DURATIONS = _Part("durations", ("{set}/con_data/reco2dur", "{set}/reco2dur"), "reco2dur", False)
RTTM = _Part("RTTM", ("{set}/con_data/rttm_*", "{set}/rttm_*"), r"rttm_\w+|.*\.rttm", False)
SEGMENTS = _Part(
    "segment labels", ("segment_labels/{set}_seglab_*.np[yz]",), r"{set}_seglab_[0-9]+(?:\.[0-9]+)?\.np[yz]", True
)


@dataclass(frozen=True)
class _Folder:
    """The files of one set in a folder."""

    folder: Path
    subset: str

    @cached_property
    def _everything(self) -> list[Path]:
        return sorted(files_below(self.folder))

    def all_of(self, part: _Part) -> list[Path]:
        """Files in the official place, or else those of that name anywhere."""
        for base in (self.folder, self.folder / "database"):
            for place in part.places:
                if found := sorted(base.glob(place.format(set=self.subset))):
                    return found
        name = re.compile(f"(?:{part.name.format(set=re.escape(self.subset))}){PACKED}")
        return [
            path
            for path in self._everything
            if name.fullmatch(path.name)
            and (part.names_set or self.subset in path.relative_to(self.folder).parent.parts)
        ]

    def one_of(self, part: _Part) -> Path | None:
        """The one file of its kind, if it is there."""
        found = self.all_of(part)
        if len(found) > 1:
            listed = "".join(f"\n  {path}" for path in found)
            raise DataError(f"several files may be the {part.what} of {self.subset!r}; keep one of them:{listed}")
        return found[0] if found else None

    def sought(self, part: _Part) -> str:
        """Places where a file was looked for."""
        places = " and ".join(place.format(set=self.subset) for place in part.places)
        below = "by name anywhere below" + ("" if part.names_set else f" in a folder called {self.subset}")
        return f"looked for {places} in {self.folder} and {self.folder / 'database'}, and {below}"

    def other_sets(self) -> list[str]:
        """The sets that have some file here."""
        name = re.compile(r"PartialSpoof\.LA\.cm\.(\w+)\.tr[ln]\.txt|(\w+)_seglab_.*\.np[yz]|(train|dev|eval)\.lst")
        matches = filter(None, (name.fullmatch(path.name) for path in self._everything))
        return sorted({next(filter(None, match.groups())) for match in matches})


def sound_folder(folder: Path, subset: str) -> Path | None:
    """The folder with the sound of a set, SET/con_wav, where the layout is that of PartialSpoof; None without one."""
    places = (base / subset / "con_wav" for base in (folder, folder / "database"))
    return next((place for place in places if place.is_dir()), None)


def files_below(folder: Path) -> Iterator[Path]:
    """All files of a folder, but for audio and hidden ones, a few folders deep (links may lead in circles)."""
    top = len(folder.parts)
    for at, folders, names in os.walk(folder, followlinks=True):
        here = Path(at)
        deeper = len(here.parts) - top < DEEPEST
        folders[:] = [one for one in folders if deeper and one not in AUDIO_FOLDERS and not one.startswith(".")]
        yield from (here / name for name in names if not name.startswith("."))


# ---------------------------------------------------------------- choosing the labels


def _choose_labels(found: _Folder, source: str | None) -> Path:
    """The file of labels that is meant."""
    rttms = {unpacked_name(path.name): path for path in found.all_of(RTTM)}
    segments = _segments(found)
    known = rttms | segments
    if source in known:
        return known[source]
    if source is not None:
        raise UsageError(
            f"no labels are called {source!r} in {found.folder}: {nearest_name(source, known)}; {found.sought(RTTM)}; "
            f"{found.sought(SEGMENTS)}"
        )
    usual = [name for name in RTTM_NAMES if name in rttms]
    if usual or len(rttms) == 1:
        return rttms[[*usual, *rttms][0]]
    how = "choose one with source= (--reference-source)"
    if rttms:
        raise UsageError(f"there are several RTTM files of {found.subset!r}; {how}: {', '.join(rttms)}")
    instead = f"; there are segment labels, {how}: {', '.join(segments)}" if segments else ""
    raise DataError(f"there is no RTTM file of the set {found.subset!r}; {found.sought(RTTM)}{instead}")


def _segments(found: _Folder) -> dict[str, Path]:
    """Files of segment labels by their name and resolution, ``segment_labels@20ms``, finest first."""
    resolutions: dict[float, Path] = {}
    for path in found.all_of(SEGMENTS):
        if (match := SEGMENT_FILE.search(path.name)) is not None:
            resolutions.setdefault(float(match[1]), path)
    return {f"{SEGMENT_LABELS}@{milliseconds(one)}": path for one, path in sorted(resolutions.items())}


# ---------------------------------------------------------------- putting it together


def _utterances(listed: Path | None, protocol: Path | None, said: Protocol | None) -> list[str]:
    """The utterances of the set, in the order of the list."""
    if listed is None:
        return [] if said is None else list(said.utterance)
    ids: dict[str, None] = {}
    problems = Problems()
    for number, line in sources(listed)[0].lines():
        utterance = line.strip().removesuffix(".wav")
        if utterance in ids:
            problems.add(f"{listed}:{number}: utterance {utterance!r} is listed a second time")
        ids[utterance] = None
    only: dict[str, Collection[str]] = {}
    if said is not None:
        only[f"is in {listed} but not in {protocol}"] = set(ids).difference(said.utterance)
        only[f"is in {protocol} but not in {listed}"] = set(said.utterance).difference(ids)
    _refuse("list and protocol must have the same utterances", only, problems)
    return list(ids)


def _refuse(remedy: str, wrong: Mapping[str, Collection[str]], problems: Problems | None = None) -> None:
    """Raise if there is any utterance with one of these faults, or any problem before them."""
    problems = problems or Problems()
    for what, utterances in wrong.items():
        problems.extend((f"utterance {utt!r} {what}" for utt in sorted(utterances)), len(utterances))
    problems.raise_if_any(remedy)


def _of_the_set(references: References, utterances: list[str], labels: Path, listed: Path | None) -> References:
    """The references of the utterances of the set; durations may cover other sets, labels may not."""
    position = {utt: i for i, utt in enumerate(references.utterances)}
    members = set(utterances)
    ranges = np.diff(references.offsets)
    only = {
        f"is in {labels} but not in {listed}": [utt for utt, i in position.items() if ranges[i] and utt not in members],
        f"is in {listed} but not in {labels}": [utt for utt in utterances if utt not in position],
    }
    _refuse("labels and list must be of the same set", only)
    return references.take(np.array([position[utt] for utt in utterances], np.int64))


def _check_ranges(references: References, labels: Path, said: Protocol | None, *, must_have: bool) -> None:
    """Compare the ranges with what the protocol says of whole utterances."""
    if must_have:
        bare = [references.utterances[i] for i in np.flatnonzero(np.diff(references.offsets) == 0)]
        _refuse("get the file again", {f"has no labels in {labels}": bare})
    if said is None:
        return
    rows = utterance_of_rows(references.offsets)
    spoofed = {references.utterances[i] for i in np.unique(rows[references.labels == SPOOF])}
    called = dict(zip(said.utterance, said.label, strict=True))
    contradicted = [utt for utt in spoofed if called[utt] == "bonafide"]
    what = f"is bona fide in the protocol but has spoofed ranges in {labels}"
    _refuse("protocol and labels contradict each other", {what: contradicted})
    without = [utt for utt in references.utterances if called[utt] == "spoof" and utt not in spoofed]
    if without:
        warn_user(
            f"{len(without):,} utterances are spoof in the protocol but have no spoofed range in {labels}: "
            f"{', '.join(without[:3])}{', ...' if len(without) > 3 else ''}; "
            "the rule utterances=drop-bonafide-CON leaves such utterances out",
            SpoofspanWarning,
        )
