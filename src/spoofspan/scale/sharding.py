"""Files larger than memory: cut once into shards of rising utterance ids, on disk, each of which fits into memory.

::

    files ──> tables, piece by piece ──> rows of each shard ──> References and Scores of each shard
              (a format's ``stream``)    (Arrow files)          (columns, read again in every pass)

Rows reach the shard of their utterance whatever their order in the files, so an unsorted file takes no more memory
than a sorted one. Where the shards begin comes from a sample of the ids in the references; how many there are, from
the size of the files. Everything lies in one temporary folder (TMPDIR says where), which goes when the work is done; if
the process is killed, with the next one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from spoofspan.base.columns import utterance_of_rows
from spoofspan.base.errors import Problems, UsageError, refuse
from spoofspan.base.locks import stored_in, temporary_folder
from spoofspan.base.pool import open_pool
from spoofspan.base.times import seconds_text
from spoofspan.data.references import References
from spoofspan.data.rules import Modality
from spoofspan.data.scores import Higher, Scores
from spoofspan.formats import arrow as pa
from spoofspan.formats.arrays.kaldi import read_label2id
from spoofspan.formats.format import OF_REFERENCES, Format, ReadOptions
from spoofspan.formats.reading import choose_format
from spoofspan.formats.registry import REFERENCE_FORMATS, SCORE_FORMATS
from spoofspan.formats.sources import Source, Where, counted, naming
from spoofspan.formats.tables.arrow_tables import table_from_references, table_from_scores
from spoofspan.formats.tables.reference_tables import references_from_parts
from spoofspan.formats.tables.score_tables import scores_from_parts
from spoofspan.formats.tables.table_columns import Part, flat, flat_array
from spoofspan.formats.text.durations import read_durations, stream_durations
from spoofspan.formats.text.rows import SUSPICIOUS_RATIO
from spoofspan.scale.shard_facts import CorpusFacts, Shard, ShardFacts
from spoofspan.scale.stored_shards import StoredShards, save_shard

# A shard of about two million frames: a text file has 30 bytes for each, packed files have four.
TEXT_BYTES_PER_SHARD, PACKED_BYTES_PER_SHARD = 1 << 26, 1 << 23
UTTERANCES_PER_SHARD = 1 << 17  # of short ones, ids take more memory than frames
MOST_SHARDS = 256
UNKNOWN_BYTES = MOST_SHARDS * PACKED_BYTES_PER_SHARD // 4  # of what is no file, as if it were large
SAMPLED_IDS = 1 << 14
TOO_LARGE = "use fewer --jobs, or --stream"  # what to do if a process runs out of memory
ROW = "spoofspan:row"  # the column that remembers where a row came from


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
    r"""Cut references and scores from files into shards on disk; they are gone when the context ends.

    Formats that cannot be read piece by piece (``docs/formats.md`` says which can) are read whole, and then cut.

    Parameters
    ----------
    references, scores
        Files, folders, globs or addresses, as in :func:`spoofspan.read_references`.
    reference_format, scores_format
        Formats, where the content does not show them.
    durations, reference_hop, snap, split, modality, subset, spoof_label
        As ``durations``, ``hop``, ``snap``, ... in :func:`spoofspan.read_references`.
    hop, higher, column, label2id
        As in :func:`spoofspan.read_scores`.
    shards
        How many; as many as the size of the files needs, if not given.
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
            return [_StoredPart.write(root, part, with_rows(part)) for part in ids.watching(parts)]

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
    """As many shards as keep one of them at about two million frames, and not too many utterances."""
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
        """The same parts; some of their ids are taken as they pass."""
        for part in parts:
            self.add(distinct_ids(part.table))
            yield part

    def splitters(self, count: int) -> list[str]:
        """The first ids of all shards but the first, about equally far apart."""
        ordered = sorted(set(self._kept))
        places = [len(ordered) * i // count for i in range(1, count)]
        return [ordered[place] for place in sorted(set(places)) if place]


@dataclass(frozen=True)
class _StoredPart:
    """Rows on disk: a part without its table, and where that is."""

    part: Part
    path: Path

    @classmethod
    def write(cls, folder: Path, part: Part, table: Any) -> _StoredPart:
        """Store rows of a part under a name of their own."""
        stored = cls(replace(part, table=None, rows=None), folder / uuid4().hex)
        with (
            stored_in(folder),
            pa.OSFile(str(stored.path), "wb") as sink,
            pa.ipc.new_stream(sink, table.schema) as writer,
        ):
            writer.write_table(table.combine_chunks())
        return stored

    def take(self) -> Part:
        """Read the rows, and delete them."""
        with stored_in(self.path.parent), pa.OSFile(str(self.path), "rb") as opened:
            table = pa.ipc.open_stream(opened).read_all()
        self.path.unlink()
        return replace(self.part, table=table)


# The rows of one shard, by side: references, durations, scores.
_ShardRows = dict[str, list[_StoredPart]]


def _cut(parts: Iterable[Part], side: str, shards: Sequence[_ShardRows], splitters: Sequence[str], to: Path) -> None:
    """Give every row to the shard of its utterance."""
    for part in parts:
        for shard, table in split_by_id(with_rows(part), splitters):
            shards[shard][side].append(_StoredPart.write(to, part, table))


def split_by_id(table: Any, splitters: Sequence[str]) -> Iterator[tuple[int, Any]]:
    """Give every row to the shard of its utterance; ``splitters`` are the first ids of all shards but the first."""
    codes, ids = _codes(table)
    # a row without an id goes anywhere: reading the shard will refuse it
    shard_of_id = np.array([bisect_right(splitters, utt) for utt in ids] + [0], np.int64)
    shard_of_row = shard_of_id[codes]
    for shard in np.unique(shard_of_row).tolist():
        rows = np.flatnonzero(shard_of_row == shard)
        yield shard, table if rows.size == table.num_rows else table.take(rows)


def joined_parts(pieces: Sequence[Part]) -> list[Part]:
    """One part for each file, of its pieces in their order."""
    tables: dict[str, list[Any]] = {}
    first: dict[str, Part] = {}
    for part in pieces:
        tables.setdefault(part.name, []).append(part.table)
        first.setdefault(part.name, part)
    found = []
    for name, some in tables.items():
        table = pa.concat_tables(some, promote_options="default").unify_dictionaries()
        rows = flat(table.column(ROW))
        table = table.drop_columns([ROW])
        names = dict.fromkeys([*first[name].all_columns, *table.column_names])
        found.append(replace(first[name], table=table, rows=rows, all_columns=tuple(names)))
    return found


def with_rows(part: Part) -> Any:
    """The table of a part, with a column that says which rows of the file these are."""
    if ROW in part.table.column_names:
        return part.table
    rows = np.arange(part.table.num_rows) if part.rows is None else part.rows
    return part.table.append_column(ROW, pa.array(rows, pa.int64()))


def _codes(table: Any) -> tuple[npt.NDArray[np.int64], list[str]]:
    """The utterance of every row as a code (-1: none) into a list of ids."""
    column = table.column("utterance").combine_chunks() if "utterance" in table.column_names else None
    if column is None:
        return np.full(table.num_rows, -1), []
    encoded = column if hasattr(column, "indices") else column.dictionary_encode()
    codes = flat_array(encoded.indices.fill_null(-1)).astype(np.int64)
    return codes, [str(value) for value in encoded.dictionary.to_pylist()]


def distinct_ids(table: Any) -> list[str]:
    """The utterances of a table, each once."""
    codes, ids = _codes(table)
    return [ids[code] for code in np.unique(codes[codes >= 0]).tolist()]


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
    """Ranges that end many durations after the end are milliseconds or samples."""
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
        pairs = zip(part.table.column("utterance").to_pylist(), part.table.column("seconds").to_pylist(), strict=True)
        for utterance, seconds in pairs:
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
    sides = {side: joined_parts([one.take() for one in stored]) for side, stored in rows.items()}
    durations = sides["durations"] if listed else None
    made = made_shard(sides["references"], durations, sides["scores"], reference_options, score_options)
    facts = ShardFacts.of(made)
    if not facts.empty:
        save_shard(folder / str(number), made)
    return facts
