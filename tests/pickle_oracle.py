"""What Python's unpickler written in C and numpy itself make of pickles; run as a program, as numpy may crash on them.

Input: pickles, each after its length. Output: a line of JSON for each, null for those that Python refuses.
"""

import contextlib
import io
import json
import pickle
import struct
import sys

import numpy as np

NAMES = {("numpy", "ndarray"), ("numpy", "dtype"), ("_codecs", "encode")}
for core in ("numpy.core", "numpy._core"):
    NAMES |= {(f"{core}.multiarray", "_reconstruct"), (f"{core}.multiarray", "scalar")}
    NAMES |= {(f"{core}.numeric", "_frombuffer")}


class Restricted(pickle.Unpickler):
    """Finds the functions of numpy that pickles of arrays need."""

    def find_class(self, module, name):
        if (module, name) not in NAMES:
            raise pickle.UnpicklingError(name)
        return super().find_class(module, name)


def canonical(value):
    """A value as JSON that says what it is."""
    match value:
        case np.ndarray() if value.dtype == object:
            return ["objects", list(value.shape), [canonical(item) for item in value.ravel().tolist()]]
        case np.ndarray():
            native = np.ascontiguousarray(value.astype(value.dtype.newbyteorder("=")))
            return ["array", str(native.dtype), list(value.shape), native.tobytes().hex()]
        case np.generic():
            return canonical(value.item())
        case dict():
            return ["dict", [[canonical(key), canonical(item)] for key, item in value.items()]]
        case list() | tuple():
            return [type(value).__name__, *map(canonical, value)]
        case bytes() | bytearray():
            return ["bytes", value.hex()]
        case str() | bool() | None:
            return value
        case _:
            return [type(value).__name__, repr(value)]


def answer(data):
    """The canonical value of a pickle, or None."""
    try:
        return canonical(Restricted(io.BytesIO(data)).load())
    except MemoryError:  # its memo is as long as its highest index
        return "memory"
    except Exception:
        return None


def main():
    """Answer until the input ends."""
    with contextlib.suppress(ImportError, ValueError, OSError):  # not on every system
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    while size := sys.stdin.buffer.read(4):
        print(json.dumps(answer(sys.stdin.buffer.read(*struct.unpack("<I", size)))), flush=True)


if __name__ == "__main__":
    main()
