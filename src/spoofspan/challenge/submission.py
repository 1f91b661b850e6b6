"""One team's files, opened as what a stranger sent: bounded in number and size, and never outside of their folder.

A submission is a file of any format (of scores, of proposals or of utterance scores, as the challenge says), a folder
of such files, or a zip archive of them. ``submission.json`` beside them says what the files do not: ``hop``,
``higher``, ``column``, ``format``, and the ``threshold`` of measures at one::

    {"hop": 0.02, "higher": "bonafide"}

Links, pipes and paths that lead elsewhere are refused, and so is whatever unpacks to more than the challenge can need.

Submissions are kept as they came, each once under the hash of its bytes (``CHALLENGE/received/HASH/NAME``). What is
scored is this copy: a team that uploads again meanwhile does not change it, and it can be scored once more after the
labels were corrected, whatever has become of the upload.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from spoofspan.base.documents import parse_json
from spoofspan.base.errors import DataError, UsageError, nearest_name
from spoofspan.base.hashing import file_hash
from spoofspan.base.locks import own_file, part_of, temporary_folder
from spoofspan.challenge.definition import PublicPart, Submitted
from spoofspan.challenge.team_names import plain_name
from spoofspan.data.proposals import Proposals
from spoofspan.data.scores import Scores
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.formats.archives import opened_zip, pieces
from spoofspan.formats.format import ReadOptions, Registry, read_assuming
from spoofspan.formats.reading import choose_format, read_proposals, read_scores, read_utterance_scores
from spoofspan.formats.registry import PROPOSAL_FORMATS, SCORE_FORMATS, UTTERANCE_SCORE_FORMATS
from spoofspan.formats.sources import PIECE_BYTES, Source

if TYPE_CHECKING:
    import zipfile

System = Scores | Proposals | UtteranceScores  # what is read of a submission
ABOUT = "submission.json"
OPTIONS: Mapping[str, type | tuple[type, ...]] = {
    "hop": (int, float),
    "higher": str,
    "column": str,
    "format": str,
    "threshold": (int, float),
}
# What a team may say of each kind of submission, besides its threshold.
TAKES: Mapping[Submitted, tuple[str, ...]] = {
    "scores": ("hop", "higher", "column", "format"),
    "boundary-scores": ("hop", "column", "format"),
    "proposals": ("format",),
    "utterance-scores": ("higher", "column", "format"),
}
FORMATS: Mapping[Submitted, Registry[Any]] = {
    "scores": SCORE_FORMATS,
    "boundary-scores": SCORE_FORMATS,
    "proposals": PROPOSAL_FORMATS,
    "utterance-scores": UTTERANCE_SCORE_FORMATS,
}
NOT_SCORES = {ABOUT, "label2id.json", "readme", "readme.md", "readme.txt", "license", "metadata", "metadata.yaml"}
POINTS_ELSEWHERE = ("kaldi-scp",)  # formats that name other files
MOST_FILES = 1000
MOST_BYTES_ABOUT = 1 << 16
PACKED = (".gz", ".zst")
ARCHIVES = (".zip", ".tar", ".tgz", ".7z", ".rar")
_ARGUMENT = re.compile(rf"\b({'|'.join(OPTIONS)})=(?: \(--[a-z-]+\))?(?![\w'])")


@dataclass(frozen=True)
class Submission:
    """The score files of a team, and what it says of them."""

    team: str
    files: tuple[Path, ...]
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """A hash of all bytes, by which a result is known to be of this submission."""
        hashed = hashlib.sha256(json.dumps(dict(self.about), sort_keys=True).encode())
        for file in self.files:
            hashed.update(file.name.encode() + b"\0")
            with file.open("rb") as stream:
                while piece := stream.read(PIECE_BYTES):
                    hashed.update(piece)
        return hashed.hexdigest()

    def told(self, message: object) -> str:
        """A message of a reader in the words of a team: without the folder, and with its file for arguments."""
        text = str(message).replace(f"{self.files[0].parent}{os.sep}", "").partition("; use: spoofspan ")[0]
        return _ARGUMENT.sub(rf'"\1" in {ABOUT}', text)

    @property
    def threshold(self) -> float | None:
        """That of measures at a threshold, chosen by the team on other data."""
        return self.about.get("threshold")

    def read(self, public: PublicPart, **instead: Any) -> System:
        """Read what was submitted; what the team does not say is as the challenge says, or as said ``instead``."""
        stated: dict[str, Any] = {name: value for name, value in self.about.items() if name != "threshold"}
        takes = TAKES[public.definition.submissions]
        for name in stated:
            if name not in takes:
                raise DataError(f"{ABOUT}: {name} says nothing of {public.definition.submissions}; leave it out")

        def read(**told: Any) -> System:
            self._refuse_hostile(public, told)
            return _read(public, list(self.files), told)

        return read_assuming(read, stated, {**public.definition.usual, **instead})

    def _refuse_hostile(self, public: PublicPart, stated: Mapping[str, Any]) -> None:
        """Refuse formats that lead elsewhere, and few bytes that stand for more than the challenge can need."""
        options = ReadOptions(**{name: stated.get(name) for name in ("hop", "higher", "column")})
        registry: Registry[Any] = FORMATS[public.definition.submissions]
        default = "proposals" if registry is PROPOSAL_FORMATS else None
        found, chosen = choose_format(registry, list(self.files), stated.get("format"), options, default=default)
        if chosen.name in POINTS_ELSEWHERE:
            raise DataError(f"{found[0].name}: the format {chosen.name} names other files; submit these")
        for source in found:
            if source.is_packed:
                _refuse_large(source, public)
        if chosen.name == "parquet":
            _refuse_many(found, public)


def _read(public: PublicPart, files: list[Path], stated: Mapping[str, Any]) -> System:
    if public.definition.submissions == "proposals":
        return read_proposals(files, fps=public.definition.fps, **stated)
    if public.definition.submissions == "utterance-scores":
        return read_utterance_scores(files, **stated)
    scores = read_scores(files, durations=public.extents, **stated)
    if public.definition.submissions == "boundary-scores" and scores.higher != "spoof":
        raise DataError(
            f"{files[0].name} states that high scores mean bona fide; those of a boundary track are high where spoof "
            "begins or ends: mirror them, and write them with higher='spoof'"
        )
    return scores


def _refuse_large(source: Source, public: PublicPart) -> None:
    """Unpack once, to count: what a packed file says of its size need not be true."""
    with source.read_errors(), source.open() as stream:
        size = 0
        while piece := stream.read(PIECE_BYTES):
            size += len(piece)
            if size > public.most_bytes:
                raise _too_large(Path(source.name).name, public)


def _refuse_many(found: list[Source], public: PublicPart) -> None:
    from spoofspan.formats import arrow as pa

    for source in found:
        try:
            rows = pa.parquet.ParquetFile(source.path).metadata.num_rows
        except (OSError, pa.ArrowException):
            continue  # reading says what is wrong with it
        if rows > public.most_scores:
            raise DataError(
                f"{Path(source.name).name}: {rows:,} rows, and the utterances have room for {public.most_scores:,} "
                "scores, one for each millisecond; submit fewer"
            )


def _too_large(name: str, public: PublicPart) -> DataError:
    return DataError(
        f"{name!a}: more than {public.most_bytes:,} bytes, unpacked, which no scores of these utterances need; "
        "submit less"
    )


def team_of(path: Path) -> str:
    """The name of a team: that of its folder, or of its file without the ending.

    >>> team_of(Path("submissions/Team 7.zip")), team_of(Path("submissions/b.score.gz"))
    ('Team 7', 'b')
    """
    name = path.name
    if not path.is_dir():
        for packed in PACKED:
            name = name.removesuffix(packed)
        name = name.rpartition(".")[0] or name
    return plain_name(name, "the team")


@contextmanager
def opened(path: Path, public: PublicPart, team: str | None = None) -> Iterator[Submission]:
    """Open a submission for as long as the context lasts."""
    named = team_of(path) if team is None else team
    if path.is_symlink():
        raise DataError(f"{path.name!a} is a link; submit the file itself")
    if not path.exists():
        raise UsageError(f"there is no submission {str(path)!r}")
    if path.suffix.lower() == ".zip" and path.is_file():
        with temporary_folder() as folder:
            _unpack(path, folder, public)
            yield _submission(named, folder, public)
    else:
        yield _submission(named, path, public)


def _submission(team: str, path: Path, public: PublicPart) -> Submission:
    found = [path] if not path.is_dir() else sorted(one for one in path.iterdir() if not one.name.startswith("."))
    if len(found) > MOST_FILES:
        raise DataError(f"{len(found):,} files; put the scores into at most {MOST_FILES:,}")
    size = 0
    for one in found:
        about = one.lstat()
        if not stat.S_ISREG(about.st_mode):
            kind = "a link" if stat.S_ISLNK(about.st_mode) else "a folder" if one.is_dir() else "no plain file"
            raise DataError(f"{one.name!a} is {kind}; submit plain files, all in one folder")
        size += about.st_size
        if size > public.most_bytes:
            raise _too_large(one.name, public)
    files = tuple(one for one in found if one.name.lower() not in NOT_SCORES)
    if not files:
        raise DataError("there is no file to be scored; submit one of any format in docs/formats.md")
    packed = next((one.name for one in files if one.suffix.lower() in ARCHIVES), None)
    if packed is not None:
        raise DataError(f"{packed!a} is an archive; submit the files that are in it, as one zip archive or one folder")
    stated = next((one for one in found if one.name.lower() == ABOUT), None) if path.is_dir() else None
    return Submission(team, files, {} if stated is None else _about(stated))


def _said_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, which may say everything once."""
    names = [name for name, _ in pairs]
    twice = [name for name in names if names.count(name) > 1] if len(names) <= 2 * len(OPTIONS) else []
    if twice:
        raise DataError(f"{ABOUT}: {twice[0][:80]!a} is said twice; keep one of them")
    return dict(pairs)


def _about(path: Path) -> dict[str, Any]:
    """Statement of a team about its files."""
    if path.stat().st_size > MOST_BYTES_ABOUT:
        raise DataError(f"{ABOUT} has more than {MOST_BYTES_ABOUT:,} bytes; leave out what is not asked for")
    try:
        stated = parse_json(path.read_bytes(), object_pairs_hook=_said_once)
    except DataError:
        raise
    except ValueError:
        raise DataError(f'{ABOUT}: not JSON; write it as {{"hop": 0.02, "higher": "bonafide"}}') from None
    if not isinstance(stated, dict):
        raise DataError(f'{ABOUT}: no JSON object; write it as {{"hop": 0.02, "higher": "bonafide"}}')
    for name, value in stated.items():
        if name not in OPTIONS:
            raise DataError(f"{ABOUT}: {name[:80]!a} means nothing; {nearest_name(name[:80], OPTIONS)}")
        if not isinstance(value, OPTIONS[name]) or isinstance(value, bool) or value != value:
            raise DataError(f"{ABOUT}: {name} must be {'text' if OPTIONS[name] is str else 'a number'}")
        if isinstance(value, int):
            stated[name] = _as_double(name, value)
    if stated.get("higher") not in (None, "bonafide", "spoof"):
        raise DataError(f"{ABOUT}: higher must be bonafide or spoof, what high scores mean")
    if not 0 < stated.get("hop", 1) < float("inf"):
        raise DataError(f"{ABOUT}: hop must be positive, in seconds")
    return stated


def _as_double(name: str, value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        raise DataError(f"{ABOUT}: {name} has {len(str(value)):,} digits, which no number here needs") from None


# ---------------------------------------------------------------- archives


def _unpack(path: Path, folder: Path, public: PublicPart) -> None:
    """Unpack a zip archive: plain files, by the last part of their names, within the bounds of the challenge."""
    if path.stat().st_size > public.most_bytes:
        raise _too_large(path.name, public)
    left = public.most_bytes
    with path.open("rb") as stream, opened_zip(stream, ascii(path.name), MOST_FILES) as archive:
        for name, member in _members(archive).items():
            with archive.open(member) as packed, (folder / name).open("xb") as out:
                for piece in pieces(packed):
                    left -= len(piece)
                    if left < 0:
                        raise _too_large(path.name, public)
                    out.write(piece)


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """The plain files of an archive by their names; they may lie in one folder."""
    members: dict[str, zipfile.ZipInfo] = {}
    folders = set()
    for one in archive.infolist():
        place = f"the archive has {one.filename[:80]!a}"
        path = PurePosixPath(one.filename.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts or ":" in one.filename or not path.parts:
            raise DataError(f"{place}, a path that leads out of its folder; pack the files by their names alone")
        kind = stat.S_IFMT(one.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise DataError(f"{place}, a link or no plain file; pack the files themselves")
        if one.is_dir() or "__MACOSX" in path.parts or path.name.startswith("."):
            continue
        folders.add(path.parent)
        if path.name != plain_name(path.name, "the file") or path.name.casefold() in map(str.casefold, members):
            raise DataError(f"{place} twice; give each file its own name")
        members[path.name] = one
    if len(folders) > 1:
        raise DataError("the archive has several folders; put all files into one, or into none")
    return members


def submissions_in(folder: Path) -> list[Path]:
    """All submissions in a folder; hidden files are none."""
    return sorted(one for one in folder.iterdir() if not one.name.startswith("."))


# ---------------------------------------------------------------- kept as they came

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
        return file_hash(path)
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
