"""Pickles and numpy files: hostile ones are refused by name and run nothing, honest ones read as they are."""

import ast
import contextlib
import gzip
import io
import json
import pickle
import random
import struct
import subprocess
import sys
import time
import tracemalloc
import warnings
import zipfile
from pathlib import Path

import golden_cases
import numpy as np
import pickle_oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib import format as npy
from pickle_oracle import canonical

from spoofspan.base.errors import DataError, UsageError
from spoofspan.data.references import References
from spoofspan.data.scores import Scores
from spoofspan.formats import pickles, unpickler
from spoofspan.formats.arrays import npz as arrays
from spoofspan.formats.arrays import partialspoof_scores, segment_labels
from spoofspan.formats.format import ReadOptions
from spoofspan.formats.sources import Source, sources

PROTOCOLS = range(6)
OLD, NEW = b"numpy.core.multiarray", b"numpy._core.multiarray"
SMALL_MEMORY = 128 << 20


def source_of(data: bytes, name: str = "file.pkl") -> Source:
    return Source(name, lambda: io.BytesIO(data))


def in_child(data: bytes, memory: int = pickles.MEMORY, seconds: float = pickles.SECONDS):
    source = source_of(data)
    with source.open() as stream:
        return pickles._value(source, stream, memory, seconds)


def here(data: bytes, memory: int = SMALL_MEMORY):
    """The value that the unpickler reads in this process, without limits of the system."""
    out = io.BytesIO()
    unpickler.Unpickler(io.BytesIO(data), out, memory).run()
    child = pickles._Child(source_of(data), io.BytesIO(), memory, 1.0, "value")
    child._out, child._fed = io.BufferedReader(io.BytesIO(out.getvalue())), len(data)
    (value,) = child.items()
    return value


def old_names(data: bytes) -> bytes:
    """The same pickle (protocol 0 to 3) as numpy 1 writes it."""
    return data.replace(b"c" + NEW + b"\n", b"c" + OLD + b"\n")


def body(value, protocol: int) -> bytes:
    """A pickled value without beginning and end, to be put into another pickle."""
    data = pickle.dumps(value, protocol)
    if protocol >= 4:
        data = pickle.dumps(value, 3)
    return data[2 if protocol >= 2 else 0 : -1]


def beginning(protocol: int) -> bytes:
    return bytes([0x80, protocol]) if protocol >= 2 else b""


def text(value: str) -> bytes:
    data = value.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def name_of(module: str, name: str, protocol: int = 2) -> bytes:
    if protocol >= 4:
        return text(module) + text(name) + b"\x93"
    return f"c{module}\n{name}\n".encode()


def call(module: str, name: str, *arguments, protocol: int = 2) -> bytes:
    """The pickle that calls module.name(*arguments)."""
    return beginning(protocol) + name_of(module, name, protocol) + body(arguments, protocol) + b"R."


def dtype(name: str, order: str = "<", size: int = -1, fields=(None, None, None)) -> bytes:
    state = (3, order, *fields, size, -1, 63 if name.startswith("O") else 0)
    return name_of("numpy", "dtype") + body((name, False, True), 2) + b"R" + body(state, 2) + b"b"


EMPTY_ARRAY = name_of("numpy.core.multiarray", "_reconstruct") + name_of("numpy", "ndarray")
EMPTY_ARRAY += body((0,), 3) + b"C\x01b" + b"\x87R"


def filled(shape, dtype_: bytes, data: bytes) -> bytes:
    """An array as numpy pickles it, ``data`` being the opcodes of its content."""
    return EMPTY_ARRAY + b"(K\x01" + body(shape, 3) + dtype_ + b"\x89" + data + b"tb"


@pytest.fixture
def marker(tmp_path, monkeypatch):
    """A file that hostile code would create; it is never there."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "marker"
    yield path
    assert not path.exists()
    assert not list(tmp_path.glob("*marker*"))


GADGETS = [
    ("os", "system", ("touch marker",)),
    ("posix", "system", ("touch marker",)),
    ("nt", "system", ("echo > marker",)),
    ("os", "popen", ("touch marker",)),
    ("os", "execl", ("/bin/touch", "touch", "marker")),
    ("subprocess", "Popen", (["touch", "marker"],)),
    ("subprocess", "check_output", (["touch", "marker"],)),
    ("pty", "spawn", (["touch", "marker"],)),
    ("builtins", "eval", ("open('marker', 'w')",)),
    ("builtins", "exec", ("open('marker', 'w')",)),
    ("__builtin__", "eval", ("open('marker', 'w')",)),
    ("builtins", "getattr", ("x", "__class__")),
    ("builtins", "open", ("marker", "w")),
    ("builtins", "__import__", ("os",)),
    ("builtins", "compile", ("open('marker', 'w')", "x", "exec")),
    ("builtins", "bytearray", (1 << 33,)),
    ("builtins", "print", ("marker",)),
    ("io", "open", ("marker", "w")),
    ("pathlib", "Path", ("marker",)),
    ("shutil", "copy", ("/etc/hostname", "marker")),
    ("functools", "partial", (1,)),
    ("operator", "attrgetter", ("system",)),
    ("operator", "methodcaller", ("system", "touch marker")),
    ("copyreg", "_reconstructor", (1, 2, 3)),
    ("copyreg", "add_extension", ("os", "system", 1)),
    ("types", "CodeType", (0,)),
    ("types", "FunctionType", (0,)),
    ("marshal", "loads", (b"",)),
    ("pickle", "loads", (b".",)),
    ("_pickle", "loads", (b".",)),
    ("importlib", "import_module", ("os",)),
    ("runpy", "run_path", ("x.py",)),
    ("webbrowser", "open", ("file:///marker",)),
    ("timeit", "timeit", ("open('marker', 'w')",)),
    ("code", "InteractiveInterpreter", ()),
    ("ctypes", "CDLL", ("libc.so.6",)),
    ("numpy", "load", ("marker",)),
    ("numpy", "save", ("marker", 1)),
    ("numpy", "memmap", ("marker",)),
    ("numpy", "fromfile", ("marker",)),
    ("numpy", "zeros", (1 << 33,)),
    ("numpy", "frompyfunc", (1, 1, 1)),
    ("numpy", "f2py", ()),
    ("numpy.testing._private.utils", "runstring", ("open('marker', 'w')", {})),
    ("numpy.core.multiarray", "fromfile", ("marker",)),
    ("numpy._core.multiarray", "array", ([1],)),
    ("numpy.core.multiarray", "_reconstruct.__globals__", ()),
    ("numpy", "ndarray.tofile", ()),
    ("numpy.lib.npyio", "NpzFile", ("marker",)),
    ("numpy.ctypeslib", "load_library", ("x", ".")),
    ("_codecs", "decode", ("x", "rot13")),
    ("_codecs", "encode.__class__", ()),
    ("codecs", "encode", ("x", "latin1")),
    ("torch", "load", ("marker",)),
    ("joblib", "load", ("marker",)),
    ("spoofspan.formats.pickles", "read_dict", ("marker",)),
    ("__main__", "anything", ()),
    ("", "", ()),
]


@pytest.mark.parametrize(("module", "name", "arguments"), GADGETS)
def test_every_other_name_is_refused_by_name(module, name, arguments, marker):
    with pytest.raises(DataError) as error:
        in_child(call(module, name, *arguments))
    assert f"file.pkl: this pickle is refused: it names {module}.{name}, which" in str(error.value)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_in_every_protocol_and_every_place(protocol, marker):
    for module, name, arguments in GADGETS:
        hostile = call(module, name, *arguments, protocol=protocol)
        inner = hostile[2 if protocol >= 2 else 0 : -1]
        start = beginning(protocol)
        for data in (
            hostile,
            start + b"(" + inner + b"l.",  # in a list
            start + b"(" + text("u1") + inner + b"d.",  # in a dict
            start + body(np.arange(3), protocol) + inner + b"\x86.",  # after an honest array
            start + filled((1,), dtype("O8", "|"), b"(" + inner + b"l") + b".",  # in an array of objects
            start + name_of(module, name, protocol) + b".",  # not even called
        ):
            with pytest.raises(unpickler.RefusedError, match="it names"):
                here(data)


def test_the_marker_would_be_there_if_a_pickle_ran(tmp_path):
    data = call("posix", "system", "touch marker") if sys.platform != "win32" else call("nt", "system", "echo > marker")
    subprocess.run([sys.executable, "-c", f"import pickle; pickle.loads({data!r})"], cwd=tmp_path, check=True)
    assert (tmp_path / "marker").exists()


class Evil:
    def __reduce__(self):
        import os

        return os.system, ("touch marker",)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_pickle_itself_writes_for_a_hostile_object(protocol, marker):
    for value in (Evil(), [Evil()], {"u1": Evil()}, np.array([Evil()], object), (np.zeros(2), Evil())):
        with pytest.raises(DataError, match=r"it names (posix|nt)\.system"):
            in_child(pickle.dumps(value, protocol))


RECONSTRUCT = name_of("numpy.core.multiarray", "_reconstruct")
NDARRAY = name_of("numpy", "ndarray")
SCALAR = name_of("numpy.core.multiarray", "scalar")
FROMBUFFER = name_of("numpy._core.numeric", "_frombuffer")
ENCODE = name_of("_codecs", "encode")
FLOATS, OBJECTS = dtype("f8"), dtype("O8", "|")

WAY = "_reconstruct in a way"
ABUSES = {
    "8 GiB in _reconstruct": (RECONSTRUCT + NDARRAY + body((1 << 33,), 3) + b"C\x01b\x87R.", WAY),
    "many dimensions in _reconstruct": (
        RECONSTRUCT + NDARRAY + body((0, 0), 3) + b"C\x01b\x87R.",
        WAY,
    ),
    "negative shape in _reconstruct": (
        RECONSTRUCT + NDARRAY + body((-1,), 3) + b"C\x01b\x87R.",
        WAY,
    ),
    "list for a shape in _reconstruct": (RECONSTRUCT + NDARRAY + b"]C\x01b\x87R.", WAY),
    "object type in _reconstruct": (RECONSTRUCT + NDARRAY + body((0,), 3) + b"C\x01O\x87R.", WAY),
    "dtype for a type in _reconstruct": (
        RECONSTRUCT + NDARRAY + body((0,), 3) + FLOATS + b"\x87R.",
        WAY,
    ),
    "_reconstruct of a dtype": (
        RECONSTRUCT + name_of("numpy", "dtype") + body((0,), 3) + b"C\x01b\x87R.",
        WAY,
    ),
    "_reconstruct of None": (RECONSTRUCT + b"N" + body((0,), 3) + b"C\x01b\x87R.", WAY),
    "_reconstruct of nothing": (RECONSTRUCT + b")R.", WAY),
    "_reconstruct with a list of arguments": (RECONSTRUCT + b"]R.", "calls _reconstruct with list for arguments"),
    "calling ndarray": (NDARRAY + body(((1 << 33,),), 3) + b"R.", "it calls ndarray in a way"),
    "calling a number": (b"K\x01)R.", "it calls int"),
    "calling an array": (filled((0,), FLOATS, b"C\x00") + b")R.", "it calls a numpy array"),
    "dtype with a huge item": (dtype("U32", size=1 << 40) + b".", "dtype of 1,099,511,627,776 bytes"),
    "dtype with a huge name": (dtype("U99999999999") + b".", "dtype U99999999999"),
    "dtype of void": (dtype("V8", "|") + b".", "dtype V8"),
    "dtype with fields in its name": (dtype("i4,O") + b".", "dtype i4,O"),
    "dtype by an odd name": (dtype("numpy.object_") + b".", "dtype numpy.object_"),
    "dtype of a long name": (dtype("x" * 5000) + b".", "xxx..."),
    "dtype with fields": (dtype("f8", fields=(None, ("a",), {"a": 1})) + b".", "fields or subarrays"),
    "dtype with a subarray": (dtype("f8", fields=((1, (2,)), None, None)) + b".", "fields or subarrays"),
    "dtype with metadata": (
        name_of("numpy", "dtype")
        + body(("f8", False, True), 3)
        + b"R"
        + body((4, "<", None, None, None, -1, -1, 0, {}), 3),
        "a state that numpy",
    ),
    "dtype with a dict for a state": (
        name_of("numpy", "dtype") + body(("f8", 0, 1), 3) + b"R}b.",
        "a state that numpy",
    ),
    "dtype without a byte order": (dtype("f8", "|") + b".", "without a byte order"),
    "dtype with an odd byte order": (dtype("f8", "!") + b".", "without a byte order"),
    "dtype changed": (FLOATS + body((3, "<", None, None, None, -1, -1, 0), 3) + b"b.", "a state that numpy"),
    "dtype of a dtype": (name_of("numpy", "dtype") + b"(" + FLOATS + b"\x89\x88tR.", "dtype in a way"),
    "dtype with one argument": (name_of("numpy", "dtype") + body(("f8",), 3) + b"R.", "dtype in a way"),
    "array of 8 GiB": (filled((1 << 30,), FLOATS, b"C\x00") + b".", "0 bytes or items, not 8,589,934,592"),
    "array whose size overflows": (filled((1 << 33, 1 << 31), FLOATS, b"C\x00") + b".", "bytes or items, not"),
    "array of beyond 64 bits": (filled((1 << 62,), FLOATS, b"C\x00") + b".", "no shape"),
    "array of negative shape": (filled((-1, -8), FLOATS, b"C\x08" + bytes(8)) + b".", "no shape"),
    "array of too many dimensions": (filled((1,) * 60, FLOATS, b"C\x08" + bytes(8)) + b".", "no shape"),
    "array of a shape of text": (filled(("8",), FLOATS, b"C\x08" + bytes(8)) + b".", "no shape"),
    "array without a dtype": (filled((1,), b"N", b"C\x08" + bytes(8)) + b".", "without a dtype"),
    "array of a bare dtype": (
        filled((1,), name_of("numpy", "dtype") + body(("f8", 0, 1), 3) + b"R", b"C\x08" + bytes(8)),
        "without a dtype",
    ),
    "objects from bytes": (filled((1,), OBJECTS, b"C\x08" + bytes(8)) + b".", "with bytes, not list"),
    "objects from a nested pickle": (filled((), OBJECTS, body(pickle.dumps([1], 2), 3)) + b".", "with bytes, not list"),
    "objects, too many": (filled((1 << 30,), OBJECTS, b"(K\x01l") + b".", "1 bytes or items, not 1,073,741,824"),
    "objects with a name among them": (
        filled((1,), OBJECTS, b"(" + NDARRAY + b"l") + b".",
        "ndarray for a value",
    ),
    "numbers from a list": (filled((1,), FLOATS, b"(K\x01l") + b".", "with list, not bytes"),
    "array changed": (filled((0,), FLOATS, b"C\x00") + b"(K\x01)" + FLOATS + b"\x89C\x00tb.", "a state that numpy"),
    "array with a dict for a state": (EMPTY_ARRAY + b"}b.", "a state that numpy"),
    "array with attributes": (EMPTY_ARRAY + b"N}" + text("__class__") + b"Ns\x86b.", "a state that numpy"),
    "array without content": (EMPTY_ARRAY + b".", "without content"),
    "scalar of objects": (SCALAR + OBJECTS + b"C\x01x\x86R.", "with bytes, not list"),
    "scalar of objects from a value": (SCALAR + OBJECTS + b"}\x86R.", "scalar in a way"),
    "scalar of the wrong size": (SCALAR + FLOATS + b"C\x01x\x86R.", "1 bytes or items, not 8"),
    "scalar of no dtype": (SCALAR + b"NC\x01x\x86R.", "without a dtype"),
    "_frombuffer of objects": (
        FROMBUFFER + b"(C\x00" + OBJECTS + b")" + text("C") + b"tR.",
        "with bytes, not list",
    ),
    "_frombuffer of 8 GiB": (
        FROMBUFFER + b"(C\x00" + FLOATS + body((1 << 30,), 3) + text("C") + b"tR.",
        "not 8,589,934,592",
    ),
    "_frombuffer in an odd order": (
        FROMBUFFER + b"(C\x00" + FLOATS + body((0,), 3) + text("A") + b"tR.",
        "_frombuffer in a way",
    ),
    "attributes of a function": (RECONSTRUCT + b"}" + text("__code__") + b"Nsb.", "sets attributes of _reconstruct"),
    "attributes of ndarray": (NDARRAY + b"}" + text("__reduce__") + b"Nsb.", "sets attributes of ndarray"),
    "attributes of numpy.dtype": (name_of("numpy", "dtype") + b"N}" + b"\x86b.", "sets attributes of dtype"),
    "attributes of a list": (b"]}b.", "sets attributes of list"),
    "attributes of a dict": (b"}}b.", "sets attributes of dict"),
    "items of a name": (NDARRAY + b"K\x01a.", "appends to ndarray"),
    "items of an array": (filled((0,), FLOATS, b"C\x00") + b"K\x01a.", "appends to a numpy array"),
    "entries of an array": (filled((0,), FLOATS, b"C\x00") + b"K\x01K\x01s.", "sets items of a numpy array"),
    "entries of a list": (b"]K\x00K\x01s.", "sets items of list"),
    "a name for a value": (NDARRAY + b".", "ndarray for a value"),
    "a dtype for a value": (FLOATS + b".", "a numpy dtype for a value"),
    "rot13": (ENCODE + body(("uryyb", "rot13"), 3) + b"R.", "encode in a way"),
    "utf-8": (ENCODE + body(("x", "utf-8"), 3) + b"R.", "encode in a way"),
    "latin-1 by another name": (ENCODE + body(("x", "latin-1"), 3) + b"R.", "encode in a way"),
    "zlib": (ENCODE + body(("x", "zlib"), 3) + b"R.", "encode in a way"),
    "a codec with an error handler": (ENCODE + body(("x", "latin1", "strict"), 3) + b"R.", "encode in a way"),
    "a codec that is no text": (ENCODE + body(("x", 7), 3) + b"R.", "encode in a way"),
    "encoding of bytes": (ENCODE + body((b"x", "latin1"), 3) + b"R.", "encode in a way"),
    "encoding beyond latin1": (ENCODE + body(("\u20ac", "latin1"), 3) + b"R.", "encode in a way"),
    "persistent id in text": (b"Pmarker\n.", "PERSID"),
    "persistent id": (b"K\x01Q.", "BINPERSID"),
    "extension code 1": (b"\x82\x01.", "EXT1"),
    "extension code 2": (b"\x83\x01\x00.", "EXT2"),
    "extension code 4": (b"\x84\x01\x00\x00\x00.", "EXT4"),
    "INST": (b"(" + text("touch marker") + b"ios\nsystem\n.", "INST"),
    "INST of ndarray": (b"(K\x01inumpy\nndarray\n.", "INST"),
    "OBJ": (b"(" + NDARRAY + b"K\x01o.", "OBJ"),
    "NEWOBJ": (NDARRAY + body(((1 << 33,),), 3) + b"\x81.", "NEWOBJ"),
    "NEWOBJ_EX": (NDARRAY + b")}\x92.", "NEWOBJ_EX"),
    "strings of Python 2": (b"S'x'\n.", "STRING"),
    "long strings of Python 2": (b"T\x01\x00\x00\x00x.", "BINSTRING"),
    "short strings of Python 2": (b"U\x01x.", "SHORT_BINSTRING"),
    "a set": (b"\x8f.", "EMPTY_SET"),
    "a frozen set": (b"(\x91.", "FROZENSET"),
    "a buffer from elsewhere": (b"\x97.", "NEXT_BUFFER"),
    "POP": (b"K\x01K\x020.", "POP"),
    "POP_MARK": (b"K\x01(1.", "POP_MARK"),
    "DUP": (b"K\x012\x86.", "DUP"),
    "a whole number of 2 GiB": (b"\x8b\xff\xff\xff\x7f.", "a string of 2,147,483,647 bytes"),
    "a string of an exabyte": (b"\x8e" + struct.pack("<Q", 1 << 60) + b".", "string of 1,152,921,504,606,846,976"),
    "a text of an exabyte": (b"\x8d" + struct.pack("<Q", 1 << 60) + b".", "more than 67,108,864"),
    "a buffer of an exabyte": (b"\x96" + struct.pack("<Q", 1 << 60) + b".", "more than 67,108,864"),
    "a list that contains itself": (b"]q\x00h\x00a.", "nested more than 32 deep"),
    "a list that contains itself in a tuple": (b"]q\x00(h\x00ta.", "nested more than 32 deep"),
    "a list in a tuple that contains itself": (b"]q\x00h\x00a\x85.", "nested more than 32 deep"),
    "a dict that contains itself": (b"}q\x00" + text("u1") + b"h\x00s.", "nested more than 32 deep"),
    "objects that contain themselves": (
        EMPTY_ARRAY + b"q\xff(K\x01)" + OBJECTS + b"\x89(h\xffltb.",
        "nested more than 32 deep",
    ),
}


@pytest.mark.parametrize("case", ABUSES)
def test_what_is_admitted_cannot_be_abused(case, marker):
    data, why = ABUSES[case]
    if not data.endswith(b"."):
        data += b"b." if "metadata" in case else b"."
    for whole in (b"\x80\x03" + data, b"\x80\x05" + data, data):
        with pytest.raises(unpickler.RefusedError) as error:
            here(whole)
        assert why in unpickler.short(str(error.value))
    with pytest.raises(DataError) as refused:
        in_child(b"\x80\x03" + data, memory=SMALL_MEMORY)
    assert f"this pickle is refused: {unpickler.short(str(error.value))}; only numbers" in str(refused.value)


def test_a_shared_array_is_read_unless_it_was_let_go():
    shared = np.arange(3000.0)
    items = pickles.read_list(source_of(pickle.dumps((shared, shared))))
    for one, other in (in_child(pickle.dumps([shared, shared], 3)), items):
        assert one.tolist() == other.tolist() == shared.tolist()
    array = filled((5000,), dtype("S1", "|"), b"B\x88\x13\x00\x00" + bytes(5000) + b"q\xfe") + b"q\xff"
    again = filled((5000,), dtype("S1", "|"), b"h\xfe")
    for later in (b"h\xff", again, b"h\xff\x85"):
        with pytest.raises(DataError, match="a part of an item before"):
            list(pickles.read_list(source_of(b"\x80\x03](" + array + b"e(" + later + b"e.")))


def laughs(levels: int) -> bytes:
    """A tuple of ten times a tuple of ten times a tuple, and so on."""
    data = b"\x80\x03(K\x01\x85q\x00"
    for level in range(1, levels):
        data += b"(" + (b"h" + bytes([level - 1])) * 10 + b"tq" + bytes([level])
    return data + b"t."


NO_NUMBERS = filled((0,), FLOATS, b"C\x00")
NESTED_OBJECTS = EMPTY_ARRAY + b"(K\x01" + body((1,), 3) + OBJECTS + b"\x89("
BOMBS = {
    "nested lists": (b"\x80\x03" + b"]" * 100_000 + b"a" * 99_999 + b".", "nested more than 32 deep"),
    "nested tuples": (b"\x80\x03)" + b"\x85" * 100_000 + b".", "nested more than 32 deep"),
    "nested dicts": (
        b"\x80\x03" + (b"}" + text("u")) * 100_000 + b"N" + b"s" * 100_000 + b".",
        "nested more than 32 deep",
    ),
    "nested marks": (b"\x80\x03" + b"(" * 100_000 + b"t" * 100_000 + b".", "nested more than 32 deep"),
    "nested objects": (b"\x80\x03" + NESTED_OBJECTS * 400 + b"N" + b"ltb" * 400 + b".", "nested more than 32 deep"),
    "nested objects and marks": (b"\x80\x03" + NESTED_OBJECTS * 9000 + b"N" + b"ltb" * 9000 + b".", "32 deep"),
    "laughs": (laughs(12), "over and over"),
    "more laughs": (laughs(31), "over and over"),
    "the same array over and over": (
        b"\x80\x03]" + filled((500,), FLOATS, body(bytes(4000), 3)) + b"q\x01a(" + b"h\x01" * 60_000 + b"e.",
        "over and over",
    ),
    "empty arrays over and over": (  # 1 MB that once took 2 GB of the parent
        b"\x80\x03](" + NO_NUMBERS + b"q\x01" + b"h\x01" * 3 + b"tq\x02a" + b"h\x02a" * 350_000 + b".",
        "over and over, in more than 16 times",
    ),
    "one text over and over": (
        b"\x80\x03]" + text("x" * 60_000) + b"q\x01a(" + b"h\x01" * 500_000 + b"e.",
        "over and over, in more than 16 times",
    ),
    "the keys of a dict over and over": (
        b"\x80\x03](}"
        + b"".join(text(f"{i:01000}") + b"Ns" for i in range(200))
        + b"q\x01"
        + b"h\x01" * 100_000
        + b"e.",
        "over and over, in more than 16 times",
    ),
    "a large number over and over": (
        b"\x80\x03](\x8b\xe8\x03\x00\x00" + b"\x01" * 1000 + b"q\x01" + b"h\x01" * 500_000 + b"e.",
        "over and over, in more than 16 times",
    ),
    "a far place in the memo": (b"\x80\x03K\x01" + b"r\xff\xff\xff\xff" * 1000 + b"\x85.", None),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", BOMBS)
def test_small_files_that_become_huge(case, marker):
    data, why = BOMBS[case]
    tracemalloc.start()
    began = time.monotonic()
    try:
        if why is None:
            assert in_child(data, memory=SMALL_MEMORY) == (1,)
        else:
            with pytest.raises(DataError) as error:
                in_child(data, memory=SMALL_MEMORY)
            assert why in str(error.value)
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()
    assert time.monotonic() - began < 60


@pytest.mark.slow
@pytest.mark.parametrize(
    ("unit", "why"),
    [
        (b"]", "more than 128 MiB of memory"),
        (b"}", "more than 128 MiB of memory"),
        (b"K\x01\x94", "more than 128 MiB of memory"),
        (b"X\x00\x10\x00\x00" + b"a" * 4096, "more than 128 MiB of memory"),
        (b"B\x00\x00\x10\x00" + b"a" * (1 << 20), "more than 128 MiB of memory"),
    ],
    ids=["lists", "dicts", "memo", "text", "bytes"],
)
def test_packed_bombs_stay_within_the_memory_limit(unit, why, marker):
    count = 6 * SMALL_MEMORY // 5 // max(len(unit), 64)
    packed = gzip.compress(b"\x80\x03(" + unit * count + b"t.", 1)
    with pytest.raises(DataError, match=why):
        in_child(packed, memory=SMALL_MEMORY)


def test_a_list_of_arrays_may_be_larger_than_the_memory_of_the_child():
    array = np.zeros((1000, 4), "<U32")
    array[:, 0] = "u1"
    one = pickle.dumps(array, 2)[2:-1]
    data = b"\x80\x02]" + (b"(" + one * 20 + b"e") * 15 + b"."
    assert len(data) > SMALL_MEMORY
    count = 0
    for item in pickles.read_list(source_of(data), memory=SMALL_MEMORY):
        assert item.shape == (1000, 4)
        assert item.dtype == "<U32"
        count += 1
    assert count == 300


@pytest.mark.parametrize(
    "bomb",
    [
        b"]" * 50_000,
        b"}" * 50_000,
        b"(" * 50_000,
        b"N\x94" * 25_000,
        b"B\x00\x00\x01\x00" + bytes(1 << 16),
        ENCODE + b"q\x00" + text("x" * 50_000) + b"q\x01" + text("latin1") + b"q\x02" + b"h\x00h\x01h\x02\x86R" * 50,
    ],
    ids=["lists", "dicts", "marks", "memo", "bytes", "copies"],
)
def test_the_bytes_held_are_bounded_also_where_the_system_sets_no_limit(bomb):
    with pytest.raises((MemoryError, unpickler.RefusedError)):
        here(b"\x80\x03" + bomb * 40 + b".", memory=2 << 20)


def test_a_reader_that_takes_too_long_is_ended():
    class Endless(io.RawIOBase):
        def readable(self):
            return True

        def readinto(self, buffer):
            frames = (b"\x95" + bytes(8)) * (len(buffer) // 9 + 1)
            buffer[:] = frames[: len(buffer)]
            return len(buffer)

    began = time.monotonic()
    with pytest.raises(DataError, match=r"takes more than 1 s"):
        list(pickles.read_list(Source("endless.pkl", lambda: io.BufferedReader(Endless(), 9 << 17)), seconds=1))
    assert time.monotonic() - began < 60


def test_a_child_that_dies_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(pickles, "__file__", str(tmp_path / "nothing.py"))
    with pytest.raises(DataError, match="ended with code 2"):
        in_child(pickle.dumps(1))


def test_an_answer_that_is_none_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(pickles, "__file__", str(tmp_path / "pickles.py"))
    for output in (
        b'["item",{"array":["|O8",[1],false,8]}]\n12345678',
        b'["item",{"array":["<f8",[3],false,8]}]\n12345678',
        b'["item",{"array":["<f8",[1],false,99999999999]}]\n12345678',
        b'["item",{"array":["<f8",[1],false,9999999]}]\n12345678',
        b'["item",{"array":["<f8",[1],false,-1]}]\n12345678',
        b'["item",{"array":["<f8","x",false,8]}]\n12345678',
        b'["item",{"array":[]}]\n',
        b'["item",{"objects":[[3],false,[]]}]\n',
        b'["item",{"dict":[["x"],[]]}]\n',
        b'["item",{"what":[]}]\n',
        b'["item",{}]\n',
        b'["item"]\n',
        b'["refused",1]\n',
        b'["item",1]\n["item",1]\n',
        b'["item",1]\n',
        b"",
        b"[]\n",
        b"{}\n",
        b"x" * 3000,
        b"[" * 100_000 + b"\n",
    ):
        (tmp_path / "unpickler.py").write_text(f"import sys\nsys.stdout.buffer.write({output!r})\n")
        with pytest.raises(DataError, match="this pickle is refused"):
            in_child(pickle.dumps(1))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks /proc for processes")
def test_the_child_ends_with_its_parent():
    parent = """
import io, os, time
from spoofspan.formats import pickles
from spoofspan.formats.sources import Source
class Slow(io.RawIOBase):
    def readable(self): return True
    def readinto(self, buffer): time.sleep(0.1); buffer[:1] = b"N"; return 1
child = pickles._Child(Source("slow", lambda: None), io.BufferedReader(Slow(), 1), 1 << 28, 600, "value")
child.__enter__()
print(child._process.pid, flush=True)
time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE) as process:
        stat = Path(f"/proc/{int(process.stdout.readline())}/stat")
        assert stat.exists()
        process.kill()
    deadline = time.monotonic() + 30
    while stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.05)


NO_PICKLE = (unpickler.RefusedError, unpickler.UnfitError, pickle.UnpicklingError, EOFError, MemoryError)
NO_PICKLE += (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError, struct.error)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_truncation_is_an_error(protocol):
    data = pickle.dumps(
        [np.array([["u1", "0.5"]]), {"u1": np.arange(3)}, (1.5, None, True, "text", -5, 1 << 40)], protocol
    )
    here(data)
    for end in range(len(data)):
        with pytest.raises(NO_PICKLE):
            here(data[:end])


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "ends too early"),
        (b"\x80", "ends too early"),
        (b"\x80\x02", "ends too early"),
        (b"\x80\x06N.", "unsupported pickle protocol: 6"),
        (b"\x80\x02.", "not there"),
        (b"\x80\x02NN.", "does not end with one value"),
        (b"\x80\x02(N.", "does not end with one value"),
        (b"\x80\x02N.N", "bytes after its end"),
        (b"\x80\x02N." + pickle.dumps(1), "bytes after its end"),
        (b"\x80\x02N.\n", "bytes after its end"),
        (b"\x80\x04\x95\x03\x00\x00\x00\x00\x00\x00\x00N.N", "bytes after its end"),
        (b"\x80\x04\x95\x03\x00\x00\x00\x00\x00\x00\x00N.", "ends too early"),
        (b"\x80\x04\x95\x02\x00\x00\x00\x00\x00\x00\x00J\x00\x00\x00\x00.", "exhausted before end of frame"),
        (b"utterance,score\n", "opcode|not there|ends too early"),
        (b"\xff\xfe", "byte 0xff is no opcode"),
        (b"\x80\x02\xff.", "byte 0xff is no opcode"),
        (b"\x80\x02h\x05.", "Memo value not found"),
        (b"\x80\x02a.", "not there"),
        (b"\x80\x02t.", "not there"),
        (b"\x80\x02q\x00.", "not there"),
        (b"\x80\x02\x86.", "not there"),
        (b"\x80\x02}(Nu.", "longer than argument 2|shorter than argument 1"),
        (b"\x80\x02K\x01K\x02\x93.", "STACK_GLOBAL requires str"),
        (b"\x8b\xff\xff\xff\xff.", "negative byte count"),
        (b"\x80\x02X\x01\x00\x00\x00\xff.", "codec can.t decode"),
        (b"\x80\x02V\\ud800\n.", "surrogates not allowed"),
        (b"\x80\x02X\x03\x00\x00\x00\xed\xa0\x80.", "surrogates not allowed"),
        (b"\x80\x02cnumpy\n\xff\n.", "codec can.t decode"),
        (b"Ixyz\n.", "invalid literal"),
        (b"L" + b"9" * 5000 + b"L\n.", "4300 digits"),
        (b"F1,5\n.", "could not convert"),
        (b"F1_5\n.", "could not convert"),
        (b"I1", "ends too early"),
        (b"X\xff\xff\x00\x00abc", "ends too early"),
        (b"B\xff\xff\xff\x00abc", "ends too early"),
        (b"C\x05ab", "ends too early"),
    ],
)
def test_broken_pickles_say_so(data, why):
    with pytest.raises(DataError, match=rf"file.pkl: .*(truncated or damaged|refused): .*({why})"):
        in_child(data)


def test_packed_files_that_end_too_early(tmp_path):
    data = gzip.compress(pickle.dumps(np.random.default_rng(0).normal(size=50_000), 2))
    for damaged in (data[:-8], data[: len(data) // 2], data[:12], data[:2000] + b"xxxx" + data[2004:]):
        with pytest.raises(DataError, match=r"file.pkl: the file is truncated or damaged"):
            in_child(damaged)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        list(pickles.read_list(Source("x.pkl", lambda: (tmp_path / "x.pkl").open("rb"))))


def python_reads(files: list[bytes]) -> list:
    """What Python and numpy make of pickles: None for those that they refuse, "crash" where they crash."""
    answers: list = []
    while len(answers) < len(files):
        sent = b"".join(struct.pack("<I", len(data)) + data for data in files[len(answers) :])
        command = [sys.executable, "-W", "ignore", pickle_oracle.__file__]
        found = subprocess.run(command, input=sent, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        answers += map(json.loads, found.stdout.splitlines())
        answers += ["crash"] * (found.returncode != 0)
    return answers


def mutants(data: bytes, count: int, seed: int) -> list[bytes]:
    """Copies with one to three bytes changed, removed or added, most of them outside the content of arrays."""
    draw = random.Random(seed)
    found = []
    for _ in range(count):
        changed = bytearray(data)
        for _ in range(draw.choice((1, 1, 1, 2, 3))):
            place = draw.randrange(min(len(changed), draw.choice((400, 4000, 1 << 30))))
            match draw.randrange(4):
                case 0:
                    changed[place] = draw.randrange(256)
                case 1:
                    changed[place] ^= 1 << draw.randrange(8)
                case 2:
                    del changed[place]
                case _:
                    changed.insert(place, draw.randrange(256))
        found.append(bytes(changed))
    return found


def test_what_python_refuses_is_refused_and_what_both_read_is_the_same():
    sample = [np.array([["u1", "0.5"]]), {"u1": np.arange(3), np.str_("u2"): np.zeros((2, 2), ">f4", "F")}]
    sample += [np.float32(1.5), (1, -70000, 2.5, "a", None, True, 1 << 40), b"bytes", np.array([{"a": 1}, "b"], object)]
    seeds = [pickle.dumps(sample, protocol) for protocol in PROTOCOLS]
    seeds += [pickle.dumps({"u1": np.arange(9000.0), "u2": np.arange(30_000.0)}, protocol) for protocol in (4, 5)]
    golden = (golden_cases.FOLDER / "coarse" / "dev_score_ali_64_20230101.pkl.gz").read_bytes()
    files = [gzip.decompress(golden), *seeds]
    files += [mutant for i, seed in enumerate(seeds) for mutant in mutants(seed, 200, i)]
    files += mutants(files[0], 100, 99)
    both = 0
    for data, python in zip(files, python_reads(files), strict=True):
        try:
            ours = json.loads(json.dumps(canonical(here(data))))
        except NO_PICKLE:
            continue
        assert python is not None, data[:2000]
        assert python in ("memory", "crash", ours), data[:2000]
        both += 1
    assert both > len(seeds) + 50


def test_a_missing_byte_in_a_frame_is_noticed():
    values = {"u1": np.arange(500, dtype=np.uint8), "u2": np.arange(500, dtype=np.uint8)}
    for protocol in (4, 5):
        data = pickle.dumps(values, protocol)
        place = data.index(bytes(range(100, 200)))
        for damaged in (data[:place] + data[place + 1 :], data[:place] + b"x" + data[place:]):
            with pytest.raises(pickle.UnpicklingError):
                pickle.loads(damaged)
            with pytest.raises(DataError, match=r"truncated or damaged|refused"):
                pickles.read_dict(source_of(damaged))


@given(st.binary(max_size=200), st.integers(2, 5))
@settings(max_examples=300, deadline=None)
def test_random_bytes_never_do_more_than_fail(data, protocol):
    with contextlib.suppress(*NO_PICKLE):
        here(bytes([0x80, protocol]) + data)


def test_the_unpickler_knows_no_way_to_call_or_import_by_name():
    """Its source has no eval, exec or import by name, and nothing else unpickles; a list to be read by people too."""
    tree = ast.parse(Path(unpickler.__file__).read_text())
    imports = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imports |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imports <= set(sys.stdlib_module_names) | {"collections.abc"}
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert not called & {"eval", "exec", "compile", "setattr", "__import__", "vars", "globals", "open"}
    admitted = {f"load_{name}" for name in unpickler.ADMITTED.split()}
    assert admitted <= {load.__name__ for load in pickle._Unpickler.dispatch.values()}
    for module in (pickles, arrays, segment_labels, partialspoof_scores):
        text_ = Path(module.__file__).read_text()
        assert "pickle.load" not in text_
        assert "Unpickler" not in text_
        for node in ast.walk(ast.parse(text_)):
            if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                assert isinstance(node.value, ast.Constant)
                assert node.value.value is False


# --- honest pickles

HONEST = [
    None,
    True,
    -5,
    1 << 40,
    -(1 << 62),
    0.1,
    float("inf"),
    "",
    "Ünïcödé \U0001f600\n",
    "x" * 5000,
    b"bytes",
    b"\xff" * 5000,
    [],
    (),
    {},
    [1, [2.5, ("a", None)]],
    {"u1": [1], "u2": {"a": (1, 2, 3, 4)}},
]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_plain_values_come_back_as_they_are(protocol):
    honest = HONEST if protocol >= 3 else [value for value in HONEST if value != b"bytes" or protocol]
    assert in_child(pickle.dumps(honest, protocol)) == honest
    for value in HONEST:
        if value not in (b"",):
            here(pickle.dumps(value, protocol))


ARRAYS = [
    np.arange(12.0).reshape(3, 4),
    np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    np.arange(24, dtype=">i4").reshape(2, 3, 4),
    np.float16([0.5, np.nan]),
    np.float32([1e-30, np.inf]),
    np.array([True, False]),
    np.array(["a", "Ünï", ""]),
    np.array(["a", "b"], ">U5"),
    np.array([b"a", b"bcd"]),
    np.array(5),
    np.arange(10)[::2],
    np.zeros((1000, 4), "<U32"),
    np.array([1, "a", None], object),
    np.array({"u1": np.arange(3)}, object),
]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("numpy_1", [False, True])
def test_arrays_come_back_as_they_are(protocol, numpy_1):
    data = pickle.dumps(ARRAYS, protocol)
    if numpy_1:
        data = old_names(data)
        if protocol < 4:
            assert NEW not in data
    found = in_child(data)
    for array, back in zip(ARRAYS, found, strict=True):
        assert back.shape == array.shape
        assert back.dtype == array.dtype.newbyteorder("=")
        if array.dtype == object:
            assert repr(back) == repr(array)
        else:
            np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize("protocol", range(2, 6))
def test_numpy_scalars_become_numbers_and_text(protocol):
    values = [np.float64(0.1), np.float32(0.1), np.int8(-3), np.str_("u1"), np.bool_(True), np.bytes_(b"x")]
    assert in_child(pickle.dumps(values, protocol)) == [0.1, float(np.float32(0.1)), -3, "u1", True, b"x"]
    assert in_child(pickle.dumps({np.str_("u1"): 1}, protocol)) == {"u1": 1}


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 63), 1 << 63) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=15,
)


@given(PLAIN, st.integers(0, 5))
@settings(max_examples=20, deadline=None)
def test_any_plain_value_comes_back(value, protocol):
    assert in_child(pickle.dumps(value, protocol)) == value


def test_dicts_have_text_for_keys_and_each_once():
    with pytest.raises(DataError, match="keys must be text"):
        in_child(pickle.dumps({1: 2}))
    with pytest.raises(DataError, match="'u1' occurs more than once"):
        in_child(b"\x80\x03}" + (text("u1") + b"K\x01s") * 2 + b".")


def test_a_list_that_grows_after_its_array_was_made():
    growing = EMPTY_ARRAY + b"(K\x01" + body((1,), 3) + OBJECTS + b"\x89(Nlq\xfftb" + b"h\xff(NNe\x86."
    array, grown = in_child(b"\x80\x03" + growing)
    assert array.tolist() == [None]
    assert grown == [None, None, None]


def test_text_that_is_not_unicode():
    for code in (0x110000, 0xFFFFFFFF, 0xD800):
        data = b"\x80\x03" + filled((1,), dtype("U1", size=4), body(struct.pack("<I", code), 3)) + b"."
        with pytest.raises(DataError, match="not Unicode"):
            in_child(data)


def test_lists_come_one_by_one_and_only_lists():
    items = pickles.read_list(source_of(pickle.dumps([1, (2,), "three"])))
    assert list(items) == [1, (2,), "three"]
    assert list(pickles.read_list(source_of(pickle.dumps((1, 2))))) == [1, 2]
    assert list(pickles.read_list(source_of(pickle.dumps([])))) == []
    for value in ({}, None, 5, np.arange(3), np.array([1], object)):
        with pytest.raises(DataError, match="not a list"):
            list(pickles.read_list(source_of(pickle.dumps(value))))


def test_reading_may_be_given_up():
    items = pickles.read_list(source_of(pickle.dumps([np.zeros(100_000) for _ in range(50)])))
    next(items)
    items.close()


# --- the score pickle


def cells(rows) -> np.ndarray:
    return np.array(rows, "<U32")


def official(utterances: dict[str, list[float]], columns: int = 4) -> list[np.ndarray]:
    layout = {
        4: lambda u, s: [u, str(-s), str(s), "1.0"],
        3: lambda u, s: [u, str(-s), str(s)],
        2: lambda u, s: [u, str(s)],
    }
    return [cells([layout[columns](u, s) for s in scores]) for u, scores in utterances.items()]


CORPUS = {"CON_D_0000001": [0.125, -1.5e-07, 3.0], "LA_D_2": [1.0 / 3.0], "x": [0.1, 0.1]}
NAME = "dev_score_ali_2_20230101.pkl"


def read_scores(data, name: str = NAME, **options) -> Scores:
    content = data if isinstance(data, bytes) else pickle.dumps(data, 2)
    return partialspoof_scores.FORMAT.read([source_of(content, name)], ReadOptions(**options))


def as_dict(scores: Scores) -> dict[str, list[float]]:
    return {
        utt: scores.values[scores.offsets[i] : scores.offsets[i + 1]].tolist()
        for i, utt in enumerate(scores.utterances)
    }


@pytest.mark.parametrize("columns", [4, 3, 2])
@pytest.mark.parametrize("protocol", range(2, 6))
def test_score_pickles_of_every_width_and_protocol(columns, protocol):
    data = pickle.dumps(official(CORPUS, columns), protocol)
    for content in (data, old_names(data), gzip.compress(data)):
        scores = read_scores(content)
        assert as_dict(scores) == CORPUS
        assert (scores.hop, scores.higher, scores.values.dtype) == (0.02, "bonafide", np.float64)
    assert partialspoof_scores.FORMAT.recognises(data[: 1 << 16])


def test_the_golden_score_pickle():
    (source,) = sources(golden_cases.FOLDER / "coarse" / "dev_score_ali_64_20230101.pkl.gz")
    assert partialspoof_scores.FORMAT.recognises(source.head)
    scores = partialspoof_scores.FORMAT.read([source], ReadOptions())
    expected = golden_cases.load("coarse").scores[0.64]
    assert as_dict(scores) == as_dict(expected)
    assert scores.hop == expected.hop
    assert scores.higher == expected.higher


@pytest.mark.parametrize(
    ("name", "hop"),
    [
        ("dev_score_ali_2_20230101.pkl", 0.02),
        ("eval_score_ali_64_20230101.pkl.gz", 0.64),
        ("/data/score_ali_8/eval_score_ali_16.pkl", 0.16),
        ("C:\\out\\dev_score_ali_4_20251208_merged.pkl", 0.04),
        ("dev_score_ali_1.pkl.zst", 0.01),
    ],
)
def test_the_hop_is_in_the_file_name(name, hop):
    assert read_scores(official(CORPUS), name).hop == pytest.approx(hop, abs=1e-12)
    assert read_scores(official(CORPUS), name, hop=hop).hop == pytest.approx(hop, abs=1e-12)


def test_the_hop_may_be_said_and_must_not_contradict():
    assert read_scores(official(CORPUS), "scores.pkl", hop=0.0125).hop == 0.0125
    with pytest.raises(UsageError, match="states no resolution"):
        read_scores(official(CORPUS), "scores.pkl")
    with pytest.raises(UsageError, match=r"states a resolution of 0.02 s, hop states 0.04 s"):
        read_scores(official(CORPUS), hop=0.04)
    with pytest.raises(UsageError, match="states no resolution"):
        read_scores(official(CORPUS), "dev_score_ali_0_x.pkl")
    with pytest.raises(UsageError, match="hop must be positive"):
        read_scores(official(CORPUS), "x.pkl", hop=-0.02)


def test_other_columns_and_polarities_must_be_said():
    scores = read_scores(official(CORPUS), column="score0", higher="spoof")
    assert as_dict(scores) == {utt: [-value for value in values] for utt, values in CORPUS.items()}
    assert scores.higher == "spoof"
    assert read_scores(official(CORPUS), higher="spoof").higher == "spoof"
    with pytest.raises(UsageError, match="give higher="):
        read_scores(official(CORPUS), column="score0")
    with pytest.raises(UsageError, match="no column 'label'"):
        read_scores(official(CORPUS), column="label")
    with pytest.raises(DataError, match="there is no score0"):
        read_scores(official(CORPUS, 2), column="score0", higher="spoof")


BAD_SCORES = {
    "NaN": ([cells([["u1", "0", "nan", "1"]])], r"item 0, utterance 'u1', row 0: score 'nan' is NaN"),
    "NaN with a sign": ([cells([["u1", "0", "-NaN", "1"]])], "is NaN"),
    "no number": ([cells([["u1", "0", "0.5", "1"], ["u1", "0", "high", "1"]])], r"row 1: score 'high' is no number"),
    "empty": ([cells([["u1", "0", "", "1"]])], "score '' is no number"),
    "decimal comma": ([cells([["u1", "0", "0,5", "1"]])], "'0,5' is no number; use a decimal point"),
    "underscore": ([cells([["u1", "0", "1_5", "1"]])], "'1_5' is no number"),
    "five columns": ([cells([["u1", "0", "0", "0", "1"]])], r"shape \(1, 5\)"),
    "one column": ([cells([["u1"]])], r"shape \(1, 1\)"),
    "one dimension": ([cells(["u1", "0", "0", "1"])], r"shape \(4,\)"),
    "three dimensions": ([cells([[["u1", "0"]]])], r"shape \(1, 1, 2\)"),
    "no rows": ([np.zeros((0, 4), "<U32")], r"shape \(0, 4\)|__builtin__.bytes"),
    "same utterance twice": (official({"u1": [1.0]}) + official({"u1": [2.0]}), "'u1' occurs more than once"),
    "two utterances in one array": ([cells([["u1", "0", "0"], ["u2", "0", "0"]])], "'u2' among the rows of 'u1'"),
    "empty id": ([cells([["", "0", "0", "1"]])], "id is empty"),
    "floats": ([np.zeros((3, 2))], "array of float64, not of text"),
    "scores without ids": ([cells([["0.25", "-0.25"]])], "without an utterance id"),
    "scores without ids in many rows": ([cells([["0.25", "-0.25"], ["1", "-1"]])], "without an utterance id"),
    "objects": ([np.array([["u1", "0", "0", "1"]], object)], "array of object, not of text"),
    "bytes": ([np.array([[b"u1", b"0", b"0", b"1"]])], "not of text"),
    "no arrays": (["u1", "0.5"], "type str, not an array"),
    "lists": ([[["u1", "0.5"]]], "type list, not an array"),
    "an array": (cells([["u1", "0", "0", "1"]]), "not a list"),
    "a dict": ({"u1": np.zeros(3)}, "not a list"),
    "nothing": ([], "no scores"),
}


@pytest.mark.parametrize("case", BAD_SCORES)
def test_bad_score_pickles(case):
    data, why = BAD_SCORES[case]
    with pytest.raises(DataError, match=why) as error:
        read_scores(data)
    assert NAME in str(error.value)


def test_all_problems_come_at_once_with_their_places():
    with pytest.raises(DataError, match="3 problems") as error:
        read_scores([cells([["u1", "0", "nan"], ["u1", "0", "x"]]), cells([["u2", "1"]]), cells([["u3"]])])
    assert "item 2: an array of shape" in str(error.value)


def test_two_resolutions_of_one_corpus_do_not_mix():
    data = pickle.dumps(official(CORPUS), 2)
    found = [source_of(data, NAME), source_of(data, "dev_score_ali_4_20230101.pkl")]
    with pytest.raises(DataError, match=r"occurs more than once and in dev_score_ali_2"):
        partialspoof_scores.FORMAT.read(found, ReadOptions())
    found[1] = source_of(pickle.dumps(official({"other": [1.0]}), 2), "dev_score_ali_4_20230101.pkl")
    assert sorted(set(partialspoof_scores.FORMAT.read(found, ReadOptions()).hops.tolist())) == [0.02, 0.04]


def written(format_, value, *arguments) -> bytes:
    return b"".join(format_.write(value, *arguments))


@pytest.mark.parametrize("dtype_", [np.float64, np.float32, np.float16])
def test_score_pickles_there_and_back(dtype_):
    values = {utt: np.array(scores, dtype_) for utt, scores in CORPUS.items()} | {
        "long" * 20: np.array([np.inf], dtype_)
    }
    scores = Scores.from_frames(values, 0.02, higher="bonafide")
    data = written(partialspoof_scores.FORMAT, scores)
    back = read_scores(data)
    assert back.utterances == scores.utterances
    assert back.values.tolist() == scores.values.tolist()
    assert back.offsets.tolist() == scores.offsets.tolist()
    assert NEW not in data
    assert partialspoof_scores.FORMAT.recognises(data)
    negated = Scores.from_frames({utt: -array for utt, array in values.items()}, 0.02, higher="spoof")
    assert as_dict(read_scores(written(partialspoof_scores.FORMAT, negated))) == as_dict(scores)


def test_other_tools_can_read_what_is_written():
    many = {f"u{i}": np.array([float(i)]) for i in range(2001)}
    data = written(partialspoof_scores.FORMAT, Scores.from_frames(many, 0.02, higher="bonafide"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        found = pickle.loads(data)
    assert isinstance(found, list)
    assert len(found) == 2001
    assert found[7].tolist() == [["u7", "-7.0", "7.0"]]
    assert found[7].dtype == "<U32"
    assert as_dict(read_scores(data)) == {utt: array.tolist() for utt, array in many.items()}


def test_scores_that_the_pickle_cannot_hold():
    for scores in (
        Scores.from_ranges({"u1": [(0.0, 1.0, 0.5)]}, higher="spoof"),
        Scores.from_frames({"u1": [0.5], "u2": [0.5]}, {"u1": 0.02, "u2": 0.04}, higher="spoof"),
        Scores.from_frames({"u1": [0.5]}, 0.02, higher="spoof", start=0.01),
        Scores.from_frames({"u1": [0.5]}, 0.02, higher="spoof", window=0.025),
        Scores.from_frames({"u1": np.zeros(0), "u2": [1.0]}, 0.02, higher="spoof"),
    ):
        with pytest.raises(UsageError, match="partialspoof-pickle"):
            written(partialspoof_scores.FORMAT, scores)


# --- segment labels


def official_labels(labels: dict[str, str], numpy_1: bool = True, **save) -> bytes:
    content = np.array({utt: np.array(list(row)) for utt, row in labels.items()}, object)
    header = io.BytesIO()
    npy.write_array_header_1_0(header, {"descr": "|O", "fortran_order": False, "shape": ()})
    body_ = pickle.dumps(content, save.get("protocol", 3))
    return header.getvalue() + (old_names(body_) if numpy_1 else body_)


LABELLED = {"u1": "1100111", "u2": "0", "u3": "10"}
DURATIONS = {"u1": 0.138, "u2": 0.001, "u3": 0.04}
LABELS_NAME = "dev_seglab_0.02.npy"


def read_labels(data, name: str = LABELS_NAME, **options) -> References:
    return segment_labels.FORMAT.read([source_of(data, name)], ReadOptions(**options))


def ranges(references: References) -> dict[str, list[tuple[float, float, int]]]:
    rows = zip(
        (references.starts / 1e9).tolist(), (references.ends / 1e9).tolist(), references.labels.tolist(), strict=True
    )
    listed = list(rows)
    return {
        utt: listed[references.offsets[i] : references.offsets[i + 1]] for i, utt in enumerate(references.utterances)
    }


@pytest.mark.parametrize("protocol", range(2, 6))
def test_segment_labels_become_ranges(protocol):
    for data in (
        official_labels(LABELLED, protocol=protocol),
        official_labels(LABELLED, numpy_1=False, protocol=protocol),
        gzip.compress(official_labels(LABELLED)),
    ):
        assert ranges(read_labels(data)) == {
            "u1": [(0.0, 0.04, 0), (0.04, 0.08, 1), (0.08, 0.14, 0)],
            "u2": [(0.0, 0.02, 1)],
            "u3": [(0.0, 0.02, 0), (0.02, 0.04, 1)],
        }


def test_with_durations_the_last_segment_ends_there():
    references = read_labels(official_labels(LABELLED), durations=DURATIONS)
    assert ranges(references)["u1"][-1] == (0.08, 0.138, 0)
    assert ranges(references)["u2"] == [(0.0, 0.001, 1)]
    assert references.durations.tolist() == [138_000_000, 1_000_000, 40_000_000]
    more = read_labels(official_labels(LABELLED), durations=DURATIONS | {"u4": 1.0})
    assert ranges(more)["u4"] == []


def test_numpy_save_itself_is_read():
    buffer = io.BytesIO()
    np.save(buffer, np.array({"u1": np.array(["0", "1"]), "u2": np.array([1, 0])}, object), allow_pickle=True)
    assert segment_labels.FORMAT.recognises(buffer.getvalue())
    assert ranges(read_labels(buffer.getvalue(), spoof_label=0)) == {
        "u1": [(0.0, 0.02, 1), (0.02, 0.04, 0)],
        "u2": [(0.0, 0.02, 0), (0.02, 0.04, 1)],
    }


@pytest.mark.parametrize("resolution", [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64])
def test_golden_labels_in_the_official_layout(resolution):
    labels = golden_cases.any_spoof_labels()[resolution]
    case = golden_cases.load("coarse").references
    durations = dict(zip(case.utterances, (case.durations / 1e9).tolist(), strict=True))
    data = official_labels(labels)
    references = read_labels(data, f"dev_seglab_{resolution}.npy", durations=durations)
    assert references.durations.tolist() == case.durations[[case.utterances.index(u) for u in labels]].tolist()
    for utterance, bona_fide in arrays.label_arrays(references, resolution):
        assert "".join("1" if one else "0" for one in bona_fide) == labels[utterance]
    back = written(segment_labels.FORMAT, references, resolution)
    again = read_labels(back, f"dev_seglab_{resolution}.npy", durations=durations)
    assert ranges(again) == ranges(references)


def test_a_count_that_doubles_round_up_is_accepted():
    assert 0.07 / 0.01 > 7
    references = read_labels(official_labels({"u1": "11111110"}), "x_seglab_0.01.npy", durations={"u1": 0.07})
    assert ranges(references) == {"u1": [(0.0, 0.07, 0)]}


def test_the_resolution_is_in_the_file_name_or_said():
    assert read_labels(official_labels(LABELLED), "train_seglab_0.64.npy.gz").ends.max() == 7 * 640_000_000
    assert read_labels(official_labels(LABELLED), "labels.npy", hop=0.5, spoof_label=0).ends.max() == 3_500_000_000
    with pytest.raises(UsageError, match="states no resolution"):
        read_labels(official_labels(LABELLED), "labels.npy")
    with pytest.raises(UsageError, match="hop states"):
        read_labels(official_labels(LABELLED), hop=0.01)


def objects_npy(value, shape=(), pickled: bytes | None = None) -> bytes:
    header = io.BytesIO()
    npy.write_array_header_1_0(header, {"descr": "|O", "fortran_order": False, "shape": shape})
    return header.getvalue() + (pickle.dumps(np.array(value, object), 3) if pickled is None else pickled)


def plain_npy(array) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def header_npy(literal: bytes) -> bytes:
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(literal)) + literal


BAD_LABELS = {
    "label 2": (official_labels({"u1": "012"}), "utterance 'u1': label 2 is '2'"),
    "words": (objects_npy({"u1": np.array(["spoof", "music"])}), "label 1 is 'music'"),
    "scores": (objects_npy({"u1": np.array([0.0, 0.4])}), r"label 1 is 0\.4, .*; are these scores\?"),
    "not a number": (objects_npy({"u1": np.array([0.0, np.nan])}), "label 1 is nan"),
    "label -1": (objects_npy({"u1": np.array([0, -1])}), "label 1 is -1"),
    "two dimensions": (objects_npy({"u1": np.array([["0", "1"]])}), r"shape \(1, 2\)"),
    "no labels": (objects_npy({"u1": np.zeros(0, "<U1")}), r"shape \(0,\)"),
    "a string": (objects_npy({"u1": "0110"}), "type str"),
    "a mixed list": (objects_npy({"u1": ["0", 1]}), "type list"),
    "number for an utterance": (objects_npy({7: np.array(["0"])}), "keys must be text"),
    "empty dict": (objects_npy({}), "no labels"),
    "no dict": (objects_npy([1, 2]), "header does not fit"),
    "a string object": (objects_npy("labels"), "type str, not a dict"),
    "plain array": (plain_npy(np.zeros(3)), "array of float64, not a dict"),
    "list of dicts": (objects_npy([{}], (1,)), "1 dimensions, not a dict"),
    "another shape": (objects_npy({"u1": np.array(["0"])}, (3,)), "header does not fit"),
    "hostile": (objects_npy(None, pickled=call("os", "system", "touch marker")), r"it names os\.system"),
    "hostile value": (objects_npy({"u1": Evil()}), r"it names (posix|nt)\.system"),
    "truncated": (official_labels(LABELLED)[:-20], "ends too early"),
    "truncated header": (official_labels(LABELLED)[:60], "truncated or damaged"),
    "only magic": (b"\x93NUMPY", "truncated or damaged"),
    "no magic": (b"\x93NUMPX" + bytes(100), "truncated or damaged"),
    "version 9": (b"\x93NUMPY\x09\x00" + bytes(100), "truncated or damaged"),
    "trailing bytes": (official_labels(LABELLED) + b"x", "bytes after its end"),
    "header is code": (header_npy(b"__import__('os').system('touch marker')"), "truncated or damaged"),
    "header is no dict": (header_npy(b"[1, 2]"), "truncated or damaged"),
    "header is nested": (header_npy(b"(" * 5000 + b")" * 5000), "truncated or damaged"),
    "header has minus signs": (header_npy(b"-" * 9000 + b"1"), "truncated or damaged"),
    "header is huge": (header_npy(b" " * 60_000), "truncated or damaged"),
    "header has an odd shape": (
        header_npy(b"{'descr': '|O', 'fortran_order': False, 'shape': ('a',)}"),
        "truncated or damaged",
    ),
    "header has a huge dtype": (
        header_npy(b"{'descr': '<U99999999999999', 'fortran_order': False, 'shape': ()}"),
        "truncated or damaged",
    ),
}


@pytest.mark.parametrize("case", BAD_LABELS)
def test_bad_segment_labels(case, marker):
    data, why = BAD_LABELS[case]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DataError, match=why):
            read_labels(data)


@pytest.mark.parametrize("labels", ["111111", "11111111", "1"])
def test_the_number_of_labels_must_fit_the_duration(labels):
    with pytest.raises(DataError, match=rf"{len(labels)} labels of 0.02 s, but its duration \(0.138 s\) has 7"):
        read_labels(official_labels({"u1": labels}), durations={"u1": 0.138})


def test_labels_without_a_duration_or_twice():
    with pytest.raises(DataError, match="'u1' has no duration"):
        read_labels(official_labels({"u1": "1"}), durations={"u2": 0.02})
    found = [source_of(official_labels({"u1": "1"}), name) for name in ("a_seglab_0.01.npy", "a_seglab_0.02.npy")]
    with pytest.raises(DataError, match="more than once"):
        segment_labels.FORMAT.read(found, ReadOptions())


def test_other_tools_can_read_the_labels_that_are_written():
    references = read_labels(official_labels(LABELLED), durations=DURATIONS)
    data = written(segment_labels.FORMAT, references, 0.02)
    assert segment_labels.FORMAT.recognises(data)
    assert NEW not in data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        found = np.load(io.BytesIO(data), allow_pickle=True).item()
    assert {utt: "".join(row) for utt, row in found.items()} == LABELLED
    assert found["u1"].dtype == "<U1"


def test_references_that_label_arrays_cannot_hold():
    for rows, why in (
        ([(0.0, 0.015, "spoof"), (0.015, 0.04, "bonafide")], "not on the grid"),
        ([(0.0, 0.035, "spoof")], "not on the grid"),
        ([(0.0, 0.01, "spoof"), (0.02, 0.03, "spoof")], "gaps"),
        ([(0.01, 0.02, "spoof")], "gaps"),
        ([(0.0, 0.03, "spoof"), (0.02, 0.05, "spoof")], "overlap"),
        ([(0.0, 0.02, "nonspeech")], "not nonspeech"),
        ([], "gaps"),
    ):
        references = References.from_ranges({"u1": rows})
        for format_ in (segment_labels.FORMAT, arrays.LABELS_NPZ):
            with pytest.raises(UsageError, match=why):
                written(format_, references)
    with pytest.raises(UsageError, match="gaps"):
        written(segment_labels.FORMAT, References.from_ranges({"u1": [(0.0, 0.02, "spoof")]}, {"u1": 0.03}))
    with pytest.raises(UsageError, match="resolution must be positive"):
        written(segment_labels.FORMAT, References.from_ranges({"u1": [(0.0, 0.02, "spoof")]}), 0.0)


# --- npz and npy-dict


def npz(arrays_: dict, compression=zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the same name twice
        with zipfile.ZipFile(buffer, "w", compression) as archive:
            for name, content in arrays_.items() if isinstance(arrays_, dict) else arrays_:
                archive.writestr(name, content if isinstance(content, bytes) else plain_npy(content))
    return buffer.getvalue()


def read_npz(data: bytes, format_=arrays.SCORES_NPZ, **options):
    defaults = {"hop": 0.02, "spoof_label": 0} if format_ is arrays.LABELS_NPZ else {"hop": 0.02, "higher": "spoof"}
    return format_.read([source_of(data, "scores.npz")], ReadOptions(**(defaults | options)))


def test_numpy_savez_is_read():
    buffer = io.BytesIO()
    np.savez_compressed(buffer, u1=np.float32([0.1, 0.2]), **{"dir/u2": np.float32([0.5])})
    scores = read_npz(buffer.getvalue())
    assert arrays.SCORES_NPZ.recognises(buffer.getvalue())
    assert (scores.utterances, scores.values.dtype, scores.higher, scores.hop) == (
        ("u1", "dir/u2"),
        np.float32,
        "spoof",
        0.02,
    )
    assert scores.values.tolist() == np.float32([0.1, 0.2, 0.5]).tolist()
    assert read_npz(gzip.compress(buffer.getvalue())).utterances == scores.utterances


@pytest.mark.parametrize("dtype_", [np.float64, np.float32, np.float16])
def test_npz_scores_there_and_back(dtype_):
    values = {"file": np.array([0.5, -np.inf], dtype_), "Ünï/../x": np.zeros(0, dtype_), "a.npy": np.array([1], dtype_)}
    scores = Scores.from_frames(values, 0.02, higher="bonafide")
    data = written(arrays.SCORES_NPZ, scores)
    assert data == written(arrays.SCORES_NPZ, scores)
    back = read_npz(data, higher="bonafide")
    assert back.utterances == scores.utterances
    assert back.values.dtype == dtype_
    assert back.values.tolist() == scores.values.tolist()
    assert back.offsets.tolist() == scores.offsets.tolist()
    with np.load(io.BytesIO(data)) as found:
        assert sorted(found.files) == sorted(values)


def test_npz_labels_there_and_back():
    references = read_labels(official_labels(LABELLED), durations=DURATIONS)
    data = written(arrays.LABELS_NPZ, references, 0.02)
    assert arrays.LABELS_NPZ.recognises(data)
    assert ranges(read_npz(data, arrays.LABELS_NPZ, durations=DURATIONS)) == ranges(references)
    text_labels = npz({f"{utt}.npy": np.array(list(row)) for utt, row in LABELLED.items()})
    assert ranges(read_npz(text_labels, arrays.LABELS_NPZ, durations=DURATIONS)) == ranges(references)


def test_npz_options_must_be_said():
    data = npz({"u1.npy": np.zeros(2)})
    for options, said in (({"hop": None}, "give hop="), ({"higher": None}, "give higher=")):
        with pytest.raises(UsageError, match=said):
            read_npz(data, **options)
    with pytest.raises(UsageError, match="states no resolution"):
        read_npz(data, arrays.LABELS_NPZ, hop=None)
    with pytest.raises(UsageError, match="hop must be positive"):
        read_npz(data, arrays.LABELS_NPZ, hop=0.0)
    with pytest.raises(UsageError, match="npz"):
        written(arrays.SCORES_NPZ, Scores.from_ranges({"u1": [(0.0, 1.0, 0.5)]}, higher="spoof"))
    with pytest.raises(UsageError, match="cannot be the name"):
        written(arrays.SCORES_NPZ, Scores.from_frames({"a\0b": [0.5]}, 0.02, higher="spoof"))


GOOD_NPZ = npz({"u1.npy": np.arange(100.0)}, zipfile.ZIP_DEFLATED)
BAD_NPZ = {
    "NaN": (npz({"u1.npy": np.array([0.5, np.nan])}), "utterance 'u1': score 1 is NaN"),
    "text": (npz({"u1.npy": np.array(["0.5"])}), "must be numbers"),
    "bool": (npz({"u1.npy": np.array([True])}), "must be numbers"),
    "three dimensions": (npz({"u1.npy": np.zeros((2, 2, 2))}), "one-dimensional"),
    "a number": (npz({"u1.npy": np.array(0.5)}), "one-dimensional"),
    "objects": (npz({"u1.npy": objects_npy([0.5], (1,))}), "dtype object"),
    "hostile objects": (
        npz({"u1.npy": objects_npy(None, pickled=call("os", "system", "touch marker"))}),
        "dtype object",
    ),
    "objects in fields": (
        npz({"u1.npy": header_npy(b"{'descr': [('a', '|O')], 'fortran_order': False, 'shape': (1,)}")}),
        "dtype",
    ),
    "no array": (npz({"readme.txt": b"hello"}), "'readme.txt' is no array"),
    "no name": (npz({".npy": np.zeros(1)}), "no array"),
    "an empty member": (npz({"u1.npy": b""}), "truncated or damaged"),
    "no npy": (npz({"u1.npy": b"hello world"}), "truncated or damaged"),
    "same name twice": (npz([("u1.npy", np.zeros(1)), ("u1.npy", np.ones(1))]), "more than once"),
    "empty": (npz({}), "no scores"),
    "8 GiB": (
        npz({"u1.npy": header_npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (1073741824,)}")}),
        "is truncated: 0 bytes",
    ),
    "negative shape": (
        npz({"u1.npy": header_npy(b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}")}),
        "truncated|negative",
    ),
    "truncated array": (npz({"u1.npy": plain_npy(np.zeros(9))[:-3]}), "is truncated: 69 bytes"),
    "trailing bytes": (npz({"u1.npy": plain_npy(np.zeros(9)) + b"xyz"}), "is truncated: 75 bytes"),
    "Fortran order": (npz({"u1.npy": plain_npy(np.asfortranarray(np.zeros((2, 3))))}), "Fortran order"),
    "truncated": (GOOD_NPZ[:-30], "no zip archive, or truncated or damaged"),
    "half": (GOOD_NPZ[: len(GOOD_NPZ) // 2], "no zip archive, or truncated or damaged"),
    "damaged": (GOOD_NPZ[:60] + b"xxxx" + GOOD_NPZ[64:], "truncated or damaged"),
    "text file": (b"utterance score\n", "no zip archive, or truncated or damaged"),
    "text that is no text": (npz({"u1.npy": np.array([0x110000], "<u4").view("<U1")}), "not Unicode"),
    "long doubles": (npz({"u1.npy": np.zeros(2, np.longdouble)}), "must be numbers"),
    "complex": (npz({"u1.npy": np.zeros(2, complex)}), "must hold numbers"),
}


@pytest.mark.parametrize("case", BAD_NPZ)
def test_bad_npz(case, marker):
    data, why = BAD_NPZ[case]
    with pytest.raises(DataError, match=why):
        read_npz(data)


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_changed_bytes_of_an_npz_never_do_more_than_fail(data):
    good = bytearray(data.draw(st.sampled_from([GOOD_NPZ, npz({"u1.npy": np.arange(3.0), "u2.npy": np.array(["1"])})])))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(good) - 1))
        if data.draw(st.booleans()):
            good[place] = data.draw(st.integers(0, 255))
        else:
            del good[place : place + data.draw(st.integers(1, 8))]
    with contextlib.suppress(DataError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arrays.read_npz(source_of(bytes(good)))


def test_npz_bombs(monkeypatch):
    monkeypatch.setattr(arrays, "MOST_MEMBER", 1 << 20)
    bomb = npz({"u1.npy": np.zeros(1 << 18)}, zipfile.ZIP_DEFLATED)
    assert len(bomb) < 1 << 14
    with pytest.raises(DataError, match="larger than"):
        read_npz(bomb)
    monkeypatch.setattr(arrays, "MOST_TOTAL", 1 << 21)
    with pytest.raises(DataError, match="larger than"):
        read_npz(npz({f"u{i}.npy": np.zeros(1 << 16) for i in range(5)}, zipfile.ZIP_DEFLATED))


@pytest.mark.parametrize("protocol", range(2, 6))
def test_dicts_of_scores_are_read(protocol):
    values = {"u1": np.float32([0.1, 0.2]), "u2": np.float32([3.0])}
    buffer = io.BytesIO()
    np.save(buffer, np.array(values, object), allow_pickle=True)
    for data in (buffer.getvalue(), pickle.dumps(values, protocol), old_names(pickle.dumps(values, protocol))):
        assert arrays.SCORES_DICT.recognises(data)
        scores = read_npz(data, arrays.SCORES_DICT)
        assert scores.utterances == ("u1", "u2")
        assert scores.values.tolist() == np.float32([0.1, 0.2, 3.0]).tolist()


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"u1": np.array([np.nan])}, "score 0 is NaN"),
        ({"u1": [[0.1], ["a"]]}, "type list, not an array"),
        ({"u1": np.array(["0.5"])}, "must be numbers"),
        ({"u1": np.zeros((1, 1, 1))}, "one-dimensional"),
        ({"u1": {"a": 1}}, "type dict, not an array"),
        ({}, "no scores"),
        ([np.zeros(1)], "not a dict"),
        ({"u1": Evil()}, "it names"),
        (Evil(), "it names"),
    ],
)
def test_bad_dicts_of_scores(value, why, marker):
    with pytest.raises(DataError, match=why):
        read_npz(pickle.dumps(value, 2), arrays.SCORES_DICT)
    with pytest.raises(DataError, match=why.replace("not a dict", "header does not fit|not a dict")):
        read_npz(objects_npy(value), arrays.SCORES_DICT)


def test_no_format_takes_the_file_of_another():
    heads = {
        "pickle": pickle.dumps(official(CORPUS), 2),
        "npz": GOOD_NPZ,
        "npy": official_labels(LABELLED),
        "text": b"u1 0 0.5\n",
        "plain npy": plain_npy(np.zeros(3)),
        "zip": npz({"a.txt": b"x"}),
        "nothing": b"",
    }
    formats = {
        "partialspoof-pickle": partialspoof_scores.FORMAT,
        "npz": arrays.SCORES_NPZ,
        "npy-dict": arrays.SCORES_DICT,
    }
    taken = {
        name: [format_ for format_, one in formats.items() if one.recognises(head)] for name, head in heads.items()
    }
    assert taken == {
        "pickle": ["partialspoof-pickle"],
        "npz": ["npz"],
        "npy": ["npy-dict"],
        "text": [],
        "plain npy": [],
        "zip": [],
        "nothing": [],
    }
    assert list(formats) == [one.name for one in formats.values()]
