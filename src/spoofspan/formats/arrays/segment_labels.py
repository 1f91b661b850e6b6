"""PartialSpoof's segment labels: ``{set}_seglab_{0.01,0.02,...,0.64}.npy``.

A pickled dict in a 0-dimensional object array: utterance -> 1-D array of ``'0'`` (spoof) and ``'1'`` (bona fide), one
per segment of the resolution in the file name, ceil(duration / resolution) of them; a segment is spoof if any part is.
Read without running the pickle, see :mod:`spoofspan.formats.pickles`; :mod:`.npz` has it as npz.

Other dicts of arrays, in npy files or plain pickles, are read too: labels as words, or 0 and 1 whose meaning is stated.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from spoofspan.data.references import References
from spoofspan.formats.arrays.npz import (
    DICT,
    label_arrays,
    references_from_arrays,
)
from spoofspan.formats.file_names import stated_resolution
from spoofspan.formats.format import Format, ReadOptions
from spoofspan.formats.pickles import portable, read_dict
from spoofspan.formats.sources import Source

RESOLUTION = 0.01  # seconds; the finest of the official files


def read(sources: Sequence[Source], options: ReadOptions) -> References:
    """Read label arrays; with durations, the last segment ends there, and the number of labels is checked."""
    found = ((source, stated_resolution(source.name, options.hop), read_dict(source)) for source in sources)
    return references_from_arrays(found, options, official=True)


def write(references: References, resolution: float = RESOLUTION, *, words: bool = False) -> Iterator[bytes]:
    """Write the official layout; the file name must state the resolution, and kinds and durations are not in it.

    Files of other names have labels in ``words``, which need no further statement.
    """
    return write_labels(dict(label_arrays(references, resolution)), words=words)


def write_labels(bona_fide: Mapping[str, npt.NDArray[np.bool_]], *, words: bool = False) -> Iterator[bytes]:
    """Write segments that are labelled already, True for bona fide."""
    real, fake = ("bonafide", "spoof") if words else ("1", "0")
    labels = {utterance: np.where(flags, real, fake) for utterance, flags in bona_fide.items()}
    header = io.BytesIO()
    npy.write_array_header_1_0(header, {"descr": "|O", "fortran_order": False, "shape": ()})
    yield header.getvalue()
    yield portable(pickle.dumps(np.array(labels, dtype=object), protocol=3))


FORMAT = Format(
    "segment-labels",
    "npy or pickle of a dict <utterance> -> array of labels: PartialSpoof {set}_seglab_{seconds}.npy ('0' spoof, '1' "
    "bona fide), or bonafide and spoof, or 0 and 1 with --spoof-label",
    read,
    DICT,
    write,
    suffixes=(".npy", ".pkl", ".pickle"),
    takes=("spoof_label",),
)
