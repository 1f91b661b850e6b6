"""The sound of a few utterances of the demo, made when it is asked for.

The corpus is made of built-in voices, whose recordings depend on nothing but a seed and their names. So the package
need not hold any sound: it holds where each sample of these utterances comes from (``provenance.jsonl``), and the
recordings are made and joined again, to the bytes that ``spoofspan experiment`` wrote.
"""

from __future__ import annotations

from functools import cache, lru_cache
from importlib.resources import files

from spoofspan.base.documents import parse_json
from spoofspan.base.times import Float64
from spoofspan.corpus.builtin import recording_named
from spoofspan.corpus.provenance import Provenance
from spoofspan.corpus.settings import Settings
from spoofspan.corpus.splicing import remake
from spoofspan.formats.sound import wav_bytes

PROVENANCE = "provenance.jsonl"
BUILDER = 1  # that made the corpus


@cache
def wav_files() -> dict[str, bytes]:
    """The WAV file of each utterance that has one, by the utterance."""
    text = (files("spoofspan.demo") / "corpus" / PROVENANCE).read_text(encoding="utf-8")
    utterances = [Provenance.from_dict(parse_json(line)) for line in text.splitlines()]
    return {one.utterance: wav_bytes(remake(one, _recording)) for one in utterances}


@lru_cache(8)  # an utterance takes several stretches of one recording
def _recording(name: str) -> Float64:
    return recording_named(name, Settings().seed, BUILDER)
