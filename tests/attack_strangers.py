"""What strangers send besides labels and scores: models, cards, calibrations, submissions, recordings; and its damages.

Damages of bytes hardly get past a parser. Those here damage what is inside: a value of a JSON or TOML file becomes one
of another kind, a member of an archive is damaged and packed again by any method, the header of a file of tensors says
something else than its tensors.
"""

import contextlib
import io
import json
import random
import re
import tarfile
import tempfile
import warnings
import wave
import zipfile
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from challenge_cases import build as build_challenge
from challenge_cases import frame_lines
from format_samples import scores

import spoofspan as ss
from spoofspan.challenge.definition import PublicPart
from spoofspan.challenge.submission_check import check_submission
from spoofspan.data.calibration import AffineMap, Calibration, PavFusionMap, PavMap
from spoofspan.formats.calibrations import read_calibration
from spoofspan.formats.sound import Sound

HAS_MODELS = all(find_spec(name) for name in ("torch", "safetensors", "soundfile", "soxr", "transformers"))
RECORDING = "u1.wav"
Content = dict[str, bytes]


# ---------------------------------------------------------------- damages

STRANGE: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 1e30, 1e308, -1e308, 1e-320, 10**30, 10**400, float("nan"), float("inf"), 40_000),
    *("", "x", "owner/name", "nan", "\x1b[2J\u202e", "a" * 5000, "llama", "../../etc/passwd"),
    *([], [[]], [1, 2], ["a"], {}, {"a": 1}, [[[[[[[[1]]]]]]]]),
)
TOML_VALUES = (
    *(
        "1e400",
        "-1",
        "0",
        "40000",
        "1" + "0" * 30,
        "nan",
        "-inf",
        "true",
        '"x"',
        '"owner/name"',
        "[]",
        '["20ms", "20ms"]',
    ),
    *("[" * 3000, "{a = 1}", '"""', "1979-05-27", "2048", '"wav2vec2"', '"logistic"', "0.5", '"llama"', "13"),
)


def other_value(plain: Any, dice: random.Random) -> Any:
    """Change one value somewhere in plain data: another kind, another number, gone, twice, or nested without end."""
    if isinstance(plain, dict) and plain and dice.random() < 0.85:
        name = dice.choice(list(plain))
        if dice.random() < 0.08:
            return {key: one for key, one in plain.items() if key != name}
        if dice.random() < 0.04:
            return {
                dice.choice(["x", "fused", "20ms", "utterance", "data"]) if key == name else key: plain[key]
                for key in plain
            }
        return plain | {name: other_value(plain[name], dice)}
    if isinstance(plain, list) and plain and dice.random() < 0.7:
        at = dice.randrange(len(plain))
        if dice.random() < 0.15:
            return plain[:at] + plain[at + 1 :] if dice.random() < 0.5 else [*plain, plain[at]]
        return [*plain[:at], other_value(plain[at], dice), *plain[at + 1 :]]
    if isinstance(plain, int | float) and not isinstance(plain, bool) and dice.random() < 0.4:
        return dice.choice([-plain, plain * 1e6, plain * 1000, plain + 1, plain / 3, str(plain)])
    return dice.choice(STRANGE)


def damaged_json(content: bytes, dice: random.Random) -> bytes:
    """Change a value of a JSON file."""
    changed = json.dumps(other_value(json.loads(content), dice))
    if dice.random() < 0.03:
        changed = re.sub(r"\d+\.\d+", "[" * dice.choice((70, 900, 20_000)), changed, count=1)
    return changed.encode("utf-8", "surrogatepass")


def damaged_toml(content: bytes, dice: random.Random) -> bytes:
    """Change a value of a TOML file, a line each."""
    lines = content.decode().splitlines()
    at = dice.choice([row for row, line in enumerate(lines) if "=" in line])
    key = lines[at].partition("=")[0]
    lines[at] = f"{key}= {dice.choice(TOML_VALUES)}"
    if dice.random() < 0.05:
        lines.append(".".join(["a"] * dice.choice((3, 500, 20_000))) + " = 1")
    return "\n".join(lines).encode()


def damaged_tensors(content: bytes, dice: random.Random) -> bytes:
    """Change the header of a file of tensors, or its numbers."""
    length = int.from_bytes(content[:8], "little")
    header, data = content[8 : 8 + length], content[8 + length :]
    if dice.random() < 0.3 and len(data) >= 8:
        at = dice.randrange(0, len(data) - 3) // 4 * 4
        special = dice.choice((np.nan, np.inf, 3e38, -3e38, 0.0, 1e-40))
        return content[: 8 + length] + data[:at] + np.float32(special).tobytes() + data[at + 4 :]
    changed = damaged_json(header, dice)
    stated = len(changed) if dice.random() < 0.95 else dice.choice((2**63, 2**40, 0, 10**8))
    return stated.to_bytes(8, "little") + changed + data


def damaged_member(content: bytes, dice: random.Random) -> bytes:
    """Damage a member of a zip archive, and pack all of them again by any method."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [(one, archive.read(one)) for one in archive.namelist()]
    return _zip(_one_damaged(members, dice), dice.choice((0, 8, 8, 12, 14)))


def damaged_tar(content: bytes, dice: random.Random) -> bytes:
    """Damage a member of a tar, and pack all of them again by any method."""
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        members = [(one.name, archive.extractfile(one).read()) for one in archive if one.isreg()]
    return _tar(_one_damaged(members, dice), dice.choice(("w", "w:gz", "w:xz", "w:bz2")), dice)


def _one_damaged(members: list[tuple[str, bytes]], dice: random.Random) -> list[tuple[str, bytes]]:
    if not members:
        raise ValueError("nothing is left in the archive")
    at = dice.randrange(len(members))
    name, data = members[at]
    with contextlib.suppress(ValueError, IndexError, TypeError):
        data = damage_of(name)(data, dice)
    if dice.random() < 0.1:
        name = dice.choice(("../" + name, "/" + name, "x/" + name, name.upper(), "x" * 300, "", members[0][0]))
    members = [*members[:at], (name, data), *members[at + 1 :]]
    if dice.random() < 0.1:
        members += [(f"{i}.txt", b"") for i in range(dice.choice((1, 1200)))]
    return members


def damage_of(name: str) -> Callable[[bytes, random.Random], bytes]:
    """The damage for a file of this name."""
    found: dict[str, Callable[[bytes, random.Random], bytes]] = {
        ".json": damaged_json,
        ".toml": damaged_toml,
        ".safetensors": damaged_tensors,
        ".zip": damaged_member,
        ".tar": damaged_tar,
    }
    return found.get(Path(name).suffix, lambda content, dice: content[: dice.randrange(len(content) + 1)])


def _zip(members: list[tuple[str, bytes]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", method) as archive:
        warnings.simplefilter("ignore")  # of names that are there twice
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name or "x"), content, method)
    return buffer.getvalue()


def _tar(members: list[tuple[str, bytes]], mode: Any = "w", dice: random.Random | None = None) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, content in members:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            if dice is not None and dice.random() < 0.05:
                entry.type = dice.choice((b"L", b"K", b"x", b"g", b"S", b"1", b"2", b"3", b"5", b"6"))
                entry.linkname = "config.toml"
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


# ---------------------------------------------------------------- good files


def _wav(seconds: float = 0.3) -> bytes:
    samples = np.sin(np.arange(int(seconds * 16_000)) / 9) + np.random.default_rng(0).normal(
        0, 0.1, int(seconds * 16_000)
    )
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16_000)
        file.writeframes((samples * 9000).astype("<i2").tobytes())
    return buffer.getvalue()


def sounds() -> Content:
    """A recording of each kind that has a header of its own."""
    import soundfile

    found = {}
    noise = np.random.default_rng(0).normal(0, 0.1, 1600)
    for name, kind in (
        ("RF64", "rf64"),
        ("FLAC", "flac"),
        ("OGG", "ogg"),
        ("AIFF", "aiff"),
        ("CAF", "caf"),
        ("W64", "w64"),
    ):
        buffer = io.BytesIO()
        soundfile.write(buffer, noise, 16_000, format=name)
        found[f"sound.{kind}"] = buffer.getvalue()
    return found


def calibrations() -> dict[str, Calibration]:
    """A map of each kind."""
    pav = PavMap((-1.0, -0.2, 0.1, 0.9), (-3.0, -3.0, 1.5, 2.0))
    both = ("bonafide", "bonafide")
    return {
        "fused": Calibration(PavFusionMap((pav, pav), AffineMap((0.6, 0.4), -0.1)), ("20ms", "40ms"), both, "time"),
        "20ms": Calibration(pav, ("20ms",), both[:1], "time", learned_on={"comparable": "x"}),
        "utterance": Calibration(AffineMap((2.0,), -1.0), ("utterance",), both[:1], "utterances"),
    }


@cache
def model(kind: str = "structural") -> Content:
    """The files of a small model with a card: structural, or with a small wav2vec 2.0."""
    from hashlib import sha256

    import torch

    from spoofspan.cm import checkpoints
    from spoofspan.cm.card import Card, EerThreshold
    from spoofspan.cm.config import preset
    from spoofspan.cm.model import build
    from spoofspan.cm.out_of_domain import SIZE, TrainingDomain

    torch.manual_seed(0)
    changes = {"network": {"branches": ["20ms", "40ms", "utterance"]}, "front_end": {"width": 8, "layers": 1}}
    config = preset("small-cpu").changed(changes)
    architecture = None
    if kind == "wav2vec2":
        config = config.changed({"front_end": {"kind": "wav2vec2"}})
        sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
        sizes |= {"num_conv_pos_embeddings": 4, "num_conv_pos_embedding_groups": 2}
        architecture = json.dumps(sizes | {"model_type": "wav2vec2", "conv_dim": [8] * 7, "feat_extract_norm": "layer"})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        checkpoints.save(folder, build(config, architecture), config, {"epoch": 1, "loss": {"20ms": 0.5}})
        files = {
            path.name: path.read_bytes()
            for path in folder.iterdir()
            if path.suffix in (".toml", ".json", ".safetensors")
        }
    data = {"utterances": 4, "seconds": 12.5, "spoofed_seconds": 2.5, "attacks": ["A01", "A02"], "channel": "none"}
    about = {
        "configuration": config.name,
        "random_channels": 1.0,
        "random_channel_share": 0.5,
        "made_by": "spoofspan",
        "data": {"training": data, "development": data | {"attacks": "not stated"}},
        "figures": {"20ms": {"range-eer": 0.1, "held-out-cllr": 0.5}, "fused": {"held-out-cllr": 0.4}},
        "licence": "none",
        "limits": ["a", "b"],
        "band_hz": [0.0, 8000.0],
    }
    domain = TrainingDomain(np.zeros(SIZE), np.eye(SIZE), np.ones(SIZE), ((0.25, 3.0), (1.0, 2.0)), 20, 10)
    weights = sha256(files["model.safetensors"]).hexdigest()
    card = Card(weights, about, calibrations(), EerThreshold(0.1, -0.1, 0.3, 0.95), domain)
    files["card.json"] = json.dumps(card.to_dict()).encode()
    return files


def first(files: Content, name: str) -> Content:
    """The same files, this one first: it gets damaged."""
    return {name: files[name], **files}


# ---------------------------------------------------------------- what is done with them


def refused_by_name(read: Callable[[], Any], *names: str) -> Any:
    """What is read; None if it is refused by a message that names the file (or its folder) in few words."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return read()
        except ss.SpoofspanError as error:
            refusal = str(error)
    assert any(name in refusal for name in names), f"the refusal does not name the file: {refusal}"
    assert len(refusal) < 20_000, f"the refusal has {len(refusal):,} characters"
    return None


def _locate(where: str) -> Callable[[Path], None]:
    """Locate with a model: a folder, or an archive."""

    def use(folder: Path) -> None:
        from spoofspan.cm.card import card_facts, read_card
        from spoofspan.cm.locate import locate
        from spoofspan.report.table import finite

        place = folder / where if where else folder
        recordings = {"u1": Sound(folder / RECORDING, RECORDING)}
        found = refused_by_name(lambda: locate(recordings, place, threshold=0.1), str(folder), RECORDING)
        if found is None:
            return
        assert str(found)
        json.dumps(finite(found.to_dict()), allow_nan=False)
        if not where:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                card_facts(read_card(folder))

    return use


@cache
def _scored() -> Any:
    """What the good model says of the recording: its scores by branch, and what was heard."""
    from spoofspan.cm.listening import Heard, ListenedSound
    from spoofspan.cm.scorers import load_scorer
    from spoofspan.cm.scoring import score_sounds

    with tempfile.TemporaryDirectory() as folder:
        for name, content in (model() | {RECORDING: _wav()}).items():
            (Path(folder) / name).write_bytes(content)
        heard = ListenedSound.to(Sound(Path(folder) / RECORDING, RECORDING), Heard())
        return score_sounds(load_scorer(folder), {"u1": heard})[0], heard.heard


def _locate_by_card(folder: Path) -> None:
    """Do with a card what locate does, without the network, which is always the same; now and then, locate itself."""
    from spoofspan.cm.card import card_facts, card_lines, read_card
    from spoofspan.cm.out_of_domain import recording_numbers

    if sum((folder / "card.json").read_bytes()) % 40 == 0:
        _locate("")(folder)
    branches, heard = _scored()

    def use() -> None:
        card = read_card(folder)
        if card is None:
            return
        card.check_branches(tuple(branches), str(folder))
        assert not any(np.isnan(one.values).any() for one in card.ratios(branches).values()), "a ratio is NaN"
        if card.domain is not None:
            card.domain.judge(recording_numbers(heard, branches["20ms"].values), heard.seconds).to_dict()
        assert card_facts(card)
        assert card_lines(card.about)
        assert card.locating in (None, *card.calibrations)

    refused_by_name(use, str(folder))


def _calibrate(folder: Path) -> None:
    found = refused_by_name(lambda: read_calibration(folder / "calibration.json"), "calibration.json")
    if found is None:
        return
    assert str(found)
    frames = [scores(("CON_1", "CON_2"))] * len(found.systems)
    with contextlib.suppress(ss.SpoofspanError):
        ratios = found.apply(*frames)
        assert not np.isnan(ratios.values).any(), "a ratio is NaN"


def _submit(where: str) -> Callable[[Path], None]:
    def use(folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = check_submission(_public(), folder / where)
        said = "\n".join(found.problems)
        assert "Traceback" not in said, said
        assert len(said) < 20_000, f"the refusal has {len(said):,} characters"

    return use


@cache
def _public() -> PublicPart:
    return PublicPart.read(build_challenge(Path(tempfile.mkdtemp(prefix="attacked-challenge-")) / "challenge"))


def _hear(name: str) -> Callable[[Path], None]:
    def use(folder: Path) -> None:
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            samples = refused_by_name(lambda: Sound(folder / name, name).read(), name)
        assert samples is None or np.isfinite(samples).all(), "a sample is no number"
        assert "Traceback" not in said.getvalue(), said.getvalue()[-300:]

    return use


def _read_weights(folder: Path) -> None:
    from spoofspan.cm.official import read_official

    refused_by_name(lambda: read_official(folder / "trained.pt"), "trained.pt")


def _threshold(folder: Path) -> None:
    from spoofspan.evaluation.stated_result import read_threshold

    refused_by_name(lambda: read_threshold(folder / "result.json", ["range-eer"]), "result.json")


def strangers(models: bool = True) -> dict[str, tuple[Content, Callable[[Path], None]]]:
    """Every target by its name: its good files, of which the first gets damaged, and what is done with them."""
    found: dict[str, tuple[Content, Callable[[Path], None]]] = {}
    fused = calibrations()
    for name, calibration in fused.items():
        found[f"calibration-{name}"] = ({"calibration.json": json.dumps(calibration.to_dict()).encode()}, _calibrate)
    lines, about = "\n".join(frame_lines()).encode(), json.dumps({"hop": 0.02, "higher": "bonafide"}).encode()
    members = [("scores.txt", lines), ("submission.json", about)]
    found["submission-zip"] = ({"team.zip": _zip(members)}, _submit("team.zip"))
    found["submission-about"] = ({"submission.json": about, "scores.txt": lines}, _submit(""))
    npy = io.BytesIO()
    np.savez(npy, **{f"utt{i:02d}": np.zeros(50, np.float32) for i in range(36)})
    found["submission-npz"] = ({"scores.npz": npy.getvalue(), "submission.json": about}, _submit(""))
    measured = {"measure": "range-eer", "threshold": 0.5, "signature": {"comparable": "x"}}
    found["result"] = ({"result.json": json.dumps({"measurements": [measured]}).encode()}, _threshold)
    if not models or not HAS_MODELS:
        return found
    recording = {RECORDING: _wav()}
    small = model()
    for name in ("card.json", "config.toml", "model.safetensors"):
        use = _locate_by_card if name == "card.json" else _locate("")
        found[f"model-{Path(name).stem}"] = (first(small, name) | recording, use)
    found["model-front_end"] = (first(model("wav2vec2"), "front_end.json") | recording, _locate(""))
    plain = {name: content for name, content in small.items() if name != "card.json"}
    found["model-zip"] = ({"model.zip": _zip(list(small.items()))} | recording, _locate("model.zip"))
    found["model-tar"] = ({"model.tar": _tar(list(plain.items()))} | recording, _locate("model.tar"))
    found["model-weights"] = ({"trained.pt": _torch_file()}, _read_weights)
    found |= {f"sound-{Path(name).suffix[1:]}": ({name: data}, _hear(name)) for name, data in sounds().items()}
    return found


def _torch_file() -> bytes:
    import torch

    buffer = io.BytesIO()
    torch.save({"weight_hidd": torch.zeros(30), "module.x": torch.ones(3, 3)}, buffer)
    return buffer.getvalue()
