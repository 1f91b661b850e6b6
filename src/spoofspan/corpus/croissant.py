"""Croissant metadata of a corpus: what data set libraries and search engines read.

``croissant.json`` (mlcommons.org/croissant/1.0) stands beside ``corpus.json``. Each set has two record sets: ``train``
has the speaker and the length of each utterance, ``train-ranges`` the labelled ranges. The sound is listed as files.
Who publishes a corpus adds ``license``, ``url`` and ``citeAs``, which nothing here can know.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spoofspan.corpus.layout import SetFiles

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
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
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
