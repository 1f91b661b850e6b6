"""Sources of a model: a folder, an archive of one, the package itself, or a name on the Hugging Face hub.

Whatever the source, only the files that a checkpoint consists of are taken, under their own names; none of them can run
(:mod:`spoofspan.cm.checkpoints`). An archive is unpacked into a temporary folder; its paths and links decide nothing,
and it may not grow beyond what weights can.
A name of the hub is ``OWNER/NAME@REVISION`` with a whole commit, since what a branch means changes from day to day; the
weights must have the checksum under which the hub, or its cache on this machine, keeps them.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from spoofspan.base.errors import DataError, SpoofspanError, UsageError
from spoofspan.base.extras import require
from spoofspan.base.hashing import file_hash
from spoofspan.cm.shipped_models import PREFIX, shipped_model
from spoofspan.formats.archives import (
    TAR_PIECE,
    NoArchiveError,
    is_zip,
    opened_zip,
    pieces,
    reading_archive,
    tar_members,
)
from spoofspan.formats.sound import SUFFIXES

CONFIG, MODEL, FRONT_END, CARD = "config.toml", "model.safetensors", "front_end.json", "card.json"
FILES = (CONFIG, MODEL, FRONT_END, CARD)
SMALL = 64 << 20  # bytes that any archive may unpack to
GROWTH = 4  # how many times its own size it may; weights hardly shrink
MOST_MEMBERS = 1000  # files in an archive
LARGEST_TEXT = 4 << 20  # bytes of a card or a configuration
WEIGHTS_OF_OTHERS = (".pt", ".pth", ".ckpt", ".bin", ".safetensors")
SCORE_FILES = (".parquet", ".score", ".tsv", ".csv", ".npz", ".pkl", ".ark", ".npy", ".jsonl", ".arrow", ".rttm")
HUB_NAME = re.compile(r"(?P<repository>[\w.-]+/[\w.-]+)(?:@(?P<revision>[\w./-]+))?")
COMMIT = re.compile(r"[0-9a-f]{40}")
WHAT_A_MODEL_IS = (
    f"a model is a folder with {CONFIG} and {MODEL}, or a zip or tar of it. Three ways to get one: train it "
    "(spoofspan cm train), convert the published weights (spoofspan cm convert trained_network.pt FOLDER), or name one "
    "of the Hugging Face hub (OWNER/NAME@COMMIT). The package has small ones: builtin:full-band, builtin:150-6850, "
    "builtin:telephone"
)


@dataclass(frozen=True)
class ModelSource:
    """A model at hand: the folder it is in now, what it is called, and the SHA-256 of its weights."""

    folder: Path
    name: str
    checksum: str


@contextmanager
def model_at(model: str | Path | None, checksum: str | None = None) -> Iterator[ModelSource]:
    """Find a model, for as long as the context lasts; with ``checksum``, its weights must have it."""
    if model is None or not str(model):
        raise UsageError(f"there is no model: give one with model= (--model); {WHAT_A_MODEL_IS}")
    is_shipped = str(model).startswith(PREFIX)
    path = shipped_model(str(model).removeprefix(PREFIX)) if is_shipped else Path(model).expanduser()
    with tempfile.TemporaryDirectory(prefix="spoofspan-model-") as scratch:
        if path.is_dir():
            folder = path
        elif path.is_file():
            _refuse_other_files(path)
            folder = Path(scratch)
            _unpack(path, folder)
        elif match := HUB_NAME.fullmatch(str(model)):
            folder = _from_hub(match["repository"], match["revision"])
        else:
            raise UsageError(f"there is no model {str(model)!r}: {WHAT_A_MODEL_IS}")
        missing = [name for name in (CONFIG, MODEL) if not (folder / name).is_file()]
        if missing:
            are = "is" if len(missing) == 1 else "are"
            raise UsageError(f"{str(model)!r} is no model: {' and '.join(missing)} {are} missing; {WHAT_A_MODEL_IS}")
        found = file_hash(folder / MODEL)
        if checksum is not None and found != checksum.lower():
            raise DataError(f"{model}: its weights have the SHA-256 {found}, not {checksum}: this is another model")
        try:
            yield ModelSource(folder, str(model), found)
        except SpoofspanError as error:
            if scratch not in str(error):
                raise
            raise type(error)(str(error).replace(scratch, str(model))) from None  # as the user calls it


def _refuse_other_files(path: Path) -> None:
    """Refuse a file of another kind, and name its kind."""
    suffix = path.suffix.lower()
    if suffix in SUFFIXES:
        raise UsageError(f"{path} is a recording, and stands where the model belongs; {WHAT_A_MODEL_IS}")
    if suffix in WEIGHTS_OF_OTHERS:
        raise UsageError(
            f"{path} is a file of weights alone: of the published code, make a model with spoofspan cm convert {path} "
            f"FOLDER; of a training here, give the folder it is in"
        )
    if suffix in SCORE_FILES:
        raise UsageError(
            f"{path} is a file of scores or labels, and stands where the model belongs. Ranges from scores: spoofspan "
            f"convert {path} ranges.rttm --threshold T; {WHAT_A_MODEL_IS}"
        )


# ---------------------------------------------------------------- archives


def _unpack(path: Path, folder: Path) -> None:
    """Take the files of a checkpoint out of an archive."""
    allowed = SMALL + GROWTH * path.stat().st_size
    taken: dict[str, str] = {}
    with reading_archive(str(path)):
        for name, stream in _members(path, allowed):
            own = PurePosixPath(name.replace("\\", "/"))
            if own.name not in FILES:
                continue
            if own.name in taken:
                raise DataError(f"{path}: {taken[own.name]} and {name} would both be {own.name}; pack one model alone")
            taken[own.name] = name
            limit = min(allowed, allowed if own.name == MODEL else LARGEST_TEXT)
            allowed -= _copy(stream, folder / own.name, limit, f"{path}: {name}")
    if len({PurePosixPath(name).parent for name in taken.values()}) > 1:
        raise DataError(f"{path}: its files are in several folders ({', '.join(taken.values())}); pack one model alone")


def _members(path: Path, most_bytes: int) -> Iterator[tuple[str, IO[bytes]]]:
    """The plain files of an archive: their names, and streams to read them."""
    with path.open("rb") as stream:
        if is_zip(stream):
            with opened_zip(stream, str(path), MOST_MEMBERS) as packed:
                for entry in packed.infolist():
                    if not entry.is_dir():
                        with packed.open(entry) as content:
                            yield entry.filename, content
            return
        stream.seek(0)
        try:
            yield from tar_members(stream, str(path), most_members=MOST_MEMBERS, most_bytes=most_bytes)
        except NoArchiveError:
            raise UsageError(f"{path} is neither a zip nor a tar: {WHAT_A_MODEL_IS}") from None


def _copy(stream: IO[bytes], target: Path, limit: int, name: str) -> int:
    written = 0
    with target.open("wb") as out:
        for chunk in pieces(stream, TAR_PIECE):
            written += len(chunk)
            if written > limit:
                raise DataError(
                    f"{name} unpacks to more than {limit:,} bytes, which no model of this size has; do not use it"
                )
            out.write(chunk)
    return written


# ---------------------------------------------------------------- the hub


def _from_hub(repository: str, revision: str | None) -> Path:
    """The files of a checkpoint on the Hugging Face hub, or in its cache on this machine."""
    require("huggingface_hub", "safetensors")
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        if revision is None or not COMMIT.fullmatch(revision):
            commit = HfApi().model_info(repository, revision=revision).sha
            raise UsageError(
                f"{repository}: what {'a name' if revision is None else repr(revision)} means changes from day to "
                f"day; give a commit. That of today: {repository}@{commit}"
            )
        folder = Path(snapshot_download(repository, revision=revision, allow_patterns=list(FILES)))
    except SpoofspanError:
        raise
    except LocalEntryNotFoundError:
        raise UsageError(
            f"{repository}@{revision}: the hub does not answer, and the cache of this machine does not have this "
            "commit; get it once with a connection"
        ) from None
    except Exception as error:  # by version of the hub's package, that of one of three others
        why = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UsageError(
            f"{repository}: there is no such folder here, and the Hugging Face hub does not give this model ({why}); "
            f"{WHAT_A_MODEL_IS}"
        ) from None
    for name in FILES:
        if (folder / name).is_file():
            _check_cached((folder / name).resolve(), name, repository)
    return folder


def _check_cached(path: Path, name: str, repository: str) -> None:
    """Compare a file with the hash that the hub stated, under which it is cached."""
    if re.fullmatch(r"[0-9a-f]{64}", path.name):  # a large file
        found = file_hash(path)
    elif COMMIT.fullmatch(path.name) and path.stat().st_size <= LARGEST_TEXT:  # a small one, as git names it
        content = path.read_bytes()
        found = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
    else:  # without links, a cache has files by their own names
        return
    if found != path.name:
        raise DataError(
            f"{repository}: {name} does not have the checksum that the hub states ({path.name}); delete {path} and get "
            "it again"
        )
