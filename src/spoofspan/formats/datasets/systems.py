"""Which files are the scores of which system: names with placeholders, folders, and PartialSpoof's layout.

A pattern says where in a path the resolution, the seed and the name of the system stand::

    unit{resolution}.score              0.02 (seconds), 20ms, or 20 (milliseconds)
    {seed}/scores_{resolution}ms.parquet
    {system}/unit0.02.score
    output/{set}_score_ali_{resolution}_*.pkl    after score_ali_, the number is in units of 10 ms

``NAME=`` before a path names the system. ``*``, ``?`` and ``**`` match as in a shell. Of a plain file, and of the files
in a plain folder, the name itself says the resolution, as it does for readers: ``unit0.02.score``, ``..._20ms.txt``,
``eval_score_ali_2_2023.pkl``.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from spoofspan.base.errors import UsageError, nearest_name
from spoofspan.base.times import milliseconds
from spoofspan.formats.arrays.partialspoof_scores import FILE_NAME as SCORE_ALI
from spoofspan.formats.arrays.partialspoof_scores import PER_SECOND as SCORE_ALI_PER_SECOND
from spoofspan.formats.text.frame_lines import hop_in_name

PLACEHOLDERS = ("resolution", "seed", "system", "set")
_RESOLUTION = r"[0-9]+(?:\.[0-9]+)?(?:ms|s)?"
_PIECES = re.compile(r"(\{[^{}]*\}|\*\*/?|\*|\?)")
_NAMED = re.compile(r"([^=/\\{}*?]+)=(.+)")
_GLOB = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


@dataclass(frozen=True)
class SystemFile:
    """A score file, and what its path says of it."""

    path: str
    resolution: float | None = None  # seconds
    system: str = ""
    seed: str = ""


def fill_in_set(text: str, subset: str | None) -> str:
    """Put the name of a set in the place of ``{set}``."""
    if "{set}" in text and not subset:
        raise UsageError(f"{text!r}: say which sets there are with --set dev --set eval")
    return text.replace("{set}", subset or "")


def split_name(text: str) -> tuple[str, str]:
    """The name that is typed before a path, and the path; an existing file may have such a name itself.

    >>> split_name("multi=b/unit0.02.score"), split_name("b/lr=0.1/unit0.02.score")
    (('multi', 'b/unit0.02.score'), ('', 'b/lr=0.1/unit0.02.score'))
    """
    match = _NAMED.fullmatch(text)
    return ("", text) if match is None or Path(text).expanduser().exists() else (match[1], match[2])


def find_systems(given: Sequence[str]) -> list[SystemFile]:
    """Find score files: patterns, files, folders, or several of these."""
    found = [one for text in given for one in _find(text)]
    twice = [one.path for i, one in enumerate(found) if one.path in {other.path for other in found[:i]}]
    if twice:
        raise UsageError(f"{twice[0]} is given twice")
    return found


def _find(text: str) -> Iterator[SystemFile]:
    name, text = split_name(text)
    path = Path(text).expanduser()
    if name:
        yield from (replace(one, system=name) for one in _find(text))
    elif path.is_dir():
        yield from _in_folder(path)
    elif path.exists():  # a file or a pipe
        yield SystemFile(str(path), resolution_in_name(path.name))
    elif _PIECES.search(text):
        yield from matching(str(path))
    else:
        raise UsageError(f"there is no file or folder {text!r}")


def _in_folder(folder: Path) -> list[SystemFile]:
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    found = [SystemFile(str(path), resolution_in_name(path.name)) for path in files]
    named = sorted((one for one in found if one.resolution), key=lambda one: one.resolution or 0)
    if not named:
        raise UsageError(
            f"no file in the folder {str(folder)!r} states a resolution in its name, as unit0.02.score or "
            "scores_20ms.parquet do; say where it stands: 'FOLDER/unit{resolution}.score'"
        )
    return named


def resolution_in_name(name: str) -> float | None:
    """The resolution (seconds) that a file name states, if it does.

    >>> resolution_in_name("unit0.02.score"), resolution_in_name("eval_score_ali_16_2023.pkl"), resolution_in_name("a")
    (0.02, 0.16, None)
    """
    if (match := re.search(SCORE_ALI, name)) is not None:
        return int(match[1]) / SCORE_ALI_PER_SECOND or None
    return hop_in_name(name) or None


def matching(pattern: str) -> list[SystemFile]:
    """The files that a pattern with placeholders matches."""
    expression, units = _compiled(pattern)
    parts = _PIECES.split(pattern)
    wild = "".join("*" if part.startswith("{") else part if part in _GLOB else glob.escape(part) for part in parts)
    found = []
    for path in sorted(glob.glob(wild, recursive=True)):  # noqa: PTH207 - the pattern may be absolute
        match = expression.fullmatch(Path(path).as_posix())
        if match is None or not Path(path).is_file():
            continue
        said = match.groupdict()
        resolution = said.get("resolution")
        stated = resolution_in_name(Path(path).name) if resolution is None else _seconds(resolution, units, path)
        found.append(SystemFile(path, stated, said.get("system", ""), said.get("seed", "")))
    if not found:
        raise UsageError(f"no file matches {pattern!r}")
    return found


def _compiled(pattern: str) -> tuple[re.Pattern[str], str]:
    """The pattern as an expression, and the unit of a bare number: what stands around it says so."""
    parts = _PIECES.split(Path(pattern).as_posix())
    expression, seen, units = "", set[str](), ""
    for i, part in enumerate(parts):
        name = part[1:-1] if part.startswith("{") else ""
        if not part.startswith("{"):
            expression += _GLOB.get(part) or re.escape(part)
        elif name not in PLACEHOLDERS:
            raise UsageError(f"{pattern!r}: no placeholder {part}: {nearest_name(name, PLACEHOLDERS)}")
        elif name in seen:
            expression += f"(?P={name})"
        else:
            seen.add(name)
            expression += f"(?P<{name}>{_RESOLUTION if name == 'resolution' else '[^/]+'})"
            if name == "resolution":
                units = "ms" if parts[i + 1].startswith("ms") else "10ms" if parts[i - 1].endswith("score_ali_") else ""
    return re.compile(expression), units


def _seconds(text: str, units: str, path: str) -> float:
    """A resolution as it stands in a path: with a unit, a fraction of a second, or whole milliseconds."""
    number = float(re.sub("[ms]+$", "", text))
    if text.endswith("ms") or units == "ms":
        number /= 1000
    elif units == "10ms":
        number /= SCORE_ALI_PER_SECOND
    elif not text.endswith("s") and "." not in text:
        number /= 1000
    if not number > 0:
        raise UsageError(f"{path}: a resolution of {text} cannot be; correct the name or the pattern")
    return number


def rows_of(files: Sequence[SystemFile]) -> dict[float, dict[str, SystemFile]] | dict[str, dict[str, SystemFile]]:
    """Group score files into rows (by resolution where that tells them apart, or else by name), and these by seed."""
    by_resolution: dict[float, dict[str, SystemFile]] = {}
    if all(one.resolution is not None and not one.system for one in files):
        for one in files:
            by_resolution.setdefault(one.resolution or 0.0, {})[one.seed] = one
        if sum(map(len, by_resolution.values())) == len(files):
            return dict(sorted(by_resolution.items()))
    by_name: dict[str, dict[str, SystemFile]] = {}
    several = len({one.resolution for one in files if one.system}) > 1
    for one in files:
        name = one.system or Path(one.path).name
        if one.system and several and one.resolution is not None:
            name = f"{one.system} {milliseconds(one.resolution)}"
        other = by_name.setdefault(name, {}).setdefault(one.seed, one)
        if other is not one:
            raise UsageError(
                f"{other.path} and {one.path} would both be {name!r}; tell them apart with {{seed}}, {{system}} or "
                "{resolution} in the pattern"
            )
    return by_name


def seeds_below(folder: Path, found: Mapping[float, Sequence[Path]]) -> list[SystemFile]:
    """Score files of PartialSpoof's layout by hop, each named by the folder it lies in: its seed."""
    files = []
    for resolution, paths in found.items():
        folders = [path.parent.relative_to(folder).as_posix() for path in paths]
        for path, parent in zip(paths, folders, strict=True):
            seed = "" if len(paths) == 1 else parent if folders.count(parent) == 1 else f"{parent}/{path.name}"
            files.append(SystemFile(str(path), resolution, seed=seed))
    return files
