"""Damaged files: each is read as the valid file it still is, or refused by name. Never anything else.

Every format of the package is damaged in every way below, always the same way (the dice are seeded by the names).
"""

import contextlib
import gzip
import json
import random
import re
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import command_line
import format_samples as samples
import numpy as np
import pyarrow as pa
import pytest

import spoofspan as ss
from spoofspan.formats.reading import read_proposals, read_utterance_scores
from spoofspan.formats.registry import PROPOSAL_FORMATS, REFERENCE_FORMATS, SCORE_FORMATS, UTTERANCE_SCORE_FORMATS
from spoofspan.formats.sources import sources
from spoofspan.formats.text.durations import read_durations
from spoofspan.formats.text.protocol import read_protocol
from spoofspan.formats.text.rttm import read_regions

pytestmark = pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")

IDS = ("CON_1", "CON_2")
SECONDS_PER_CASE = 20


# --- what is damaged


@dataclass(frozen=True)
class Target:
    """Files (the first one gets damaged), and the reader."""

    files: dict[str, bytes]
    read: Callable[[Path], Any]
    is_text: bool = True
    opens_folder: bool = False


def _references(name: str) -> Target:
    sample = samples.written_references(name, IDS)

    def read(where):
        with contextlib.suppress(ss.SpoofspanError):
            REFERENCE_FORMATS.recognise(sources(where)[0])
        return ss.read_references(where, format=name, **sample.options)

    return Target(sample.files, read, sample.is_text, sample.one_file_each)


def _scores(name: str) -> Target:
    sample = samples.foreign_scores(name, IDS)

    def read(where):
        with contextlib.suppress(ss.SpoofspanError):
            SCORE_FORMATS.recognise(sources(where)[0])
        return ss.read_scores(where, format=name, **sample.options)

    return Target(sample.files, read, sample.is_text)


def _utterance_scores(name: str) -> Target:
    options = samples.TOLD_OF_UTTERANCES.get(name, {})
    content = samples.UTTERANCE_LINES[name].encode()
    return Target({"scores.txt": content}, lambda where: read_utterance_scores(where, name, **options))


OTHERS = {
    **{name: _utterance_scores(name) for name in samples.UTTERANCE_LINES},
    "proposals": Target(
        {"proposals.json": b'{"a/u1.mp4": [[0.9, 0.5, 1.25],\n [0.4, 0.0, 2.0]],\n "a/u2.mp4": []}\n'}, read_proposals
    ),
    "proposals-csv": Target(
        {"proposals.csv": b"utterance,start,end,confidence\nu1,0.5,1.25,0.9\nu1,0.0,2.0,0.4\nu2,,,\n"},
        lambda where: read_proposals(where, format="proposals-csv"),
    ),
    "cfprf-proposals": Target(
        {"HAD_cp_dict.npy": samples._saved(lambda to: np.save(to, {"u1": [[0.9, 0.5, 1.25]], "u2": np.array([])}))},
        lambda where: read_proposals(where, format="cfprf-proposals"),
        is_text=False,
    ),
    "reco2dur": Target({"reco2dur": b"u1 3.458062 \nu2 1.5 \nu3 0.25 \n"}, read_durations),
    "uem": Target({"part.uem": b";; all\nu1 1 0.0 1.5\nu1 1 2.0 3.0\nu2 1 0.25 1.0\n"}, read_regions),
    "protocol": Target(
        {"protocol.txt": b"LA_1 u1 - CON spoof\nLA_2 u2 - - bonafide\nLA_3 u3 - A07 spoof\n"}, read_protocol
    ),
}
TARGETS = (
    {f"references-{name}": _references(name) for name in samples.REFERENCE_FILES}
    | {f"scores-{name}": _scores(name) for name in samples.FOREIGN}
    | OTHERS
)


def test_every_reader_is_damaged():
    assert set(TARGETS) == {
        *(f"references-{name}" for name in REFERENCE_FORMATS.formats.keys() - samples.NOT_HERE),
        *(f"scores-{name}" for name in SCORE_FORMATS.formats.keys() - samples.NOT_HERE),
        *UTTERANCE_SCORE_FORMATS.formats,
        *PROPOSAL_FORMATS.formats,
        *("reco2dur", "uem", "protocol"),
    }
    assert all(len(DAMAGES) + target.is_text * len(TEXT_DAMAGES) >= 30 for target in TARGETS.values())


# --- how it is damaged

Damage = Callable[[bytes, random.Random], bytes]
NUMBER = re.compile(rb"-?\d+\.\d+")


def _flip(times: int) -> Damage:
    def flip(content, dice):
        changed = bytearray(content)
        for _ in range(times):
            changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
        return bytes(changed)

    return flip


def _insert(what: bytes) -> Damage:
    def insert(content, dice):
        at = dice.randrange(len(content))
        return content[:at] + what + content[at:]

    return insert


def _cut_out(length: int) -> Damage:
    def cut_out(content, dice):
        at = dice.randrange(len(content))
        return content[:at] + content[at + length :]

    return cut_out


def _overwrite(what: bytes) -> Damage:
    def overwrite(content, dice):
        at = dice.randrange(len(content))
        return (content[:at] + what + content[at + len(what) :])[: len(content)]

    return overwrite


def _packed(change: Callable[[bytes], bytes]) -> Damage:
    return lambda content, dice: change(gzip.compress(content, mtime=0))


def _lines(change: Callable[[list[bytes], random.Random], list[bytes]]) -> Damage:
    return lambda content, dice: b"".join(change(content.splitlines(keepends=True), dice))


def _line(change: Callable[[bytes, random.Random], bytes]) -> Damage:
    def one_line(lines, dice):
        at = dice.randrange(len(lines))
        return [*lines[:at], change(lines[at], dice), *lines[at + 1 :]]

    return _lines(one_line)


def _number(text: bytes, every: bool = False) -> Damage:
    """One number (or every one) becomes this."""

    def change(content, dice):
        found = list(NUMBER.finditer(content))
        for one in reversed(found if every else [dice.choice(found)] if found else []):
            content = content[: one.start()] + text.replace(b"*", one[0]) + content[one.end() :]
        return content

    return change


def _fields(change: Callable[[list[bytes], random.Random], list[bytes]]) -> Damage:
    def one_line(line, dice):
        separator = next((mark for mark in (b"\t", b";", b",", b" ") if mark in line), b" ")
        end = line[len(line.rstrip(b"\r\n")) :]
        return separator.join(change(line[: len(line) - len(end)].split(separator), dice)) + end

    return _line(one_line)


def _swap(items, dice):
    a, b = dice.randrange(len(items)), dice.randrange(len(items))
    items[a], items[b] = items[b], items[a]
    return items


def _without_one(items, dice):
    at = dice.randrange(len(items))
    return items[:at] + items[at + 1 :]


def _one_twice(items, dice):
    at = dice.randrange(len(items))
    return [*items[: at + 1], *items[at:]]


def _decimal_comma(content, dice):
    return NUMBER.sub(lambda found: found[0].replace(b".", b","), content)


DAMAGES: dict[str, Damage] = {
    "empty": lambda content, dice: b"",
    "blank": lambda content, dice: b" \n\n",
    "twice": lambda content, dice: content * 2,
    "another file": lambda content, dice: b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
    "garbage before": lambda content, dice: b"\x80\x02garbage" + content,
    "garbage after": lambda content, dice: content + b"\x80\x02garbage",
    "all zeros": lambda content, dice: bytes(len(content)),
    **{f"cut at {at} %": lambda content, dice, at=at: content[: len(content) * at // 100] for at in range(7, 100, 7)},
    "last byte cut": lambda content, dice: content[:-1],
    **{f"bit flipped {i}": _flip(1) for i in range(6)},
    **{f"bits flipped {i}": _flip(8) for i in range(4)},
    **{f"zeros {i}": _overwrite(bytes(8)) for i in range(2)},
    **{f"ones {i}": _overwrite(b"\xff" * 8) for i in range(2)},
    "byte lost": _cut_out(1),
    "bytes lost": _cut_out(40),
    "NUL": _insert(b"\0"),
    "not UTF-8": _insert(b"\xe9"),
    **{
        f"gz cut at {at} %": _packed(lambda packed, at=at: packed[: len(packed) * at // 100])
        for at in (10, 30, 50, 70, 90)
    },
    "gz last byte cut": _packed(lambda packed: packed[:-1]),
    "gz wrong sum": _packed(lambda packed: packed[:-8] + bytes([packed[-8] ^ 1]) + packed[-7:]),
    "gz garbage after": _packed(lambda packed: packed + b"garbage"),
    "zst cut": lambda content, dice: pa.compress(content, "zstd", asbytes=True)[:-5],
    "zst cut in half": lambda content, dice: (packed := pa.compress(content, "zstd", asbytes=True))[: len(packed) // 2],
}
TEXT_DAMAGES: dict[str, Damage] = {
    "line lost": _lines(_without_one),
    "first line lost": _lines(lambda lines, dice: lines[1:]),
    "last line lost": _lines(lambda lines, dice: lines[:-1]),
    "line twice": _lines(_one_twice),
    "lines swapped": _lines(_swap),
    "lines shuffled": _lines(lambda lines, dice: dice.sample(lines, len(lines))),
    "line split": _line(lambda line, dice: line[: len(line) // 2] + b"\n" + line[len(line) // 2 :]),
    "line ends lost": lambda content, dice: content.replace(b"\n", b""),
    "CR only": lambda content, dice: content.replace(b"\n", b"\r"),
    **{f"fields swapped {i}": _fields(_swap) for i in range(3)},
    "field lost": _fields(_without_one),
    "field twice": _fields(_one_twice),
    "field empty": _fields(lambda fields, dice: [b"" if i == len(fields) - 1 else f for i, f in enumerate(fields)]),
    "header": lambda content, dice: b"utterance start end label score\n" + content,
    "decimal commas": _decimal_comma,
    "decimal comma": _line(_decimal_comma),
    "NaN": _number(b"nan"),
    "NaN everywhere": _number(b"NaN", every=True),
    "infinite": _number(b"inf"),
    "minus infinite": _number(b"-inf"),
    "too large for a double": _number(b"1e400"),
    "large": _number(b"1e30"),
    "large everywhere": _number(b"1e300", every=True),
    "thousand digits": _number(b"9" * 1000),
    "milliseconds": _number(b"*000"),
    "negative": _number(b"-*"),
    "negative everywhere": _number(b"-*", every=True),
    "tiny": _number(b"1e-400"),
    "underscores": _number(b"0_1.5", every=True),
    "other digits": _number("١.٥".encode(), every=True),
    "hexadecimal": _number(b"0x1.8p1", every=True),
    "quoted": _number(b'"*"'),
    "UTF-16": lambda content, dice: content.decode().encode("utf-16"),
    "mark within": _insert(b"\xef\xbb\xbf"),
    "escape": _insert(b"\x1b[2J"),
    "surrogate": _insert(b"\xed\xa0\x80"),
    "line separator": _insert("\u2028".encode()),
    "quote": _insert(b'"'),
    "brackets": _insert(b"[" * 5000),
}
# These never leave a valid file behind, where they change it at all.
FATAL = {
    *("empty", "blank", "another file", "garbage before", "all zeros", "NaN everywhere"),
    *("decimal commas", "underscores", "other digits", "hexadecimal", "UTF-16"),
    *(damage for damage in DAMAGES if damage.startswith(("gz cut", "gz last", "gz wrong", "zst"))),
}
# Exceptions: without a line these say "no ranges"; a zip may follow anything.
NOT_FATAL = {
    *((f"references-{name}", damage) for name in ("rttm", "audacity") for damage in ("empty", "blank")),
    # its times are whole numbers; the versions of XML and of ELAN are the only decimals
    *(("references-elan", damage) for damage in ("NaN everywhere", "underscores", "hexadecimal")),
    ("references-npz", "garbage before"),
    ("references-textgrid", "UTF-16"),  # as Praat writes it
    ("scores-npz", "garbage before"),
}
# These are wrong at one place of a text file, so that is named.
ONE_PLACE = {
    *("NaN", "infinite", "minus infinite", "large", "negative", "decimal comma", "field lost", "field twice", "header"),
    *(damage for damage in TEXT_DAMAGES if damage.startswith("fields swapped")),
}
# More of the same. Files of torch.save are read in a process of their own each, and are damaged once in each way.
AGAIN = re.compile(r"cut at (?!49)|(bits? flipped|ones|zeros) [1-9]|gz cut at (?!50)")
PLACE = re.compile(r":\d+|\[\d+\]|utterance|item|row|line|column|begins with")
CASES = [
    (name, damage)
    for name, target in TARGETS.items()
    for damage in (*DAMAGES, *(TEXT_DAMAGES if target.is_text else ()))
    if not (name.endswith("-torch") and AGAIN.match(damage))
]


# --- what may come of it


class TooLong(BaseException):
    """Not an Exception, so that nothing on the way takes it for one of its own."""


@contextlib.contextmanager
def time_limit(seconds):
    """Stop what takes more seconds of CPU; of a clock it may take ten times as many, on a busy machine."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_):
        raise TooLong

    timers = {signal.ITIMER_PROF: (signal.SIGPROF, seconds), signal.ITIMER_REAL: (signal.SIGALRM, 10 * seconds)}
    before = {number: signal.signal(number, stop) for number, _ in timers.values()}
    for timer, (_, limit) in timers.items():
        signal.setitimer(timer, limit)
    try:
        yield
    finally:
        for timer in timers:
            signal.setitimer(timer, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def numbers_in(found):
    """All numbers of what was read."""
    if isinstance(found, dict):
        return np.array([x for value in found.values() for x in np.ravel(value)], float)
    arrays = [array for array in vars(found).values() if isinstance(array, np.ndarray) and array.dtype.kind in "fiu"]
    return np.concatenate([np.ravel(array).astype(float) for array in arrays]) if arrays else np.empty(0)


def measured(found):
    """Measure what was read, if it can be."""
    if isinstance(found, ss.References):
        return ss.range_eer(found, samples.scores(IDS), gaps="bonafide", nonspeech="ignore", partial=True).value
    if isinstance(found, ss.Scores):
        return ss.range_eer(samples.references(IDS), found, partial=True).value
    return 0.0


# damaged in one more way of the same kind
@pytest.mark.slow_cases("-(cut at (?!49)|bits? flipped [1-9]|gz cut at (?!50))", "-torch-(?!empty|garbage before)")
@pytest.mark.parametrize(("name", "damage"), CASES)
def test_a_damaged_file_is_refused_by_name_or_still_valid(name, damage, tmp_path):
    target = TARGETS[name]
    first = next(iter(target.files))
    for file, content in target.files.items():
        (tmp_path / file).write_bytes(content)
    change = DAMAGES.get(damage) or TEXT_DAMAGES[damage]
    damaged = change(target.files[first], random.Random(f"{name} {damage}"))
    (tmp_path / first).write_bytes(damaged)
    refusal = found = None
    with time_limit(SECONDS_PER_CASE):
        try:
            found = target.read(tmp_path if target.opens_folder else tmp_path / first)
        except ss.SpoofspanError as error:
            refusal = str(error)
        else:
            with contextlib.suppress(ss.SpoofspanError):
                assert 0 <= measured(found) <= 1
    if refusal is None:
        assert damage not in FATAL or (name, damage) in NOT_FATAL or damaged == target.files[first]
        assert not np.isnan(numbers_in(found)).any()
    else:
        # a file per utterance is called as the utterance
        assert (first.rpartition(".")[0] if target.opens_folder else first) in refusal
        assert damage not in ONE_PLACE or PLACE.search(refusal.replace(str(tmp_path), ""))


# --- on the command line: a sentence that names the place, the exit code, and no number

RTTM = "SPEAKER {utt} 1 {start} {length} <NA> <NA> {label} <NA> <NA>\n"


def rttm(*rows):
    return "".join(RTTM.format(utt=utt, start=a, length=b, label=label) for utt, a, b, label in rows)


def frames(count=100, utt="u1", **others):
    """Lines of a unit-score; ``f7="..."`` is what frame 7 has instead."""
    lines = (f"{utt} {k} {others.get(f'f{k}', '0.5 -0.5' if k < 50 else '-0.5 0.5')}\n" for k in range(count))
    return "".join(line for line in lines if "lost" not in line)


GOOD = {
    "ref": rttm(("u1", "0.000", "1.000", "bonafide"), ("u1", "1.000", "1.000", "spoof")),
    "unit0.02.score": frames(),
    "reco2dur": "u1 2.0\n",
}
# what differs from the good files, and what must be said
REFUSED = {
    "NaN in the scores": ({"unit0.02.score": frames(f7="0.5 nan")}, r"unit0\.02\.score:8: .*'u1'.*NaN"),
    "NaN in the references": ({"ref": rttm(("u1", "nan", "1.0", "spoof"))}, r"ref:1: .*not finite"),
    "NaN in the durations": ({"reco2dur": "u1 nan\n"}, r"reco2dur:1: .*'u1'"),
    "end before start": ({"ref": "u1 2.0 spoof 1.500-1.000-spoof\n"}, r"ref:1: .*'u1'.*ends before"),
    "negative length": ({"ref": rttm(("u1", "1.000", "-0.5", "spoof"))}, r"ref:1: .*negative"),
    "negative time": ({"ref": rttm(("u1", "-0.5", "1.0", "spoof"))}, r"ref:1: .*'u1'.*before 0"),
    "overlapping labels": (
        {"ref": rttm(("u1", "0.0", "1.5", "bonafide"), ("u1", "1.0", "1.0", "spoof"))},
        r"'u1'.*overlap",
    ),
    "frame twice": ({"unit0.02.score": frames() + "u1 99 0.5 -0.5\n"}, r"unit0\.02\.score:101, .*'u1'"),
    "utterance twice": (
        {"unit0.02.score": frames() + frames(1, "u2") + frames(1)},
        r"unit0\.02\.score:102, .*'u1'",
    ),
    "frame missing": ({"unit0.02.score": frames(f42="lost")}, r"unit0\.02\.score:43, .*42.*missing"),
    "only in the scores": ({"unit0.02.score": frames() + frames(utt="u2")}, r"'u2'"),
    "only in the references": (
        {"ref": GOOD["ref"] + rttm(("u2", "0.0", "1.0", "spoof")), "reco2dur": "u1 2.0\nu2 1.0\n"},
        r"'u2'",
    ),
    "scores too long": ({"unit0.02.score": frames(104)}, r"'u1'.*--overlong"),
    "scores too short": ({"unit0.02.score": frames(95)}, r"'u1'.*--uncovered"),
    "gap": ({"ref": rttm(("u1", "0.0", "1.0", "bonafide"), ("u1", "1.5", "0.5", "spoof"))}, r"'u1'.*--gaps"),
    "milliseconds": (
        {"ref": rttm(("u1", "0", "1000", "bonafide"), ("u1", "1000", "1000", "spoof"))},
        r"ref:\d: .*milliseconds",
    ),
    "decimal commas in the scores": (
        {"unit0.02.score": frames().replace(".5", ",5")},
        r"unit0\.02\.score.*(decimal point|recognised)",
    ),
    "decimal commas in the references": (
        {"ref": rttm(("u1", "0,000", "1,000", "bonafide"))},
        r"ref:1: .*decimal point",
    ),
    "decimal commas in the durations": ({"reco2dur": "u1 2,0\n"}, r"reco2dur:1: .*2,0"),
    "header of the scores": (
        {"unit0.02.score": "utt frame bonafide spoof\n" + frames()},
        r"unit0\.02\.score.*(header|recognised)",
    ),
    "header of the durations": ({"reco2dur": "utt duration\n" + GOOD["reco2dur"]}, r"reco2dur:1: .*duration"),
    "unknown label": ({"ref": rttm(("u1", "0.0", "1.0", "banana"))}, r"ref:1: .*'u1'.*'banana'"),
    "empty references": ({"ref": ""}, r"ref: .*empty"),
    "empty scores": ({"unit0.02.score": "\n"}, r"unit0\.02\.score: .*empty"),
    "references not UTF-8": (
        {"ref": GOOD["ref"].encode() + rttm(("\xe9", "0", "1", "spoof")).encode("latin-1")},
        r"ref(:3)?: .*(UTF-8|recognised)",
    ),
    "scores not UTF-8": (
        {"unit0.02.score": frames().encode() + "\xe9 0 0.5 -0.5\n".encode("latin-1")},
        r"unit0\.02\.score(:101)?: .*(UTF-8|recognised)",
    ),
}
# format, name of the file, and what must be told
TRUNCATED = {
    "unit-score": ("unit0.02.score.gz", []),
    "partialspoof-pickle": ("eval_score_ali_2_20230101.pkl", []),
    **{
        name: (f"scores{end}", ["--hop", "0.02", "--higher", "spoof"])
        for name, end in (("parquet", ".parquet"), ("arrow", ".arrow"), ("npz", ".npz"), ("npy-dict", ".npy"))
    },
}


@pytest.fixture
def spoofspan(capsys):
    """The command, in this process: exit code, what it printed, what it said."""

    def run(*arguments):
        code, printed = command_line.run(arguments, capsys)
        return code, printed.out, printed.err

    return run


def written(folder, **changed):
    """The good files, some of them changed, as arguments of `eval`."""
    for name, content in (GOOD | changed).items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return [folder / "ref", folder / "unit0.02.score", "--durations", folder / "reco2dur", "-m", "range-eer"]


def test_the_good_files_are_good(spoofspan, tmp_path):
    code, printed, _ = spoofspan("eval", *written(tmp_path), "--format", "json")
    assert code == 0
    assert json.loads(printed)["measurements"][0]["value"] == 0


@pytest.mark.parametrize("case", REFUSED)
def test_bad_data_have_exit_code_3_and_no_number(case, spoofspan, tmp_path):
    changed, message = REFUSED[case]
    code, printed, said = spoofspan("eval", *written(tmp_path, **changed))
    assert (code, printed) == (3, "")
    assert said.startswith("error: ")
    assert re.search(message, said, re.DOTALL), said


def test_one_class_only_has_exit_code_4_and_no_number(spoofspan, tmp_path):
    changed = {"ref": rttm(("u1", "0.0", "2.0", "spoof"))}
    code, printed, said = spoofspan("eval", *written(tmp_path, **changed))
    assert (code, printed) == (4, "")
    assert "bona" in said


@pytest.mark.parametrize("at", [0.2, 0.6, 0.95])
@pytest.mark.parametrize("name", TRUNCATED)
def test_truncated_files_have_exit_code_3_and_no_number(name, at, spoofspan, tmp_path):
    arguments = written(tmp_path)
    file, told = TRUNCATED[name]
    (content,) = samples.foreign_scores(name, IDS).files.values()
    content = gzip.compress(content) if file.endswith(".gz") else content
    arguments[1] = tmp_path / file
    arguments[1].write_bytes(content[: int(at * len(content))])
    code, printed, said = spoofspan("eval", *arguments, *told, "--scores-format", name)
    assert (code, printed) == (3, "")
    assert file in said


def test_two_files_of_one_utterance_are_refused(spoofspan, tmp_path):
    arguments = written(tmp_path)
    (tmp_path / "more_20ms.score").write_text(frames())
    arguments[1] = tmp_path / "*.score"
    code, printed, said = spoofspan("eval", *arguments)
    assert (code, printed) == (3, "")
    assert re.search(r"score: .*'u1' is in .*score as well", said)


def test_an_eer_over_a_half_is_printed_as_it_is_and_warned_about(spoofspan, tmp_path):
    wrong = frames().replace(" 0.5 -0.5", " x").replace(" -0.5 0.5", " 0.5 -0.5").replace(" x", " -0.5 0.5")
    code, printed, said = spoofspan("eval", *written(tmp_path, **{"unit0.02.score": wrong}), "--format", "json")
    assert code == 0
    assert json.loads(printed)["measurements"][0]["value"] > 0.5
    assert "warning" in said
    assert "higher" in said


def test_control_characters_of_ids_are_escaped_wherever_they_are_printed(spoofspan, tmp_path):
    strange = "u\x1b[2J\u202e\x07"
    changed = {name: content.replace("u1", strange) for name, content in GOOD.items()}
    arguments = written(tmp_path, **changed | {"unit0.02.score": frames(95, strange)})
    for command in (["eval", *arguments], ["check", *arguments[:4]]):
        code, printed, said = spoofspan(*command)
        assert code == 3
        assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", printed + said), (printed, said)
        assert "x1b" in printed + said


@pytest.mark.parametrize("mark", "=+-@")
def test_ids_are_no_formulas_in_a_sheet(mark, spoofspan, tmp_path):
    changed = {name: content.replace("u1", f"{mark}cmd|1") for name, content in GOOD.items()}
    code, _, said = spoofspan("eval", *written(tmp_path, **changed), "--per-utterance", tmp_path / "by.csv")
    assert code == 0, said
    assert f"\n'{mark}cmd|1," in (tmp_path / "by.csv").read_text()
