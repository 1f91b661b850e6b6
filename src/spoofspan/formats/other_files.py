"""Files that are neither labels nor scores, told by their first bytes, with the command that takes them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from spoofspan.formats.recognition import (
    Begins,
    Lines,
    Recognises,
    anything,
    first_line,
    is_name,
    is_seconds,
    one_of,
)
from spoofspan.formats.sources import Source, typed_name
from spoofspan.formats.text.lines import is_number
from spoofspan.formats.text.utterance_tables import Header


@dataclass(frozen=True)
class OtherFile:
    """A sort of file."""

    kind: str
    whose: str
    command: str
    fits: Recognises
    may_be_read: bool = False  # by some format, which then says what is wrong with it

    def command_for(self, source: Source) -> str:
        """The command that takes this file."""
        return self.command.format(file=typed_name(source))


def _json_with(*keys: str) -> Begins:
    return Begins(r"\{", lambda head: all(f'"{key}"'.encode() in head for key in keys))


def _is_word_table(head: bytes) -> bool:
    return {"begin", "end", "label", "type"} <= {name.strip().lower() for name in first_line(head).split(",")}


def _lasts(field: str) -> bool:
    return is_seconds(field) and float(field) > 0


def _is_region(row: list[str]) -> bool:
    """True if the line of an utterance ends in two times, after a channel or not."""
    channel = len(row) == 3 or (len(row) == 4 and re.fullmatch(r"\d\d?|[A-Z]", row[1]) is not None)
    return channel and is_seconds(row[-2]) and is_seconds(row[-1]) and float(row[-2]) <= float(row[-1])


COMMENT = ";;"
WORDS_COMMAND = (
    "awk '{{print $1, $2, $3, $3 + $4}}' {file} > words.uem && spoofspan eval REFERENCES SCORES --regions words.uem"
)
OTHERS = (
    OtherFile("an empty file", "", "", lambda head: not head.strip()),
    OtherFile(
        "sound",
        "recorders, speech corpora",
        "spoofspan locate {file}",
        Begins(rb"(?s)fLaC|OggS|RF64|FORM|NIST|RIFF....WAVE|ID3|....ftyp|\xff[\xfb\xf3\xf1]"),
    ),
    OtherFile(
        "model weights (safetensors)",
        "Hugging Face, spoofspan cm train",
        "spoofspan cm info FOLDER",
        lambda head: head[8:9] == b"{" and int.from_bytes(head[:8], "little") < 1 << 27,
    ),
    OtherFile("a tar archive", "tar", "tar -xf {file}", lambda head: head[257:262] == b"ustar"),
    OtherFile("a zip archive", "zip", "unzip {file}", Begins(rb"PK\x03\x04"), may_be_read=True),
    OtherFile("a file packed with xz", "xz", "xz -dk {file}", Begins(b"\xfd7zXZ")),
    OtherFile("a file packed with bzip2", "bzip2", "bzip2 -dk {file}", Begins(b"BZh")),
    OtherFile("a 7z archive", "7-Zip", "7z x {file}", Begins(b"7z\xbc\xaf")),
    OtherFile(
        "an HDF5 or MATLAB file",
        "h5py, MATLAB",
        "python -c \"import h5py, numpy; numpy.savez('scores.npz', **{{k: v[()] for k, v in "
        "h5py.File('{file}').items()}})\"",
        Begins(rb"\x89HDF|MATLAB 5\.0"),
    ),
    OtherFile(
        "one array, without the names of utterances",
        "numpy.save",
        "python -c \"import numpy; numpy.savez('scores.npz', UTTERANCE=numpy.load('{file}'))\"",
        Begins(b"\x93NUMPY"),
        may_be_read=True,
    ),
    OtherFile(
        "a pickle",
        "pickle.dump",
        "spoofspan eval REFERENCES {file} --hop SECONDS --higher bonafide|spoof",
        Begins(b"\x80"),
        may_be_read=True,
    ),
    OtherFile("a picture", "", "", Begins(rb"\x89PNG|\xff\xd8\xff|%PDF|GIF8")),
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
        Begins(r"\{", lambda head: b'"spoofspan_calibration"' in head and b'fusion"' in head),
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
        Lines((anything, one_of("target", "nontarget", "spoof"), is_number), comment=COMMENT),
    ),
    OtherFile(
        "scores of a speaker verification system",
        "ASVspoof 5",
        "spoofspan eval KEY SCORES --asv-scores {file} -m utterance-min-tdcf",
        Header(lambda layout: "asv-score" in layout.names),
    ),
    OtherFile(
        "words in time (CTM), without labels",
        "NIST, Kaldi, Montreal Forced Aligner",
        WORDS_COMMAND,
        Lines((anything, anything, is_seconds, is_seconds, is_name, is_number), least=5, comment=COMMENT),
    ),
    OtherFile(
        "words or phones in time, without labels",
        "Montreal Forced Aligner (CSV)",
        'awk -F, \'FNR > 1 && $4 == "words" {{n = FILENAME; gsub(/.*\\/|\\.csv$/, "", n); print n, 1, $1, $2}}\' '
        "{file} > words.uem && spoofspan eval REFERENCES SCORES --regions words.uem",
        Begins(r"[^\n]*,", _is_word_table),
    ),
    OtherFile(
        "regions that count (UEM)",
        "NIST, PartialSpoof",
        "spoofspan eval REFERENCES SCORES --regions {file}",
        Lines((is_name,), more=True, comment=COMMENT, each=_is_region),
    ),
    OtherFile(
        "durations (reco2dur)",
        "Kaldi, PartialSpoof",
        "spoofspan eval REFERENCES SCORES --durations {file}",
        Lines((is_name, _lasts), comment=COMMENT),
    ),
    OtherFile(
        "metadata",
        "pandas and others",
        "spoofspan eval REFERENCES SCORES --metadata {file} --by COLUMN",
        Header(lambda layout: not layout.json),
        may_be_read=True,
    ),
    OtherFile(
        "UTF-16 text",
        "Windows",
        "iconv -f utf-16 -t utf-8 {file} > text.txt",
        Begins(rb"\xff\xfe|\xfe\xff"),
        may_be_read=True,
    ),
)
