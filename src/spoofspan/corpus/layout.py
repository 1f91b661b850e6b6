"""The files of a corpus: the folders of the PartialSpoof database, with what they do not have beside them.

::

    OUT/corpus.json                              settings, policies, counts, digests; written last
    OUT/croissant.json                           what data set libraries read (Croissant)
    OUT/sources/                                 the built-in recordings, if it was made of them
    OUT/database/
      train/train.lst                            utterances
      train/con_wav/<utterance>.wav              16 bit, 16 kHz, one channel
      train/con_data/rttm_attacks                ranges: bonafide, or the attack (A01); what read_dataset reads
      train/con_data/rttm_2cls_0sil              the same ranges: bonafide or spoof
      train/con_data/rttm_2cls_0sil_spoof        the spoofed ones only
      train/con_data/rttm_3cls                   bonafide, attack or nonspeech, by voice activity
      train/con_data/reco2dur                    durations
      train/con_data/provenance.jsonl            where every sample comes from
      protocols/PartialSpoof_LA_cm_protocols/PartialSpoof.LA.cm.train.trl.txt
      segment_labels/train_seglab_0.01.npz       labels at 10, 20, ..., 640 ms; .npy as well if asked for

and with the recipe of PartialSpoof, the second generation of its labels, in which non-speech has classes of its own::

      train/con_data/vad_2nd_generation          utterance, start, end (seconds), class
      train/con_data/label2num                   the numbers of the classes

``croissant.json`` (mlcommons.org/croissant/1.0) has two record sets for each set: ``train`` has the speaker and the
length of each utterance, ``train-ranges`` the labelled ranges. The sound is listed as files. Who publishes a corpus
adds ``license``, ``url`` and ``citeAs``, which nothing here can know.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from spoofspan.base.columns import offsets_of
from spoofspan.base.documents import parse_json
from spoofspan.base.errors import DataError
from spoofspan.base.hashing import file_hash
from spoofspan.base.times import SECOND
from spoofspan.corpus.frames import RATE
from spoofspan.corpus.partialspoof_recipe import class_numbers, second_generation
from spoofspan.corpus.provenance import BONA_FIDE, NO_SPEECH, LabelledRange, Provenance, labelled_ranges, segment_labels
from spoofspan.corpus.settings import PARTIALSPOOF, Settings
from spoofspan.data.protocol import Protocol
from spoofspan.data.references import BONA_FIDE as BONA_FIDE_CODE
from spoofspan.data.references import LABELS, NONSPEECH, SPOOF, References
from spoofspan.formats.arrays import npz as arrays
from spoofspan.formats.arrays import segment_labels as official
from spoofspan.formats.text import rttm
from spoofspan.formats.text.durations import reco2dur_lines
from spoofspan.formats.text.protocol import protocol_lines
from spoofspan.formats.writing import write_atomically
from spoofspan.report.table import json_text

DATABASE, SOURCES, ABOUT, WORK = "database", "sources", "corpus.json", ".work"
RESOLUTIONS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64)
TICK = SECOND // RATE  # ns per sample, without a remainder


@dataclass(frozen=True)
class SetFiles:
    """Files of one set."""

    folder: Path  # of the whole corpus
    subset: str

    @property
    def top(self) -> Path:
        """The folder of the set."""
        return self.folder / DATABASE / self.subset

    @property
    def list(self) -> Path:
        """The utterances."""
        return self.top / f"{self.subset}.lst"

    @property
    def data(self) -> Path:
        """Ranges, durations, provenance."""
        return self.top / "con_data"

    @property
    def provenance(self) -> Path:
        """Source of every sample."""
        return self.data / "provenance.jsonl"

    @property
    def sounds(self) -> Path:
        """The folder of the sound files."""
        return self.top / "con_wav"

    def sound(self, utterance: str) -> Path:
        """One sound file."""
        return self.sounds / f"{utterance}.wav"

    @property
    def protocol(self) -> Path:
        """Speakers, attacks and labels of whole utterances."""
        folder = self.folder / DATABASE / "protocols" / "PartialSpoof_LA_cm_protocols"
        return folder / f"PartialSpoof.LA.cm.{self.subset}.trl.txt"

    def segments(self, resolution: float, suffix: str) -> Path:
        """Labels at a resolution (seconds)."""
        return self.folder / DATABASE / "segment_labels" / f"{self.subset}_seglab_{resolution:g}{suffix}"

    @property
    def second_generation(self) -> Path:
        """Labels in which non-speech has classes of its own (recipe of PartialSpoof)."""
        return self.data / "vad_2nd_generation"


def write_set(files: SetFiles, made: Sequence[Provenance], settings: Settings) -> None:
    """Write everything but the sound, in the order of the utterances."""
    ranges = {one.utterance: labelled_ranges(one, joints=settings.joints, nonspeech=settings.nonspeech) for one in made}
    shown = {one.utterance: labelled_ranges(one, joints=settings.joints, nonspeech=NO_SPEECH) for one in made}
    attacks, spoken = references_of(made, ranges), references_of(made, shown)
    two_classes = list(rttm.write(replace(attacks, attacks=None, attack_names=())))
    contents: dict[Path, Iterable[bytes]] = {
        files.list: (f"{one.utterance}\n".encode() for one in made),
        files.protocol: protocol_lines(protocol_of(made)),
        files.data / "rttm_attacks": rttm.write(attacks),
        files.data / "rttm_2cls_0sil": two_classes,
        files.data / "rttm_2cls_0sil_spoof": (line for line in two_classes if b" spoof " in line),
        files.data / "rttm_3cls": rttm.write(spoken),
        files.data / "reco2dur": reco2dur_lines(attacks),
        files.provenance: ((json.dumps(asdict(one), ensure_ascii=False) + "\n").encode() for one in made),
    }
    for resolution in RESOLUTIONS:
        labels = {
            one.utterance: segment_labels(ranges[one.utterance], one.samples, round(resolution * RATE)) for one in made
        }
        contents[files.segments(resolution, ".npz")] = arrays.write_npz(
            (utterance, bona_fide.astype(np.uint8)) for utterance, bona_fide in labels.items()
        )
        if settings.official_labels:
            contents[files.segments(resolution, ".npy")] = official.write_labels(labels)
    if settings.recipe == PARTIALSPOOF:
        numbers = class_numbers({attack for one in made for attack in one.attacks})
        contents[files.second_generation] = second_generation_lines(made, numbers)
        contents[files.data / "label2num"] = (f"{name} {number}\n".encode() for name, number in numbers.items())
    for path, chunks in contents.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, chunks, force=True)


def second_generation_lines(made: Sequence[Provenance], numbers: Mapping[str, int]) -> Iterator[bytes]:
    """Utterance, start and end in seconds (exact), class."""
    for one in made:
        for start, end, number in second_generation(one, numbers):
            yield f"{one.utterance} {start / RATE:.7f} {end / RATE:.7f} {number}\n".encode()


def references_of(made: Sequence[Provenance], ranges: dict[str, list[LabelledRange]]) -> References:
    """Labelled ranges as references."""
    rows = [row for one in made for row in ranges[one.utterance]]
    words = {BONA_FIDE: BONA_FIDE_CODE, NO_SPEECH: NONSPEECH}
    return References.from_columns(
        [one.utterance for one in made],
        np.array([one.samples for one in made], np.int64) * TICK,
        offsets_of([len(ranges[one.utterance]) for one in made]),
        np.array([row.start for row in rows], np.int64) * TICK,
        np.array([row.end for row in rows], np.int64) * TICK,
        labels=np.array([words.get(row.label, SPOOF) for row in rows], np.int8),
        attacks=[None if row.label in LABELS else row.label for row in rows],
    )


def protocol_of(made: Sequence[Provenance]) -> Protocol:
    """Speaker and attack of each utterance, CON if there are several attacks."""
    attacks = [one.attacks for one in made]
    return Protocol(
        tuple(one.utterance for one in made),
        tuple(one.speaker for one in made),
        tuple(None if not names else names[0] if len(names) == 1 else "CON" for names in attacks),
        tuple("spoof" if names else "bonafide" for names in attacks),
    )


def read_provenance(path: Path) -> Iterator[Provenance]:
    """Read what was written about the origin of utterances."""
    try:
        with path.open(encoding="utf-8") as stream:
            for line in stream:
                yield Provenance.from_dict(parse_json(line))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error}); build the corpus again") from None


def sound_digest(files: SetFiles, utterances: Iterable[str]) -> str:
    """One number for all sound files of a set."""
    total = hashlib.sha256()
    for utterance in utterances:
        total.update(f"{utterance} {file_hash(files.sound(utterance))}\n".encode())
    return total.hexdigest()


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write plain data for people and programs."""
    write_atomically(path, [json_text(content).encode()], force=True)


def write_csv(path: Path, rows: Iterable[Sequence[str | None]]) -> None:
    """Write a table, the first row of which names the columns."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    write_atomically(path, [text.getvalue().encode()], force=True)


# ---------------------------------------------------------------- Croissant

CROISSANT = "croissant.json"
Plain = dict[str, Any]
# The names of the format; those of schema.org need no prefix.
_NAMES = (
    *("citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty", "fileObject", "fileSet", "format"),
    *("includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references", "regex"),
    *("repeated", "replace", "samplingRate", "separator", "source", "subField", "transform"),
)
# RTTM: SPEAKER utterance 1 start duration <NA> <NA> label <NA> <NA>
_RTTM = {"utterance": (1, "sc:Text"), "start": (3, "sc:Float"), "duration": (4, "sc:Float"), "label": (7, "sc:Text")}
CONTEXT: Plain = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    **{name: f"cr:{name}" for name in _NAMES},
    **{name: {"@id": f"cr:{name}", "@type": "@json"} for name in ("data", "examples")},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
}


def croissant(folder: Path, about: Mapping[str, Any]) -> Plain:
    """Describe a corpus whose files are all written, by what ``corpus.json`` says of it."""
    sets = {subset: SetFiles(folder, subset) for subset in about["sets"]}
    spoofed = sum(one["spoof_seconds"] for one in about["sets"].values())
    seconds = sum(one["seconds"] for one in about["sets"].values())
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": "partially-spoofed-speech",
        "description": (
            f"Partially spoofed speech of {about['source']}: {seconds:.0f} s, of which {spoofed:.0f} s are spoofed by "
            f"{len(about['attacks'])} attacks. Labels are ranges in time; the joints of spliced recordings are known. "
            f"Built by spoofspan {about['spoofspan']}."
        ),
        "version": f"{about['builder']}.0.0",
        "distribution": [one for files in sets.values() for one in _files(folder, files)],
        "recordSet": [one for files in sets.values() for one in _records(files)],
    }


def _files(folder: Path, files: SetFiles) -> list[Plain]:
    """The files of a set: its sound, what is known of the utterances, and their labels."""
    sounds = {
        "@type": "cr:FileSet",
        "@id": f"{files.subset}-wav",
        "encodingFormat": "audio/wav",
        "includes": f"{files.sounds.relative_to(folder).as_posix()}/*.wav",
    }
    labels = [files.data / "rttm_attacks", files.data / "rttm_2cls_0sil", files.data / "reco2dur", files.protocol]
    kinds = {files.provenance: "application/jsonlines"} | dict.fromkeys(labels, "text/plain")
    return [sounds, *(_file(folder, path, f"{files.subset}-{path.name}", kind) for path, kind in kinds.items())]


def _file(folder: Path, path: Path, name: str, kind: str) -> Plain:
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "contentUrl": path.relative_to(folder).as_posix(),
        "encodingFormat": kind,
        "sha256": file_hash(path),
    }


def _records(files: SetFiles) -> list[Plain]:
    """The record sets of a set: what is known of each utterance, and the labelled ranges."""
    known = {"fileObject": {"@id": f"{files.subset}-{files.provenance.name}"}}
    kinds = {"utterance": "sc:Text", "speaker": "sc:Text", "samples": "sc:Integer", "carrier": "sc:Text"}
    name, ranges = files.subset, f"{files.subset}-ranges"
    lines = {"fileObject": {"@id": f"{files.subset}-rttm_attacks"}, "extract": {"fileProperty": "lines"}}
    columns = [_field(f"{name}/{one}", kind, known | {"extract": {"column": one}}) for one, kind in kinds.items()]
    words = [
        _field(f"{ranges}/{one}", kind, lines | {"transform": {"regex": rf"^(?:\S+\s+){{{place}}}(\S+).*$"}})
        for one, (place, kind) in _RTTM.items()
    ]
    return [
        {"@type": "cr:RecordSet", "@id": name, "key": {"@id": f"{name}/utterance"}, "field": columns},
        {"@type": "cr:RecordSet", "@id": ranges, "field": words},
    ]


def _field(name: str, kind: str, source: Plain) -> Plain:
    return {"@type": "cr:Field", "@id": name, "dataType": kind, "source": source}
