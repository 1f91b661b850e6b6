"""Submissions as they came, each kept once under the hash of its bytes.

::

    CHALLENGE/received/HASH/NAME    the file, or the folder with its files

What is scored is this copy: a team that uploads again meanwhile does not change it, and it can be scored once more
after the labels were corrected, whatever has become of the upload.
"""

from __future__ import annotations

import os
import shutil
import stat
from hashlib import sha256
from pathlib import Path

from spoofspan.base.errors import DataError
from spoofspan.base.locks import own_file, part_of
from spoofspan.challenge.public_part import PublicPart
from spoofspan.challenge.submission import MOST_FILES
from spoofspan.formats.sources import PIECE_BYTES

RECEIVED = "received"
PATIENCE = 60.0  # seconds that one operator waits for another to copy the same file


def keep(path: Path, challenge: Path, public: PublicPart) -> tuple[str, Path]:
    """Copy a submission; its hash and its copy.

    What is refused unread, such as links, special files and what is larger than scores can be, is not copied: it has
    no hash and stays where it is.
    """
    files = _plain_files(path, public.most_bytes)
    if files is None:
        return "", path
    try:
        found = bytes_hash(path)
        kept = challenge / RECEIVED / found / path.name
        if not kept.exists() or bytes_hash(kept) != found:
            (kept if path.is_dir() else kept.parent).mkdir(parents=True, exist_ok=True)
            for one in files:
                _copy(one, kept / one.name if path.is_dir() else kept)
            if bytes_hash(kept) != found:
                raise DataError(f"{path.name!a} changed while it was read; score it again")
    except OSError as error:
        raise DataError(f"{path.name!a} cannot be kept ({error.strerror or error})") from None
    return found, kept


def kept_at(challenge: Path, found: str, name: str) -> Path | None:
    """The copy of a submission by its hash and its name; None if it is not there."""
    kept = challenge / RECEIVED / found / name
    return kept if found and kept.exists() else None


def bytes_hash(path: Path) -> str:
    """The SHA-256 of a file, as ``sha256sum`` says it; of a folder, that of what it says of its files, by name.

    >>> bytes_hash(Path(os.devnull))[:8]
    'e3b0c442'
    """
    if not path.is_dir():
        hashed = sha256()
        with path.open("rb") as stream:
            while piece := stream.read(PIECE_BYTES):
                hashed.update(piece)
        return hashed.hexdigest()
    lines = (f"{bytes_hash(one)}  {one.name}\n" for one in sorted(path.iterdir()) if not one.name.startswith("."))
    return sha256("".join(lines).encode()).hexdigest()


def _plain_files(path: Path, most_bytes: int) -> list[Path] | None:
    """The files of a submission; None if they cannot all be copied."""
    if path.is_symlink():
        return None
    try:
        files = [path]
        if path.is_dir():
            files = sorted(one for one in path.iterdir() if not one.name.startswith("."))
        about = [one.lstat() for one in files]
    except OSError:
        return None
    plain = 0 < len(files) <= MOST_FILES and all(stat.S_ISREG(one.st_mode) for one in about)
    return files if plain and sum(one.st_size for one in about) <= most_bytes else None


def _copy(source: Path, target: Path) -> None:
    with own_file(part_of(target), repr(str(target)), PATIENCE) as own, source.open("rb") as stream:
        shutil.copyfileobj(stream, own.stream, PIECE_BYTES)
        own.stream.flush()
        os.fsync(own.stream.fileno())
        own.become(target)
