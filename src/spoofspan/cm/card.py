"""Model cards: training data, meaning of the scores, limits.

``card.json`` lies in the folder of a checkpoint. A training writes it when it ends (:mod:`spoofspan.cm.finishing`); it
belongs to the weights whose SHA-256 it states, and to no others. Published weights (``spoofspan cm convert``) have
none: nobody calibrated them on a development set.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spoofspan.base.documents import read_json
from spoofspan.base.errors import DataError, SpoofspanWarning, warn_user
from spoofspan.base.hashing import file_hash
from spoofspan.cm.chance import ChanceRanges
from spoofspan.cm.frame_times import BRANCHES, SEGMENT_BRANCHES, UTTERANCE
from spoofspan.cm.model_sources import CARD, LARGEST_TEXT, MODEL
from spoofspan.cm.out_of_domain import TrainingDomain
from spoofspan.data.calibration import Calibration
from spoofspan.data.scores import Scores
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.formats.sound_channel import OPEN, Channel
from spoofspan.formats.writing import write_atomically

VERSION = 1
LARGEST = 1e100  # of any number
FUSED = "fused"  # the scores of all branches of windows, as one


@dataclass(frozen=True)
class EerThreshold:
    """The threshold of the EER on the development set, on the scale of log-likelihood ratios, and its interval."""

    value: float
    low: float
    high: float
    confidence: float


@dataclass(frozen=True, eq=False)
class Card:
    """Card of a finished model.

    ``calibrations`` has a map for each branch, and the fusion under ``"fused"``; a branch that is not there could not
    be calibrated, and ``about["limits"]`` says why.
    """

    weights: str
    about: Mapping[str, Any]  # data, attacks, figures, licence, limits
    calibrations: Mapping[str, Calibration] = field(default_factory=dict)
    threshold: EerThreshold | None = None
    domain: TrainingDomain | None = None
    chance: ChanceRanges | None = None

    def ratios(self, scores: Mapping[str, Scores | UtteranceScores]) -> dict[str, Scores | UtteranceScores]:
        """The log-likelihood ratios of the branches that are calibrated, and those of the fusion, by branch."""
        return {name: self.ratio(name, scores) for name in self.calibrations}

    def ratio(self, name: str, scores: Mapping[str, Any]) -> Any:
        """The log-likelihood ratios of one branch, or of the fusion."""
        calibration = self.calibrations[name]
        return calibration.apply(*(scores[branch] for branch in calibration.systems))

    def check_branches(self, branches: Sequence[str], source: str) -> None:
        """Refuse a card that calibrates a branch which the model does not have."""
        for calibration in self.calibrations.values():
            for branch in calibration.systems:
                if branch not in branches:
                    raise DataError(
                        f"{source}: {CARD} calibrates the branch {branch}, which the model does not have; get it again"
                    )

    @property
    def locating(self) -> str | None:
        """Source of the log-likelihood ratios: the fusion's, or those of the only branch of windows; or None."""
        return next((name for name in (FUSED, *SEGMENT_BRANCHES) if name in self.calibrations), None)

    @property
    def channel(self) -> Channel:
        """The channel that the recordings of the training went through; an open one if none is stated."""
        training = self.about.get("data", {}).get("training", {})
        return Channel.from_stated(str(training.get("channel", "none"))) or OPEN

    @property
    def held_out_cost(self) -> float | None:
        """The Cllr of :attr:`locating` on speakers without whom it was learned, if the card has it."""
        figures = self.about.get("figures")
        of_map = figures.get(self.locating) if isinstance(figures, Mapping) else None
        cost = of_map.get("held-out-cllr") if isinstance(of_map, Mapping) else None
        return cost if isinstance(cost, float) else None

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "spoofspan_card": VERSION,
            "weights_sha256": self.weights,
            "about": dict(self.about),
            "threshold": None if self.threshold is None else vars(self.threshold),
            "calibrations": {name: one.to_dict() for name, one in self.calibrations.items()},
            "domain": None if self.domain is None else self.domain.to_dict(),
            "chance": None if self.chance is None else self.chance.to_dict(),
        }

    @classmethod
    def from_dict(cls, plain: Any, source: str) -> Card:
        """Read what :meth:`to_dict` wrote."""
        if not isinstance(plain, Mapping) or "spoofspan_card" not in plain:
            raise DataError(f"{source}: this is no card of a model, as spoofspan cm train writes it; delete it")
        if plain["spoofspan_card"] != VERSION:
            version = str(plain["spoofspan_card"])[:80]
            raise DataError(f"{source}: a card of version {version!a}; use a newer spoofspan")
        try:
            threshold, domain, chance = plain["threshold"], plain["domain"], plain.get("chance")
            about = plain["about"]
            if not isinstance(about, dict):
                raise TypeError("about must be an object")
            if fault := next(_faults(about), None):
                raise ValueError(fault)
            return cls(
                str(plain["weights_sha256"]),
                about,
                {name: _calibration(name, one, source) for name, one in plain["calibrations"].items()},
                None if threshold is None else _threshold(**threshold),
                None if domain is None else TrainingDomain.from_dict(domain, source),
                None if chance is None else ChanceRanges.from_dict(chance, source),
            )
        except DataError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            why = repr(error)[:200]
            raise DataError(f"{source}: the card cannot be read ({why}); train again, or delete it") from None


NO_CARD = Card("", {})  # of a model without one: nothing is calibrated, and nothing known


def _threshold(value: Any, low: Any, high: Any, confidence: Any) -> EerThreshold:
    if not all(map(_is_number, (value, low, high, confidence))):
        raise ValueError("the threshold and its interval must be numbers")
    return EerThreshold(float(value), float(low), float(high), float(confidence))


def _calibration(name: str, plain: Any, source: str) -> Calibration:
    """The map of a branch, or that of the fusion."""
    found = Calibration.from_dict(plain, source)
    if name == FUSED:
        fits = len(found.systems) == len({*found.systems} & {*SEGMENT_BRANCHES})
    else:
        fits = found.systems == (name,) and name in BRANCHES
    if not fits or set(found.higher) != {"bonafide"} or (found.unit == "utterances") != (name == UTTERANCE):
        raise ValueError(f"the calibration {name[:80]!a} is not that of a branch, or of several fused")
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -LARGEST < value < LARGEST


def _are_texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(one, str) for one in values)


def _faults(about: Mapping[str, Any]) -> Iterator[str]:
    """Fields of a description that have the wrong type."""
    for name in ("configuration", "licence", "made_by", "languages"):
        if not isinstance(about.get(name, ""), str):
            yield f"{name} must be text"
    for name in ("random_channels", "random_channel_share"):
        if not _is_number(about.get(name, 0.0)):
            yield f"{name} must be a number"
    if not _are_texts(about.get("limits", [])):
        yield "limits must be a list of texts"
    if not (_is_number(about.get("prior", 0.5)) and 0 < about.get("prior", 0.5) < 1):
        yield "prior must be a number between 0 and 1"
    band = about.get("band_hz", [0.0, 0.0])
    if not isinstance(band, list | tuple) or len(band) != 2 or not all(map(_is_number, band)):
        yield "band_hz must be two numbers"
    for name, needed in (("data", "utterances, seconds, spoofed_seconds and attacks"), ("figures", "numbers")):
        parts = about.get(name, {})
        is_valid = _is_data if name == "data" else _is_figures
        if not isinstance(parts, Mapping) or not all(map(is_valid, parts.values())):
            yield f"{name} must be objects with {needed}"


def _is_data(part: Any) -> bool:
    if not isinstance(part, Mapping) or not isinstance(part.get("channel", ""), str):
        return False
    counted = type(part.get("utterances")) is int and part["utterances"] < LARGEST
    attacks = part.get("attacks")
    numbers = all(_is_number(part.get(name)) for name in ("seconds", "spoofed_seconds"))
    numbers = numbers and type(part.get("speakers", 0)) is int and 0 <= part.get("speakers", 0) < LARGEST
    return counted and numbers and (isinstance(attacks, str) or _are_texts(attacks))


def _is_figures(part: Any) -> bool:
    return isinstance(part, Mapping) and all(map(_is_number, part.values()))


def card_facts(card: Card | None) -> dict[str, Any]:
    """Content of a card, as ``spoofspan cm info`` prints it."""
    if card is None:
        return {"calibration": "none: scores have no threshold and no meaning of their own; locate needs --threshold"}
    facts: dict[str, Any] = {"calibration": ", ".join(card.calibrations) or "none"}
    if (one := card.threshold) is not None:
        level = f"{100 * one.confidence:g} % interval"
        facts["eer_threshold"] = f"{one.value:.3f} ({level} {one.low:.3f} to {one.high:.3f})"
    if card.domain is not None:
        facts["domain"] = f"sound of {card.domain.recordings:,} recordings, limit by {card.domain.held_out:,} held out"
    facts |= dict(card_lines(card.about)) | {"figures": dict(card.about.get("figures", {}))}
    return facts | {"limits": list(card.about.get("limits", []))}


def card_lines(about: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Training data of a model, its author, and its licence: names and values."""
    if not about:
        return [("card", "none: the training data of this model are not stated")]
    lines = []
    for name, data in about.get("data", {}).items():
        attacks = data["attacks"] if isinstance(data["attacks"], str) else " ".join(data["attacks"])
        spoofed = 100 * data["spoofed_seconds"] / max(data["seconds"], 1e-9)
        size = f"{data['utterances']:,} utterances, {data['seconds'] / 60:.1f} min"
        lines.append((name, f"{size}, {spoofed:.1f} % spoofed, attacks {attacks}"))
    if "band_hz" in about:
        low, high = (edge / 1000 for edge in about["band_hz"])
        channels = about.get("random_channels")
        share = 100 * about.get("random_channel_share", 1.0)
        varied = f", {share:g} % of it through random channels of strength {channels:g}" if channels else ""
        stated = about.get("data", {}).get("training", {}).get("channel")
        built = (
            f"; corpus.json states {'no channel' if stated == 'none' else f'a channel of {stated}'}" if stated else ""
        )
        lines.append(("sound", f"heard from {low:.1f} to {high:.1f} kHz in training{varied}{built}"))
    speakers = about.get("data", {}).get("training", {}).get("speakers")
    if speakers or "languages" in about:
        said = [f"{speakers:,} speakers in training"] if speakers else []
        said += [about["languages"]] if "languages" in about else []
        lines.append(("speech", ", ".join(said)))
    return [*lines, ("licence", str(about.get("licence", ""))), ("made by", str(about.get("made_by", "")))]


def write_card(folder: Path, card: Card) -> None:
    """Write the card of a model."""
    text = json.dumps(card.to_dict(), indent=1, allow_nan=False)
    write_atomically(folder / CARD, [text.encode()], force=True)


def read_card(folder: Path, checksum: str | None = None) -> Card | None:
    """The card of a model; None without one, and (with a warning) if it belongs to other weights."""
    path = folder / CARD
    if not path.is_file():
        return None
    try:
        plain = read_json(path, LARGEST_TEXT)
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: the card cannot be read ({error}); train again, or delete it") from None
    card = Card.from_dict(plain, str(path))
    if card.weights != (checksum or file_hash(folder / MODEL)):
        warn_user(
            f"{path} belongs to other weights than {MODEL} beside it, and is left aside: a training that was "
            "interrupted ends with --resume",
            SpoofspanWarning,
        )
        return None
    return card
