"""Score files of several systems: one grammar for the command line and for Python.

An argument is ``WHERE`` or ``NAME=WHERE``, and ``NAME`` is the system::

    ours.score                          one file; a system of its own, called by its name
    ours=a.score                        one file, named
    ours='a/seed*.score'                several files: seeds of one system
    'a/*.score'                         several systems, as if the shell had listed them
    results                             a folder: its files whose names state a resolution, or else one system in parts
    '{system}_seed{seed}.score'         the path says which file is which
    'unit{resolution}.score'            0.02 (seconds), 20ms, or 20 (milliseconds)
    '{set}_score_ali_{resolution}_*.pkl'    after score_ali_, the number is in units of 10 ms; {set} is given beside it

``*``, ``?``, ``**`` and ``[12]`` match as in a shell. Without ``{resolution}``, the name of a file states it as it does
for readers: ``unit0.02.score``, ``..._20ms.txt``, ``eval_score_ali_2_2023.pkl``. Files of one system that state
different resolutions are systems of their own: ``ours 20ms``, ``ours 40ms``.

Files of one glob that score different utterances are parts of one system (:func:`join_parts`).
"""

from __future__ import annotations

import glob
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeVar

from spoofspan.base.errors import UsageError, nearest_name
from spoofspan.base.lazy import LazyMapping
from spoofspan.base.times import milliseconds
from spoofspan.data.scores import Scores
from spoofspan.formats.file_names import SCORE_ALI_PER_SECOND, resolution_in_name, unpacked_name
from spoofspan.formats.reading import read_scores
from spoofspan.formats.sources import sources

PLACEHOLDERS = ("resolution", "seed", "system", "set")
_RESOLUTION = r"[0-9]+(?:\.[0-9]+)?(?:ms|s)?"
_PIECES = re.compile(r"(\{[^{}]*\}|\*\*/?|\*|\?)")
_PIECES_AND_BRACKETS = re.compile(r"(\{[^{}]*\}|\*\*/?|\*|\?|\[[^\]/]+\])")
_NAMED = re.compile(r"([^=/\\{}*?]+)=(.+)")
_GLOB = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
_AROUND = "_-. "  # what stands around a seed or a set in the name of a file
V = TypeVar("V")


@dataclass(frozen=True)
class SystemFile:
    """A score file, and what its argument and its path say of it.

    Parameters
    ----------
    path
        The file; of a system in parts, the folder or glob that has all of them.
    resolution
        In seconds, if the path states it.
    system
        The name of the system, if one was given.
    seed
        The seed, if the path states it.
    label
        The name of a system that was given none: that of the file, without seed and set.
    argument
        The argument that named the file.
    glob
        The folder or glob that has the file, if it may be one of several parts.

    """

    path: str
    resolution: float | None = None
    system: str = ""
    seed: str = ""
    label: str = ""
    argument: str = ""
    glob: str = ""


def split_name(text: str) -> tuple[str, str]:
    """Split an argument into the name and the path; an existing file may have such a name itself.

    >>> split_name("multi=b/unit0.02.score"), split_name("b/lr=0.1/unit0.02.score")
    (('multi', 'b/unit0.02.score'), ('', 'b/lr=0.1/unit0.02.score'))
    """
    match = _NAMED.fullmatch(text)
    return ("", text) if match is None or Path(text).expanduser().exists() else (match[1], match[2])


def fill_in_set(text: str, set_name: str | None) -> str:
    """Put the name of a set in the place of ``{set}``."""
    if "{set}" in text and not set_name:
        raise UsageError(f"{text!r}: say which set {{set}} stands for with --set eval")
    return text.replace("{set}", set_name or "")


# ---------------------------------------------------------------- finding files


def find_systems(
    arguments: str | PathLike[str] | Sequence[str | PathLike[str]], *, set_name: str | None = None
) -> list[SystemFile]:
    """Find the score files of systems, and which system, seed and resolution each is of.

    Parameters
    ----------
    arguments
        One or several of ``FILE``, ``NAME=FILE``, ``NAME=GLOB`` (its files are seeds), folders, and patterns with
        ``{system}``, ``{seed}``, ``{resolution}`` and ``{set}``, as on the command line.
    set_name
        The name that ``{set}`` stands for.

    Returns
    -------
    list of SystemFile
        In the order of the arguments; files of a pattern are sorted.

    Raises
    ------
    UsageError
        If a file does not exist or is given twice, or a placeholder is unknown.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for name in ("ours_1.score", "ours_2.score", "theirs_1.score"):
    ...         _ = (Path(folder) / name).write_text("")
    ...     [(one.system, one.seed) for one in find_systems(f"{folder}/{{system}}_{{seed}}.score")]
    [('ours', '1'), ('ours', '2'), ('theirs', '1')]

    """
    words = [arguments] if isinstance(arguments, str | PathLike) else arguments
    return refuse_twice([one for word in words for one in _find(fspath(word), set_name)])


def refuse_twice(files: list[SystemFile]) -> list[SystemFile]:
    """Refuse a file that is given twice."""
    for path, times in Counter(one.path for one in files).items():
        if times > 1:
            raise UsageError(f"{path} is given twice")
    return files


def _find(argument: str, set_name: str | None) -> Iterator[SystemFile]:
    name, text = split_name(argument)
    if name and "{system}" in text:
        raise UsageError(f"{argument}: both {name}= and {{system}} name the system; leave one of them out")
    for one in _files(text, fill_in_set(text, set_name), set_name):
        yield replace(one, system=name or one.system, argument=text)


def _files(text: str, filled: str, set_name: str | None) -> Iterable[SystemFile]:
    path = Path(filled).expanduser()
    if filled == "-" or "://" in filled:
        return [SystemFile(filled, label=filled)]
    if path.is_dir():
        return _in_folder(path, _without_gaps(Path(text).name.replace("{set}", "")) if text != filled else path.name)
    if path.exists() and text == filled:  # a file or a pipe
        return [SystemFile(filled, resolution_in_name(path.name), label=path.name)]
    if "{" in text or glob.has_magic(text):
        return matching(text, set_name)
    sources(filled)  # says that there is no such file, and which one is near
    return []


def _in_folder(folder: Path, label: str) -> list[SystemFile]:
    """The files that state a resolution, or else the folder as one system in parts."""
    files = [Path(one.name) for one in sources(folder)]
    found = [SystemFile(str(path), resolution_in_name(path.name), glob=str(folder), label=path.name) for path in files]
    stating = sorted((one for one in found if one.resolution), key=lambda one: one.resolution or 0)
    if not stating:
        return [SystemFile(str(folder), label=label)]
    return [replace(stating[0], label=label)] if len(stating) == 1 else stating


def matching(text: str, set_name: str | None = None) -> list[SystemFile]:
    """Find the files that a pattern matches; brackets mean themselves if such files exist, and else a choice."""
    pattern = Path(text).expanduser().as_posix()
    found = _matching(_PIECES.split(pattern), pattern, set_name)
    found = found or _matching(_PIECES_AND_BRACKETS.split(pattern), pattern, set_name)
    if not found:
        raise UsageError(f"no file matches {fill_in_set(text, set_name)!r}")
    return found


def _matching(parts: list[str], pattern: str, set_name: str | None) -> list[SystemFile]:
    expression, units = _compiled(parts, pattern, set_name)
    filled = [glob.escape(set_name or "") if part == "{set}" else part for part in parts]
    wild = "".join(
        glob.escape(part) if i % 2 == 0 else "*" if part.startswith("{") else part for i, part in enumerate(filled)
    )
    told = any(part in ("{seed}", "{system}", "{resolution}") for part in parts)
    found = []
    for path in sorted(glob.glob(wild, recursive=True)):  # noqa: PTH207 - the pattern may be absolute
        match = expression.fullmatch(Path(path).as_posix())
        if match is None or not Path(path).is_file():
            continue
        said = match.groupdict()
        resolution = said.get("resolution")
        stated = resolution_in_name(path) if resolution is None else _seconds(resolution, units, path)
        found.append(
            SystemFile(
                path,
                stated,
                said.get("system", ""),
                said.get("seed", ""),
                label=_label(match, Path(path)),
                glob="" if told else wild,
            )
        )
    if "{resolution}" in parts:
        found.sort(key=lambda one: (one.system, one.seed, one.resolution))
    return found


def _compiled(parts: list[str], pattern: str, set_name: str | None) -> tuple[re.Pattern[str], str]:
    """The pattern as an expression, and the unit of a bare number: what stands around it says so."""
    expression, seen, units = "", set[str](), ""
    for i, part in enumerate(parts):
        name = part[1:-1]
        if i % 2 == 0:
            expression += re.escape(part)
        elif part.startswith("["):
            inside = name.replace("\\", "\\\\")
            expression += f"[{'^' + inside[1:] if inside.startswith('!') else inside}]"
        elif not part.startswith("{"):
            expression += _GLOB[part]
        elif name not in PLACEHOLDERS:
            raise UsageError(f"{pattern!r}: no placeholder {part}: {nearest_name(name, PLACEHOLDERS)}")
        elif name == "set":
            expression += f"(?P<set_{i}>{re.escape(fill_in_set(part, set_name))})"
        elif name in seen:
            expression += f"(?P<{name}_{i}>(?P={name}))"
        else:
            seen.add(name)
            expression += f"(?P<{name}>{_RESOLUTION if name == 'resolution' else '[^/]+'})"
            if name == "resolution":
                units = "ms" if parts[i + 1].startswith("ms") else "10ms" if parts[i - 1].endswith("score_ali_") else ""
    return re.compile(expression), units


def _label(match: re.Match[str], path: Path) -> str:
    """The name of a matching file without its seed and its set; that of the folder, if nothing else is left."""
    spans = [match.span(group) for group in match.re.groupindex if group.startswith(("seed", "set"))]
    if not spans:
        return path.name
    text = path.as_posix()
    for first, last in sorted(spans, reverse=True):
        text = text[:first] + text[last:]
    *folders, name = text.split("/")
    ending = unpacked_name(path.name)
    ending = path.name[len(ending) - len(Path(ending).suffix) :]  # with that of a packed file
    ending = ending if name.endswith(ending) else ""
    stem = name.removesuffix(ending).strip(_AROUND)
    return stem + ending if stem else next((one for one in map(_without_gaps, reversed(folders)) if one), "system")


def _without_gaps(text: str) -> str:
    return text.strip(_AROUND)


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


def seeds_below(folder: Path, found: Mapping[float, Sequence[Path]]) -> list[SystemFile]:
    """Score files of PartialSpoof's layout by hop, each named by the folder it lies in: its seed."""
    files = []
    for resolution, paths in found.items():
        folders = [path.parent.relative_to(folder).as_posix() for path in paths]
        for path, parent in zip(paths, folders, strict=True):
            seed = "" if len(paths) == 1 else parent if folders.count(parent) == 1 else f"{parent}/{path.name}"
            label = milliseconds(resolution) if seed else path.name
            files.append(SystemFile(str(path), resolution, seed=seed, label=label, argument=str(folder)))
    return files


# ---------------------------------------------------------------- systems and their seeds


def systems_of(files: Sequence[SystemFile]) -> dict[str, dict[str, SystemFile]]:
    """Group score files by system, and these by seed.

    A system without a name is called by its file, without the ending; files of one name, by their paths.
    """
    named = {one.system for one in files if one.system}
    stated = {name: {one.resolution for one in files if one.system == name and one.resolution} for name in named}
    return _named(files, {name for name in named if len(stated[name]) > 1}, endings=False)


def rows_of(files: Sequence[SystemFile]) -> dict[float, dict[str, SystemFile]] | dict[str, dict[str, SystemFile]]:
    """Group score files into the rows of a table, and these by seed.

    Rows are resolutions where these tell the files apart, or else systems, called by their files with the endings.
    """
    by_resolution: dict[float, dict[str, SystemFile]] = {}
    if all(one.resolution is not None and not one.system for one in files):
        for one in files:
            by_resolution.setdefault(one.resolution or 0.0, {})[one.seed] = one
        if sum(map(len, by_resolution.values())) == len(files):
            return dict(sorted(by_resolution.items()))
    several = len({one.resolution for one in files if one.system}) > 1
    return _named(files, {one.system for one in files if several}, endings=True)


def _named(files: Sequence[SystemFile], by_resolution: set[str], *, endings: bool) -> dict[str, dict[str, SystemFile]]:
    """Group files by system and seed; the systems ``by_resolution`` have theirs in their names."""
    groups: dict[tuple[Any, ...], list[SystemFile]] = {}
    for one in files:
        if one.system:
            key: tuple[Any, ...] = (one.system, one.resolution if one.system in by_resolution else None)
        else:  # without a name, a file is a system, unless its path states a seed
            key = (one.label, one.argument, one.resolution, "" if one.seed else one.path)
        groups.setdefault(key, []).append(one)
    # the first of these names that no other group has
    names: list[list[str]] = []
    for some in groups.values():
        one = some[0]
        stated = f" {milliseconds(one.resolution)}" if one.resolution else ""
        if one.system:
            names.append([one.system + (stated if one.system in by_resolution else "")])
            continue
        label = one.label if endings or "://" in one.label else Path(unpacked_name(one.label)).stem
        names.append([label, label + (stated if one.seed else ""), one.argument, one.path])
    taken = [Counter(row[min(level, len(row) - 1)] for row in names) for level in range(4)]
    chosen = [next((name for level, name in enumerate(row) if taken[level][name] == 1), row[-1]) for row in names]
    for name, times in Counter(chosen).items():
        if times > 1:
            raise UsageError(f"two systems have the same name, {name!r}; tell them apart with NAME=FILE")
    return {name: _seeds(name, some) for name, some in zip(chosen, groups.values(), strict=True)}


def _seeds(name: str, files: Sequence[SystemFile]) -> dict[str, SystemFile]:
    """The files of a system by seed; those without one by their names."""
    if len(files) == 1:
        return {files[0].seed: files[0]}
    if len({one.argument for one in files if not one.seed}) > 1:
        raise UsageError(
            f"two systems have the same name, {name!r}; tell them apart with NAME=FILE, or give the seeds of one as "
            f"{name}='GLOB'"
        )
    stems = [one.seed or Path(one.path).stem for one in files]
    seeds: dict[str, SystemFile] = {}
    for stem, one in zip(stems, files, strict=True):
        seed = stem if one.seed or stems.count(stem) == 1 else one.path
        other = seeds.setdefault(seed, one)
        if other is not one:
            raise UsageError(
                f"{other.path} and {one.path} would both be {name!r}, seed {seed!r}; tell them apart with {{seed}}, "
                "{system} or {resolution} in the pattern"
            )
    return seeds


# ---------------------------------------------------------------- reading


def join_parts(files: Sequence[SystemFile], read: Callable[[SystemFile], Any]) -> list[SystemFile]:
    """Replace files of one glob that score different utterances by the glob: they are parts of one system."""
    by_glob: dict[str, list[SystemFile]] = {}
    for one in files:
        by_glob.setdefault(one.glob or one.path, []).append(one)
    found = []
    for pattern, some in by_glob.items():
        parts = len(some) > 1 and len({one.resolution for one in some}) == 1
        parts = parts and set(read(some[0]).utterances).isdisjoint(read(some[1]).utterances)
        found += [replace(some[0], path=pattern, label=Path(some[0].argument).name)] if parts else some
    return found


def open_systems(
    files: Sequence[SystemFile],
    read: Callable[[SystemFile], V],
    group: Callable[[Sequence[SystemFile]], Mapping[Any, Mapping[str, SystemFile]]] = systems_of,
) -> Mapping[Any, Mapping[str, V]]:
    """Systems by name and seed, each file read when it is looked up."""
    kept: dict[str, V] = {}  # read to tell parts from seeds, and not yet looked up

    def keep(file: SystemFile) -> V:
        kept[file.path] = read(file)
        return kept[file.path]

    def look_up(file: SystemFile) -> V:
        return kept.pop(file.path) if file.path in kept else read(file)

    found = join_parts(files, keep)
    for path in kept.keys() - {one.path for one in found}:
        del kept[path]
    systems = group(found)
    return LazyMapping(systems, lambda name: LazyMapping(systems[name], lambda seed: look_up(systems[name][seed])))


def with_stated_hop(file: SystemFile, hop: float | None, read: Callable[[float | None], V]) -> V:
    """Read a file with the resolution that its path states as its hop, unless it has ranges or a hop of its own."""
    if hop is None and file.resolution is not None:
        try:
            return read(file.resolution)
        except UsageError:
            pass
    return read(hop)


def read_systems(
    arguments: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    set_name: str | None = None,
    hop: float | None = None,
    **how: Any,
) -> dict[str, Scores | dict[str, Scores]]:
    r"""Read the scores of several systems, as :func:`spoofspan.compare` and others take them.

    Parameters
    ----------
    arguments
        One or several of ``FILE``, ``NAME=FILE``, ``NAME=GLOB`` (its files are seeds), folders, and patterns with
        ``{system}``, ``{seed}``, ``{resolution}`` and ``{set}``, as on the command line (``docs/formats.md``).
    set_name
        The name that ``{set}`` stands for.
    hop, **how
        As in :func:`spoofspan.read_scores`. Without ``hop``, the resolution in the path is taken where a file states
        none.

    Returns
    -------
    dict
        Name -> scores; of a system with several seeds, name -> seed -> scores.

    Raises
    ------
    UsageError
        If a file does not exist or is given twice, or a placeholder is unknown.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for name in ("a_20ms.score", "b1_20ms.score", "b2_20ms.score"):
    ...         _ = (Path(folder) / name).write_text("u1 0 0.9 -0.9\nu1 1 0.1 -0.1\n")
    ...     systems = read_systems([f"{folder}/a_20ms.score", f"b={folder}/b*.score"])
    >>> list(systems), list(systems["b"])
    (['a_20ms', 'b'], ['b1_20ms', 'b2_20ms'])

    """

    def read(file: SystemFile) -> Scores:
        return with_stated_hop(file, hop, lambda stated: read_scores(file.path, hop=stated, **how))

    return nested(open_systems(find_systems(arguments, set_name=set_name), read))


def nested(systems: Mapping[str, Mapping[str, V]]) -> dict[str, V | dict[str, V]]:
    """Read all systems: name -> scores, or of several seeds name -> seed -> scores."""
    return {name: next(iter(one.values())) if len(one) == 1 else dict(one) for name, one in systems.items()}
