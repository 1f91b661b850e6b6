"""Files that are neither labels nor scores, told by their first bytes, with the command that takes them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from spoofspan.formats.sources import Source, typed_name
from spoofspan.formats.text.lines import first_lines, is_finite, is_number
from spoofspan.formats.text.utterance_tables import header_layout


@dataclass(frozen=True)
class OtherFile:
    """A sort of file."""

    kind: str
    whose: str
    command: str
    fits: Callable[[bytes], bool]
    may_be_read: bool = False  # by some format, which then says what is wrong with it

    def command_for(self, source: Source) -> str:
        """The command that takes this file."""
        return self.command.format(file=typed_name(source))


def _begins(*starts: bytes) -> Callable[[bytes], bool]:
    return lambda head: head.startswith(starts)


def _lines_fit(head: bytes, *fields: Callable[[str], bool]) -> bool:
    """True if all of the first lines have these fields."""
    rows = [line.split() for line in first_lines(head) if not line.startswith(";;")]
    return bool(rows) and all(
        len(row) == len(fields) and all(test(field) for test, field in zip(fields, row, strict=True)) for row in rows
    )


def _any(field: str) -> bool:
    return True


def _word(field: str) -> bool:
    return not is_number(field)


def _channel(field: str) -> bool:
    return re.fullmatch(r"\d\d?|[A-Z]", field) is not None


def _seconds(field: str) -> bool:
    return is_finite(field) and float(field) >= 0


def _json_with(*keys: str) -> Callable[[bytes], bool]:
    return lambda head: head.lstrip()[:1] == b"{" and all(f'"{key}"'.encode() in head for key in keys)


def _is_word_table(head: bytes) -> bool:
    layout = [name.strip().lower() for name in "".join(first_lines(head)[:1]).split(",")]
    return {"begin", "end", "label", "type"} <= set(layout)


def _is_metadata(head: bytes) -> bool:
    layout = header_layout(head)
    return layout is not None and not layout.json


WORDS_COMMAND = (
    "awk '{{print $1, $2, $3, $3 + $4}}' {file} > words.uem && spoofspan eval REFERENCES SCORES --regions words.uem"
)
OTHERS = (
    OtherFile("an empty file", "", "", lambda head: not head.strip()),
    OtherFile(
        "sound",
        "recorders, speech corpora",
        "spoofspan locate {file}",
        lambda head: (
            head[:4] in (b"fLaC", b"OggS", b"RF64", b"FORM", b"NIST")
            or (head[:4] == b"RIFF" and head[8:12] == b"WAVE")
            or head[:3] == b"ID3"
            or head[4:8] == b"ftyp"
            or head[:2] in (b"\xff\xfb", b"\xff\xf3", b"\xff\xf1")
        ),
    ),
    OtherFile(
        "model weights (safetensors)",
        "Hugging Face, spoofspan cm train",
        "spoofspan cm info FOLDER",
        lambda head: head[8:9] == b"{" and int.from_bytes(head[:8], "little") < 1 << 27,
    ),
    OtherFile("a tar archive", "tar", "tar -xf {file}", lambda head: head[257:262] == b"ustar"),
    OtherFile("a zip archive", "zip", "unzip {file}", _begins(b"PK\x03\x04"), may_be_read=True),
    OtherFile("a file packed with xz", "xz", "xz -dk {file}", _begins(b"\xfd7zXZ")),
    OtherFile("a file packed with bzip2", "bzip2", "bzip2 -dk {file}", _begins(b"BZh")),
    OtherFile("a 7z archive", "7-Zip", "7z x {file}", _begins(b"7z\xbc\xaf")),
    OtherFile(
        "an HDF5 or MATLAB file",
        "h5py, MATLAB",
        "python -c \"import h5py, numpy; numpy.savez('scores.npz', **{{k: v[()] for k, v in "
        "h5py.File('{file}').items()}})\"",
        _begins(b"\x89HDF", b"MATLAB 5.0"),
    ),
    OtherFile(
        "one array, without the names of utterances",
        "numpy.save",
        "python -c \"import numpy; numpy.savez('scores.npz', UTTERANCE=numpy.load('{file}'))\"",
        _begins(b"\x93NUMPY"),
        may_be_read=True,
    ),
    OtherFile(
        "a pickle",
        "pickle.dump",
        "spoofspan eval REFERENCES {file} --hop SECONDS --higher bonafide|spoof",
        _begins(b"\x80"),
        may_be_read=True,
    ),
    OtherFile("a picture", "", "", _begins(b"\x89PNG", b"\xff\xd8\xff", b"%PDF", b"GIF8")),
    OtherFile(
        "results of spoofspan",
        "spoofspan eval --format json",
        "spoofspan verify {file} REFERENCES SCORES",
        _json_with("spoofspan", "measurements"),
    ),
    OtherFile(
        "a fusion of several systems",
        "spoofspan fuse",
        "spoofspan fuse --apply {file} SCORES SCORES --out fused.tsv",
        lambda head: _json_with("spoofspan_calibration")(head) and b'fusion"' in head,
    ),
    OtherFile(
        "a calibration of one system",
        "spoofspan calibrate",
        "spoofspan calibrate --apply {file} SCORES --out calibrated.tsv",
        _json_with("spoofspan_calibration"),
    ),
    OtherFile(
        "a published result, without scores",
        "the Speech Anti-Spoofing Arena (result.yaml), Hugging Face (.eval_results, model-index)",
        "",
        lambda head: b"eer_percent" in head or b"model-index" in head,
    ),
    OtherFile(
        "scores of a speaker verification system",
        "ASVspoof",
        "spoofspan eval KEY SCORES --asv-scores {file} -m utterance-min-tdcf",
        lambda head: _lines_fit(head, _any, {"target", "nontarget", "spoof"}.__contains__, is_number),
    ),
    OtherFile(
        "scores of a speaker verification system",
        "ASVspoof 5",
        "spoofspan eval KEY SCORES --asv-scores {file} -m utterance-min-tdcf",
        lambda head: (layout := header_layout(head)) is not None and "asv-score" in layout.names,
    ),
    OtherFile(
        "words in time (CTM), without labels",
        "NIST, Kaldi, Montreal Forced Aligner",
        WORDS_COMMAND,
        lambda head: (
            _lines_fit(head, _any, _any, _seconds, _seconds, _word)
            or _lines_fit(head, _any, _any, _seconds, _seconds, _word, is_number)
        ),
    ),
    OtherFile(
        "words or phones in time, without labels",
        "Montreal Forced Aligner (CSV)",
        'awk -F, \'FNR > 1 && $4 == "words" {{n = FILENAME; gsub(/.*\\/|\\.csv$/, "", n); print n, 1, $1, $2}}\' '
        "{file} > words.uem && spoofspan eval REFERENCES SCORES --regions words.uem",
        _is_word_table,
    ),
    OtherFile(
        "regions that count (UEM)",
        "NIST, PartialSpoof",
        "spoofspan eval REFERENCES SCORES --regions {file}",
        lambda head: (
            (_lines_fit(head, _word, _channel, _seconds, _seconds) or _lines_fit(head, _word, _seconds, _seconds))
            and all(float(start) <= float(end) for *_, start, end in map(str.split, first_lines(head)) if _seconds(end))
        ),
    ),
    OtherFile(
        "durations (reco2dur)",
        "Kaldi, PartialSpoof",
        "spoofspan eval REFERENCES SCORES --durations {file}",
        lambda head: _lines_fit(head, _word, lambda field: is_finite(field) and float(field) > 0),
    ),
    OtherFile(
        "metadata",
        "pandas and others",
        "spoofspan eval REFERENCES SCORES --metadata {file} --by COLUMN",
        _is_metadata,
        may_be_read=True,
    ),
    OtherFile(
        "UTF-16 text",
        "Windows",
        "iconv -f utf-16 -t utf-8 {file} > text.txt",
        _begins(b"\xff\xfe", b"\xfe\xff"),
        may_be_read=True,
    ),
)
