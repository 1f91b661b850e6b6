"""Files larger than memory: cut once into shards of rising utterance ids, on disk, each of which fits into memory.

::

    files ──> tables, piece by piece ──> rows of each shard ──> References and Scores of each shard
              (a format's ``stream``)    (pickled)              (columns, read again in every pass)

Rows are sent to the shard of their utterance in any order, so an unsorted file needs no more memory than a sorted one.
The limits of shards come from a sample of the ids in the references, their number from the size of the files. All data
are in one temporary folder (below TMPDIR), which is removed when the work is done; if the process is killed, by the
next one.
"""

from __future__ import annotations

import json
import pickle
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial, reduce
from pathlib import Path
from typing import IO, Any, TypeVar, cast
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import utterance_of_rows
from spoofspan.base.errors import Problems, UsageError, refuse
from spoofspan.base.locks import stored_in, temporary_folder
from spoofspan.base.pool import Pool, open_pool
from spoofspan.base.progress import progress
from spoofspan.base.times import seconds_text
from spoofspan.data.references import References
from spoofspan.data.rules import Modality
from spoofspan.data.scores import Higher, Scores
from spoofspan.evaluation.corpus import Shard
from spoofspan.formats.arrays.kaldi import read_label2id
from spoofspan.formats.format import OF_REFERENCES, Format, ReadOptions
from spoofspan.formats.reading import choose_format
from spoofspan.formats.registry import REFERENCE_FORMATS, SCORE_FORMATS
from spoofspan.formats.sources import Source, Where, counted, naming
from spoofspan.formats.tables.corpus_tables import Part, Texts, joined_parts, table_from_references, table_from_scores
from spoofspan.formats.tables.reference_tables import references_from_parts
from spoofspan.formats.tables.score_tables import scores_from_parts
from spoofspan.formats.text.durations import read_durations, stream_durations
from spoofspan.formats.text.rows import SUSPICIOUS_RATIO
from spoofspan.scale.shard_facts import CorpusFacts, ShardFacts
from spoofspan.scale.shards import ShardedCorpus

# A shard of about two million frames: a text file has 30 bytes for each, packed files have four.
TEXT_BYTES_PER_SHARD, PACKED_BYTES_PER_SHARD = 1 << 26, 1 << 23
UTTERANCES_PER_SHARD = 1 << 17  # of short ones, ids take more memory than frames
MOST_SHARDS = 256
UNKNOWN_BYTES = MOST_SHARDS * PACKED_BYTES_PER_SHARD // 4  # of what is no file, as if it were large
SAMPLED_IDS = 1 << 14
TOO_LARGE = "use fewer --jobs, or --stream"  # what to do if a process runs out of memory


@contextmanager
def sharded(
    references: Where | Sequence[Where],
    scores: Where | Sequence[Where],
    *,
    reference_format: str | None = None,
    scores_format: str | None = None,
    durations: Where | Mapping[str, float] | References | None = None,
    hop: float | None = None,
    reference_hop: float | None = None,
    higher: Higher | None = None,
    column: str | None = None,
    snap: float | None = None,
    split: str | None = None,
    modality: Modality | None = None,
    subset: str | None = None,
    spoof_label: int | None = None,
    label2id: Where | Mapping[str, int] | None = None,
    shards: int | None = None,
    jobs: int | None = None,
) -> Iterator[StoredShards]:
    r"""Cut references and scores from files into shards on disk, which are removed when the context ends.

    Formats that cannot be read in pieces (``docs/formats.md`` lists those that can) are read whole, and then cut.

    Parameters
    ----------
    references, scores
        Files, folders, globs or addresses, as in :func:`spoofspan.read_references`.
    reference_format, scores_format
        Formats, if they are not clear from the content.
    durations, reference_hop, snap, split, modality, subset, spoof_label
        As ``durations``, ``hop``, ``snap``, ... in :func:`spoofspan.read_references`.
    hop, higher, column, label2id
        As in :func:`spoofspan.read_scores`.
    shards
        The number of shards; by default from the size of the files.
    jobs
        The number of processes that check, store and measure shards.

    Yields
    ------
    StoredShards
        The corpus, for :func:`spoofspan.evaluate_shards`.

    Examples
    --------
    >>> from io import BytesIO
    >>> ranges = BytesIO(b"utterance,start,end,label\nu1,0.0,0.08,bonafide\nu1,0.08,0.16,spoof\n")
    >>> scores = BytesIO(b"utterance,start,end,score\nu1,0.0,0.08,0.9\nu1,0.08,0.16,-0.4\n")
    >>> with sharded(ranges, scores, higher="bonafide") as corpus:
    ...     print(len(corpus), corpus.higher)
    1 bonafide
    """
    if isinstance(references, References) or isinstance(scores, Scores):
        raise UsageError(
            "sharded(references, scores) cuts files; evaluate(references, scores) measures what is in memory"
        )
    reference_options = ReadOptions(
        hop=reference_hop, snap=snap, split=split, modality=modality, subset=subset, spoof_label=spoof_label
    )
    score_options = ReadOptions(
        hop=hop, higher=higher, column=column, label2id=None if label2id is None else read_label2id(label2id)
    )
    reference_sources, reference_reader = choose_format(
        REFERENCE_FORMATS, references, reference_format, reference_options, OF_REFERENCES
    )
    score_sources, score_reader = choose_format(SCORE_FORMATS, scores, scores_format, score_options, ("label2id",))
    with temporary_folder() as root, open_pool(jobs, TOO_LARGE) as pool:
        stored = root / "stored"
        stored.mkdir()
        ids = IdSample()

        def kept(parts: Iterable[Part]) -> list[_StoredPart]:
            return [_StoredPart.write(root, part) for part in ids.watching(parts)]

        with counted(reference_sources) as watched:
            unsorted = kept(_stream_references(reference_reader, watched, reference_options, durations))
        listed = [] if durations is None else kept(stream_durations(durations))
        # with a few shards for each process, none waits long for the last
        count = shards or max(_shard_count(score_sources, ids.seen), 1 if pool is None else 4 * pool.jobs)
        splitters = ids.splitters(count)
        rows: list[_ShardRows] = [{side: [] for side in ("references", "durations", "scores")} for _ in (0, *splitters)]
        _cut((one.take() for one in unsorted), "references", rows, splitters, root)
        _cut((one.take() for one in listed), "durations", rows, splitters, root)
        with counted(score_sources) as watched:
            _cut(_stream_scores(score_reader, watched, score_options), "scores", rows, splitters, root)
        build = partial(_build, stored, reference_options, score_options, durations is not None)
        facts, paths = CorpusFacts(), []
        numbered = list(enumerate(rows))
        for number, found in enumerate(map(build, numbered) if pool is None else pool.in_order(build, numbered)):
            if not found.empty:
                facts.learn(found)
                paths.append(stored / str(number))
        facts.check(len(paths))
        yield StoredShards(facts, tuple(paths), pool)


# ---------------------------------------------------------------- tables, piece by piece


def _stream_references(
    reader: Format[References],
    sources: Sequence[Source],
    options: ReadOptions,
    durations: Where | Mapping[str, float] | References | None,
) -> Iterator[Part]:
    if reader.stream is not None:
        yield from reader.stream(sources, options)
    else:
        known = None if durations is None else read_durations(durations)
        yield Part(table_from_references(reader.read(sources, replace(options, durations=known))), sources[0].name)


def _stream_scores(reader: Format[Scores], sources: Sequence[Source], options: ReadOptions) -> Iterator[Part]:
    if reader.stream is not None:
        yield from reader.stream(sources, options)
        return
    scores = reader.read(sources, options)
    scores.refuse_decisions("an EER")
    yield Part(table_from_scores(scores, long=scores.hops is None), sources[0].name)


def _shard_count(sources: Sequence[Source], utterances: int) -> int:
    """The number of shards for about two million frames in each, and not too many utterances."""
    wanted = 0.0
    for source in sources:
        size = UNKNOWN_BYTES if source.path is None else source.size
        wanted += size / (PACKED_BYTES_PER_SHARD if source.is_packed else TEXT_BYTES_PER_SHARD)
    wanted = max(wanted, utterances / UTTERANCES_PER_SHARD)
    return int(min(max(wanted + 1, 1), MOST_SHARDS))


class IdSample:
    """Every n-th id, n growing so that the sample stays small."""

    def __init__(self) -> None:
        self._kept: list[str] = []
        self._every = 1
        self.seen = 0

    def add(self, ids: Iterable[str]) -> None:
        """Take some of these ids."""
        for utterance in ids:
            if self.seen % self._every == 0:
                self._kept.append(utterance)
                if len(self._kept) > SAMPLED_IDS:
                    self._kept, self._every = self._kept[::2], 2 * self._every
            self.seen += 1

    def watching(self, parts: Iterable[Part]) -> Iterator[Part]:
        """Iterate over the same parts, and sample their ids."""
        for part in parts:
            self.add(distinct_ids(part))
            yield part

    def splitters(self, count: int) -> list[str]:
        """The first ids of all shards but the first, for shards of about equal size."""
        ordered = sorted(set(self._kept))
        places = [len(ordered) * i // count for i in range(1, count)]
        return [ordered[place] for place in sorted(set(places)) if place]


@dataclass(frozen=True)
class _StoredPart:
    """Rows on disk."""

    path: Path

    @classmethod
    def write(cls, folder: Path, part: Part) -> _StoredPart:
        """Store a part under a name of its own."""
        stored = cls(folder / uuid4().hex)
        with stored_in(folder), stored.path.open("wb") as sink:
            pickle.dump(part, sink, pickle.HIGHEST_PROTOCOL)
        return stored

    def take(self) -> Part:
        """Read the rows, and delete them."""
        with stored_in(self.path.parent), self.path.open("rb") as opened:
            part = pickle.load(opened)  # noqa: S301  (written above, into a folder of our own)
        self.path.unlink()
        return cast(Part, part)


# The rows of one shard, by side: references, durations, scores.
_ShardRows = dict[str, list[_StoredPart]]


def _cut(parts: Iterable[Part], side: str, shards: Sequence[_ShardRows], splitters: Sequence[str], to: Path) -> None:
    """Store every row for the shard of its utterance."""
    for part in parts:
        for shard, some in split_by_id(part, splitters):
            shards[shard][side].append(_StoredPart.write(to, some))


def split_by_id(part: Part, splitters: Sequence[str]) -> Iterator[tuple[int, Part]]:
    """Divide rows by the shard of their utterance; ``splitters`` are the first ids of all shards but the first."""
    ids = _ids(part)
    # a row without an id goes anywhere: reading the shard will refuse it
    shard_of_id = np.array([bisect_right(splitters, utt) for utt in ids.values] + [0], np.int64)
    shard_of_row = shard_of_id[ids.codes]
    rows_of_file = np.arange(part.table.size) if part.rows is None else part.rows
    for shard in np.unique(shard_of_row).tolist():
        rows = np.flatnonzero(shard_of_row == shard)
        table = part.table if rows.size == part.table.size else part.table.take(rows)
        yield shard, replace(part, table=table, rows=rows_of_file[rows])


def joined_by_file(pieces: Sequence[Part]) -> list[Part]:
    """One part for each file, of its pieces in their order."""
    files: dict[str, list[Part]] = {}
    for part in pieces:
        files.setdefault(part.name, []).append(part)
    return [joined_parts(some) for some in files.values()]


def _ids(part: Part) -> Texts:
    """The utterance of every row."""
    column = part.table.columns.get("utterance")
    return column if isinstance(column, Texts) else Texts(np.full(part.table.size, -1, np.int32), [])


def distinct_ids(part: Part) -> list[str]:
    """The utterances of a part, each once."""
    ids = _ids(part)
    return [ids.values[code] for code in np.unique(ids.codes[ids.codes >= 0]).tolist()]


# ---------------------------------------------------------------- from the rows of a shard to its columns


def _references_of(parts: list[Part], options: ReadOptions) -> References | None:
    if not parts:
        if not options.durations:
            return None
        ids = list(options.durations)
        zero, none = np.zeros(len(ids) + 1, np.int64), np.zeros(0, np.int64)
        seconds = np.array(list(options.durations.values()), np.float64)
        return References.from_columns(ids, seconds, zero, none, none, labels=none)
    references = references_from_parts(parts, options)
    if options.durations is not None:
        _refuse_other_units(references)
    return references


def _refuse_other_units(references: References) -> None:
    """Refuse ranges that end many durations after the end, which are in milliseconds or samples."""
    if references.durations is None or not references.ends.size:
        return
    owner = utterance_of_rows(references.offsets)
    durations = references.durations[owner]

    def describe(row: int) -> str:
        end, whole = seconds_text(references.ends[row]), seconds_text(durations[row])
        about = f"utterance {references.utterances[owner[row]]!r}: a range ends at {end}, the utterance at {whole}"
        return f"{about}; are these milliseconds or samples?"

    refuse(np.flatnonzero(references.ends > SUSPICIOUS_RATIO * durations), describe, "write seconds")


def _durations_of(parts: list[Part]) -> dict[str, float]:
    found: dict[str, float] = {}
    problems = Problems()
    for part in parts:
        columns = part.table.columns
        for utterance, seconds in zip(columns["utterance"].to_list(), columns["seconds"].to_list(), strict=True):
            if found.setdefault(utterance, seconds) != seconds:
                problems.add(f"{part.name}: utterance {utterance!r} has two durations")
    problems.raise_if_any("correct the file of durations")
    return found


def made_shard(
    references: list[Part],
    durations: list[Part] | None,
    scores: list[Part],
    reference_options: ReadOptions,
    score_options: ReadOptions,
) -> Shard:
    """Both sides of a shard from its rows; ``durations`` are None where no file lists them."""
    known = None if durations is None else _durations_of(durations)
    with naming([part.name for part in references]):
        truth = _references_of(references, replace(reference_options, durations=known))
    with naming([part.name for part in scores]):
        return truth, scores_from_parts(scores, score_options) if scores else None


def _build(
    folder: Path,
    reference_options: ReadOptions,
    score_options: ReadOptions,
    listed: bool,
    shard: tuple[int, _ShardRows],
) -> ShardFacts:
    """Make a shard of its rows and store it under its number."""
    number, rows = shard
    sides = {side: joined_by_file([one.take() for one in stored]) for side, stored in rows.items()}
    durations = sides["durations"] if listed else None
    made = made_shard(sides["references"], durations, sides["scores"], reference_options, score_options)
    facts = ShardFacts.of(made)
    if not facts.empty:
        save_shard(folder / str(number), made)
    return facts


Found = TypeVar("Found")
T = TypeVar("T", References, Scores)


@dataclass(frozen=True)
class StoredShards(ShardedCorpus):
    """A corpus in shards on disk, which the processes of a pool can work on.

    Their results are small (a histogram has at most 2 MB) and add, so that the bits are those of one process.
    """

    facts: CorpusFacts
    paths: tuple[Path, ...]
    pool: Pool | None = None

    def __len__(self) -> int:
        return len(self.paths)

    def __iter__(self) -> Iterator[Shard]:
        return map(partial(_read, self.facts), self.paths)

    def each(self, work: Callable[[Shard], Found], what: str, *, fetched: bool) -> Iterator[tuple[Shard | None, Found]]:
        """Results of every shard in order; this process may read the shards while others work."""
        if self.pool is None:
            yield from super().each(work, what, fetched=fetched)
            return
        with progress(what, total=len(self), unit="shards") as advance:
            results = self.pool.in_order(partial(_work, self.facts, work), self.paths)
            for path, found in zip(self.paths, results, strict=True):
                yield (_read(self.facts, path) if fetched else None), found
                advance(1)

    def merged(self, work: Callable[[Shard], Found], merge: Callable[[Found, Found], Found], what: str) -> Found:
        """Results of all shards."""
        if self.pool is None:
            return super().merged(work, merge, what)

        def together(one: Found, other: Found) -> Found:
            advance(1)
            return merge(one, other)

        with progress(what, total=len(self), unit="shards") as advance:
            return reduce(together, self.pool.as_finished(partial(_work, self.facts, work), self.paths))


def _read(facts: CorpusFacts, path: Path) -> Shard:
    try:
        with path.open("rb") as file:
            return facts.settled((_load(file, References), _load(file, Scores)))
    except FileNotFoundError:
        raise UsageError(
            f"the shards in {path.parent} are gone; measure them inside of `with sharded(...) as corpus:`, and let "
            "nobody delete what lies in the folder that TMPDIR names"
        ) from None


def _work(facts: CorpusFacts, work: Callable[[Shard], Found], path: Path) -> Found:
    return work(_read(facts, path))


def save_shard(path: Path, shard: Shard) -> None:
    """Store a shard."""
    with stored_in(path.parent), path.open("wb") as file:
        for one in shard:
            _save(file, one)


def _save(file: IO[bytes], columns: References | Scores | None) -> None:
    """Write a corpus as a line of JSON and its arrays."""
    header: dict[str, Any] = {"none": columns is None, "texts": {}, "arrays": [], "values": {}}
    arrays: list[npt.NDArray[Any]] = []
    for one in fields(columns) if columns is not None else ():
        value = getattr(columns, one.name)
        if isinstance(value, tuple):
            header["texts"][one.name] = list(value)
        elif isinstance(value, np.ndarray):
            header["arrays"].append(one.name)
            arrays.append(value)
        else:
            header["values"][one.name] = value
    file.write(json.dumps(header).encode() + b"\n")
    for array in arrays:
        np.save(file, array, allow_pickle=False)


def _load(file: IO[bytes], kind: type[T]) -> T | None:
    header = json.loads(file.readline())
    if header["none"]:
        return None
    columns: dict[str, Any] = {name: tuple(value) for name, value in header["texts"].items()}
    columns |= {name: np.load(file, allow_pickle=False) for name in header["arrays"]}
    return kind(**columns, **header["values"])
