"""Random corpora as files, which the library and the page in the browser read and measure."""

import base64
import io
import json
import struct
import warnings
from itertools import pairwise

import numpy as np

import spoofspan as ss

MEASURES = ("range-eer", "utterance-eer")
HOPS = (0.02, 0.01, 0.04, 0.16, 0.64, 0.0125, 1 / 30, 256 / 22050)
LABELS = ("bonafide", "spoof", "A07", "genuine", "Fake")
IDS = ("u{}", "CON_E_{:07d}", "\u00fc{}", "\U0001d4b3{}", "\uff21{}", "-{}")


def write_case(folder, rng):
    """Write one corpus; return what is in its files, as the page is told it."""
    folder.mkdir()
    tame = rng.random() < 0.75
    form = IDS[rng.integers(len(IDS))]
    ids = [form.format(i) for i in range(rng.integers(1, 6))]
    hop = float(rng.choice(HOPS))
    kind = rng.choice(["unit", "frame", "npz", "csv-frames", "csv-ranges", "wedefense"])
    higher = "spoof" if kind in ("unit", "wedefense") else str(rng.choice(["bonafide", "spoof"]))
    frames = {utt: _values(rng, int(rng.integers(1, 60))) for utt in ids}
    ranges = {utt: _score_ranges(rng, values, tame) for utt, values in frames.items()} if kind == "csv-ranges" else None
    last_ends = {
        utt: ranges[utt][-1][1] if ranges else round(values.size * hop * 1e9) for utt, values in frames.items()
    }
    extents = {utt: _extent(rng, last_ends[utt], 0 if ranges else round(hop * 1e9), tame) for utt in ids}
    case = {"references": None, "durations": None, "higher": None, "hop": None}
    _write_references(folder, rng, case, extents, tame)
    _write_scores(folder, rng, case, str(kind), frames, ranges, hop, higher)
    resolution = rng.choice([10, 20, 40, 12.5, 160, 33.3, round(hop * 1000, 3)])
    return case | {"measures": [*MEASURES, f"point-eer@{resolution:g}ms"], "version": ss.__version__}


def _values(rng, count):
    kind = rng.integers(5)
    if kind == 0:  # few distinct ones
        return rng.choice([-1.0, -0.5, -0.0, 0.0, 0.25, 1.0], count)
    if kind == 1:
        return rng.choice([np.inf, -np.inf, 5e-324, -5e-324, 1.7e308, 0.0, 1e-5, -1e22, 3.0], count)
    if kind == 2:
        return rng.normal(size=count).astype(np.float32).astype(np.float64)
    if kind == 3:
        return np.round(rng.normal(size=count), 1)
    return rng.normal(size=count)


def _score_ranges(rng, values, tame):
    """Ranges (ns) that touch, or, unless they are tame, may leave gaps, overlap or be empty."""
    at, found = 0 if tame or rng.random() < 0.9 else 1_000_000, []
    for value in values:
        start = at
        if not tame and rng.random() < 0.03:
            start = max(at + int(rng.integers(-5, 6)) * 1_000_000, 0)
        end = start + int(rng.integers(0 if rng.random() < 0.1 else 1, 300)) * 1_000_000
        found.append((start, end, float(value)))
        at = end
    return found


def _extent(rng, last, hop, tame):
    """How long an utterance lasts (ns), given the end of its last score."""
    slack = hop + 25_000_000
    ways = [last, last, last + int(rng.integers(0, slack + 1)), last + slack, last - int(rng.integers(0, hop // 2 + 1))]
    ways += [] if tame else [last + slack + 1_000_000, last - 2 * hop, last - 3 * hop - 1_000_000, last + 500_000_000]
    chosen = int(ways[rng.integers(len(ways))])
    digits = 1_000_000 if rng.random() < 0.7 else 62_500
    return max(chosen // digits * digits, digits)


def _write_references(folder, rng, case, extents, tame):
    rounded = rng.random() < 0.5
    rows = []
    for utt, extent in extents.items():
        tick = 1 if not rounded else 1_000_000
        inside = sorted(set((rng.integers(1, max(extent // tick, 2), rng.integers(0, 5)) * tick).tolist()))
        edges = [0, *(edge for edge in inside if edge < extent), extent]
        for start, end in pairwise(edges):
            label = str(rng.choice([*LABELS, "nonspeech"] if not tame and rng.random() < 0.05 else LABELS))
            if not tame and rng.random() < 0.03:
                continue
            if rng.random() < 0.2:
                start = max(start + int(rng.integers(-2, 3)) * 1_000_000, 0)
            elif not tame and rng.random() < 0.1:
                end += int(rng.integers(-5, 6)) * 1_000_000
            if rng.random() < 0.05:
                rows.append((utt, start, start, label))
            if end >= start:
                rows.append((utt, start, end, label))
            if rng.random() < 0.05 and end - start > 4:  # within one of the same label
                rows.append((utt, start + (end - start) // 4, start + (end - start) // 2, label))
    if rng.random() < 0.3:
        rng.shuffle(rows)
        rows = [(utt, int(start), int(end), label) for utt, start, end, label in rows]
    durations = None if rng.random() < 0.15 else extents
    if rng.random() < 0.6 or not rows:
        lines = [f"SPEAKER {u} 1 {_text(s)} {_text(e - s)} <NA> <NA> {label} <NA> <NA>" for u, s, e, label in rows]
        case["references"] = "ref.rttm"
    else:
        own = durations is not None and rng.random() < 0.5
        lines = ["utterance,start,end,label" + ",duration" * own]
        lines += [f"{u},{_text(s)},{_text(e)},{label}" + f",{_text(extents[u])}" * own for u, s, e, label in rows]
        case["references"] = "ref.csv"
        durations = None if own else durations
    (folder / case["references"]).write_text("\n".join(lines) + "\n", encoding="utf-8")
    if durations is not None:
        case["durations"] = "reco2dur"
        lines = [f"{utt} {_text(ns)}\n" for utt, ns in durations.items()]
        (folder / "reco2dur").write_text("".join(lines), encoding="utf-8")


def _text(ns):
    return f"{ns // 10**9}.{ns % 10**9:09d}".rstrip("0").ljust(len(str(ns // 10**9)) + 4, "0")


def _write_scores(folder, rng, case, kind, frames, ranges, hop, higher):
    rows = [(utt, k, repr(float(value))) for utt, values in frames.items() for k, value in enumerate(values)]
    named = hop in (0.02, 0.01, 0.04, 0.16, 0.64, 0.0125)
    if kind == "unit":
        case["scores"] = f"unit{hop!r}.score" if named else "scores.txt"
        text = "".join(f"{utt} {k} {-float(value)!r} {value}\n" for utt, k, value in rows)
    elif kind == "wedefense":
        case["scores"] = f"logits_{1000 * hop:g}ms.txt" if named else "logits.txt"
        text = "".join(f"{utt}\t{k}\t0.5\t{value}\tunknown\n" for utt, k, value in rows)
    elif kind == "frame":
        case["scores"], case["higher"] = (f"unit{hop!r}.score" if named else "frames.txt"), higher
        text = "".join(f"{utt} {k} {value}\n" for utt, k, value in rows)
    elif kind == "csv-frames":
        case["scores"] = "scores.csv"
        text = "utterance,frame,score,hop,higher\n"
        text += "".join(f"{utt},{k},{value},{hop!r},{higher}\n" for utt, k, value in rows)
    elif kind == "csv-ranges":
        case["scores"], case["higher"] = "scores.csv", higher
        text = "utterance,start,end,score\n"
        text += "".join(
            f"{utt},{_text(a)},{_text(b)},{value!r}\n" for utt, all_rows in ranges.items() for a, b, value in all_rows
        )
    else:
        case["scores"], case["higher"], case["hop"] = "scores.npz", higher, hop
        kinds = [one for one in (np.float16, np.float32, np.float64) if not any(map(np.isnan, _cast(frames, one)))]
        arrays = {utt: values.astype(rng.choice(kinds)) for utt, values in frames.items()}
        packed = io.BytesIO()
        (np.savez_compressed if rng.random() < 0.5 else np.savez)(packed, **arrays)
        (folder / case["scores"]).write_bytes(packed.getvalue())
        return
    if kind in ("unit", "wedefense", "frame") and not named:
        case["hop"] = hop
    (folder / case["scores"]).write_text(text, encoding="utf-8")


def _cast(frames, kind):
    with np.errstate(over="ignore"):
        return [one for values in frames.values() for one in values.astype(kind)]


def write_cases(folder, count, seed):
    """Write corpora, and the list of them that the page reads."""
    rng = np.random.default_rng(seed)
    with np.errstate(over="ignore"):
        cases = [{"folder": f"{i}", **write_case(folder / f"{i}", rng)} for i in range(count)]
    (folder / "cases.json").write_text(json.dumps(cases), encoding="utf-8")
    return cases


def base64_of(path):
    """The bytes of a file as text."""
    return base64.b64encode(path.read_bytes()).decode("ascii")


def library_result(folder, case):
    """What the library finds: the numbers of every measure, or its error."""
    folder = folder / case["folder"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            durations = case["durations"] and ss.read_durations(folder / case["durations"])
            references = ss.read_references(folder / case["references"], durations=durations)
            scores = ss.read_scores(folder / case["scores"], hop=case["hop"], higher=case["higher"])
        except ss.SpoofspanError as error:
            return {measure: str(error) for measure in case["measures"]}
        found = {}
        for measure in case["measures"]:
            try:
                found[measure] = ss.evaluate(references, scores, [measure])[measure].to_dict()
            except ss.SpoofspanError as error:
                found[measure] = str(error)
        return found


def differences(library, page):
    """Where the page has another number than the library, or one where the library has none, and what it left out."""
    wrong, left = [], []
    for measure, ours in library.items():
        theirs = page[measure]
        if isinstance(ours, str):
            wrong += [] if "error" in theirs else [(measure, ours, theirs)]
        elif "error" in theirs:
            (left if theirs["elsewhere"] else wrong).append((measure, ours, theirs))
        elif not same(ours | {"warnings": []}, theirs | {"warnings": []}):
            wrong.append((measure, ours, theirs))
    return wrong, left


def same(ours, theirs):
    """Whether plain data are equal to the bit; the page's numbers are text, since JSON has no infinities."""
    if isinstance(ours, dict):
        return ours.keys() == theirs.keys() and all(same(value, theirs[name]) for name, value in ours.items())
    if isinstance(ours, int | float):
        return isinstance(theirs, str) and struct.pack("d", ours) == struct.pack("d", float(theirs))
    return ours == theirs
