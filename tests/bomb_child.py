"""Reads every file of a folder as its name says, under a limit of memory, and says what came of each.

Run as ``python bomb_child.py FOLDER LIMIT``: a file is ``<kind>~<format>~<anything>``. The bounds of the package are
lowered to 1 MiB, and the bombs with them; what is compared is the most memory above what it took to import everything.
"""

import json
import resource
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet  # noqa: F401  (not to be counted later)

import spoofspan as ss
from spoofspan.formats import fields, reading, sources
from spoofspan.formats.arrays import npz
from spoofspan.formats.format import ReadOptions
from spoofspan.formats.registry import PROPOSAL_FORMATS, REFERENCE_FORMATS, SCORE_FORMATS, UTTERANCE_SCORE_FORMATS
from spoofspan.formats.tables import arrow_ipc, csv_files, parquet

REGISTRIES = {one.kind: one for one in (REFERENCE_FORMATS, SCORE_FORMATS, UTTERANCE_SCORE_FORMATS, PROPOSAL_FORMATS)}
BOUND = 1 << 20


def memory(name):
    """A line of /proc/self/status, in bytes."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024


def outcome(path):
    kind, name, _ = path.name.split("~", 2)
    registry = REGISTRIES[kind]
    states_all = name.startswith(("hypothesis", "partialspoof", "segment-labels")) or kind == "utterance-scores"
    told = {} if states_all else {"hop": 0.02, "higher": "spoof"}
    options = ReadOptions(durations={"u1": 1.0}, **told)
    began = time.monotonic()
    try:
        reading.read_with(registry, path, name, options)
        said = "read"
    except ss.SpoofspanError as error:
        said = f"{type(error).__name__}: {error}"
    return {"said": said, "seconds": time.monotonic() - began, "memory": memory("VmHWM")}


if __name__ == "__main__":
    for module in (sources, fields, csv_files):
        module.MOST_BYTES_PER_LINE = BOUND
    for module in (sources, npz, parquet, arrow_ipc):
        module.UNPACKED_ALLOWANCE = BOUND
    sources.MOST_BYTES_WHOLE = 16 * BOUND
    before = memory("VmHWM")
    resource.setrlimit(resource.RLIMIT_AS, (memory("VmSize") + int(sys.argv[2]),) * 2)
    found = {path.name: outcome(path) for path in sorted(Path(sys.argv[1]).iterdir())}
    json.dump({"before": before, "found": found, "numpy": np.__version__}, sys.stdout)
