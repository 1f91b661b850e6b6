"""What may come of a damaged file: a refusal that names it, or numbers. Shared by `tools/attack.py` and its old cases.

A case is a target (a reader, or a command) and the bytes of its first file. :func:`judge` says what is wrong with what
came of it, or nothing.
"""

import contextlib
import io
import resource
import sys
import wave
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from attack_strangers import HAS_MODELS, strangers  # noqa: F401  (for the tests)

import spoofspan as ss
from spoofspan.cli import main
from spoofspan.formats.sound import Sound

sys.path.append(str(Path(__file__).parent / "formats"))
from test_malformed_files import IDS, TARGETS, TooLong, measured, numbers_in, time_limit

SECONDS = 10
MEGABYTES = 500  # more than before
STARTS_A_PROCESS = ("scores-partialspoof-pickle", "scores-npy-dict")
BUILDS_A_MODEL = ("model-model", "model-front_end", "model-zip", "model-tar", "submission-zip")
COMMANDS = {
    "command-eval": ("eval", "{ref}", "{scores}", "--durations", "{dur}"),
    "command-eval-stream": ("eval", "{ref}", "{scores}", "--durations", "{dur}", "--stream", "-m", "range-eer"),
    "command-check": ("check", "{ref}", "{scores}", "--durations", "{dur}"),
    "command-convert": ("convert", "{scores}", "{out}/scores.parquet"),
    "command-report": ("report", "{ref}", "{scores}", "--durations", "{dur}", "--out", "{out}/page.html"),
    "command-compare": ("compare", "{ref}", "a={scores}", "b={scores}", "--durations", "{dur}", "--replicates", "200"),
    "command-table": ("table", "{ref}", "{scores}", "--durations", "{dur}"),
    "command-calibrate": ("calibrate", "{ref}", "{scores}", "--durations", "{dur}", "--out", "{out}/calibration.json"),
    "command-plan": ("plan", "{ref}", "{scores}", "--durations", "{dur}"),
    "command-diff": ("diff-references", "{ref}", "{ref2}", "--durations", "{dur}"),
}
DAMAGED_SCORES = tuple(f"command-{name}" for name in ("convert", "check", "eval-stream", "compare", "calibrate"))
EXIT_CODES = (0, 2, 3, 4)
STATUS = Path("/proc/self/status")


def _wav() -> bytes:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16_000)
        file.writeframes((np.sin(np.arange(1600) / 9) * 9000).astype("<i2").tobytes())
    return buffer.getvalue()


@dataclass(frozen=True)
class Attacked:
    """The good files of a target (the first gets damaged), and what is done with them."""

    files: dict[str, bytes]
    use: Callable[[Path], None]
    is_text: bool = True
    is_inner: bool = False  # damaged inside as well, by tests/attack_strangers.py


def _or_named(read: Callable[[], Any], file: str) -> Any:
    """What is read; None if that is refused by name."""
    try:
        return read()
    except ss.SpoofspanError as error:
        refusal = str(error)
    assert file in refusal, f"the refusal does not name the file: {refusal}"
    return None


def _read(name: str) -> Attacked:
    target = TARGETS[name]
    first = next(iter(target.files))

    def use(folder: Path) -> None:
        where = folder if target.opens_folder else folder / first
        # a file per utterance is called as the utterance
        found = _or_named(lambda: target.read(where), first.rpartition(".")[0] if target.opens_folder else first)
        if found is None:
            return
        assert not np.isnan(numbers_in(found)).any(), "a number is NaN"
        with contextlib.suppress(ss.SpoofspanError):
            assert 0 <= measured(found) <= 1, "a rate is no rate"

    return Attacked(target.files, use, target.is_text)


def _sound() -> Attacked:
    def use(folder: Path) -> None:
        samples = _or_named(lambda: Sound(folder / "sound.wav", "sound.wav").read(), "sound.wav")
        assert samples is None or np.isfinite(samples).all(), "a sample is no number"

    return Attacked({"sound.wav": _wav()}, use, is_text=False)


def _command(name: str) -> Attacked:
    from format_samples import foreign_scores, written_references

    reference = written_references("rttm", IDS).files["ref.rttm"]
    scores = foreign_scores("unit-score", IDS).files["unit0.02.score"]
    durations = "".join(f"{utt} 1.0\n" for utt in IDS).encode()
    files = {"ref.rttm": reference, "unit0.02.score": scores, "reco2dur": durations, "ref2.rttm": reference}
    if name in DAMAGED_SCORES:
        files = {"unit0.02.score": scores, **files}

    def use(folder: Path) -> None:
        names = {"ref": "ref.rttm", "scores": "unit0.02.score", "dur": "reco2dur", "ref2": "ref2.rttm"}
        places = {key: str(folder / file) for key, file in names.items()} | {"out": str(folder)}
        arguments = [word.format(**places) for word in COMMANDS[name]]
        out, err = io.StringIO(), io.StringIO()
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            mock.patch("sys.argv", ["spoofspan", *arguments]),
        ):
            try:
                main()
                code: object = 0
            except SystemExit as stop:
                code = stop.code or 0
        assert code in EXIT_CODES, f"exit code {code}: {err.getvalue()[-300:]}"
        assert "Traceback" not in err.getvalue(), err.getvalue()[-300:]
        # `check` prints what is wrong and ends with 3
        assert code == 0 or name == "command-check" or not out.getvalue(), (
            f"exit code {code} and an answer: {out.getvalue()[:200]}"
        )
        assert code == 0 or err.getvalue() or out.getvalue(), f"exit code {code} without a word"
        made = [path.name for path in folder.iterdir() if path.name not in files]
        assert not [name for name in made if ".part" in name], f"left behind: {made}"

    return Attacked(files, use)


@cache
def attacked(*, models: bool = True) -> dict[str, Attacked]:
    """Every reader, sound, what else strangers send, and the commands; models need torch."""
    readers = {name: _read(name) for name in TARGETS}
    others = {
        name: Attacked(files, use, is_text=False, is_inner=True) for name, (files, use) in strangers(models).items()
    }
    return readers | {"sound": _sound()} | others | {name: _command(name) for name in COMMANDS}


def peak_megabytes() -> float:
    """The most memory that this process has taken, since :func:`_forget_peak` if the system can forget it."""
    if STATUS.is_file():
        line = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / (1 << 10)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def _forget_peak() -> float:
    """Let the peak of memory begin anew; returns where it begins."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return peak_megabytes()


def judge(target: Attacked, content: bytes, folder: Path) -> str | None:
    """Use a damaged file; what is wrong with what came of it, or None."""
    first = next(iter(target.files))
    for name, good in target.files.items():
        (folder / name).write_bytes(content if name == first else good)
    before = _forget_peak()
    try:
        with time_limit(SECONDS):
            target.use(folder)
    except TooLong:
        return f"takes more than {SECONDS} s"
    except AssertionError as error:
        return f"{error}"
    except BaseException as error:  # whatever it is, it should not have come out
        if isinstance(error, KeyboardInterrupt):
            raise
        return f"{type(error).__name__}: {error}"
    finally:
        for path in folder.iterdir():
            path.unlink()
    grown = peak_megabytes() - before
    return f"takes {grown:.0f} MB" if grown > MEGABYTES else None
