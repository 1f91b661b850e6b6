"""End of a training: the scores of the best epoch are calibrated on the development set, and its card is written.

The development set is scored as anybody's recordings are. Each branch of windows gets the increasing map
of least Cllr (PAV, weighted by duration), and all of them together a fusion of what these maps say. The utterance
branch gets a line, and is left out of the fusion: in a long recording with one spoofed second, its one score would lift
or sink every second. The card also states what such maps are worth for speakers that they were not learned on.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from spoofspan.base.columns import utterance_of_rows
from spoofspan.base.errors import DataError, SpoofspanWarning, UndefinedMeasureError
from spoofspan.base.hashing import file_hash
from spoofspan.base.progress import progress
from spoofspan.base.times import SECOND
from spoofspan.base.version import __version__
from spoofspan.cm.batches import Corpus, TrainingData
from spoofspan.cm.card import FUSED, Card, EerThreshold, read_card, write_card
from spoofspan.cm.chance import ChanceRanges
from spoofspan.cm.config import Config
from spoofspan.cm.frame_times import SEGMENT_BRANCHES
from spoofspan.cm.listening import Heard, ListenedSound, heard_band
from spoofspan.cm.model_sources import MODEL
from spoofspan.cm.out_of_domain import DescribedRecordings, TrainingDomain
from spoofspan.cm.scorers import Scorer, load_scorer
from spoofspan.cm.scoring import finest_branch, score_sounds
from spoofspan.data.calibration import Calibration
from spoofspan.data.references import BONA_FIDE, SPOOF, References
from spoofspan.data.scores import Scores
from spoofspan.data.utterance_scores import UtteranceScores
from spoofspan.evaluation.calibration import LearningSet, calibrate, fuse
from spoofspan.evaluation.evaluate import evaluate, overlay
from spoofspan.uncertainty.curve_replicates import EerReplicates

LISTENED_TO = 1000  # recordings of each set whose sound is described
PICTURED = 1500  # frames of each, 30 s: those of all recordings lie in memory together
REPLICATES, CONFIDENCE = 1000, 0.95
RIDGE = 1e-3  # of the fusion, for branches that are alike or make no error; measured: 0 to 0.003 differ by a percent
# With fewer utterances of a class, the true map itself costs over 1.15 times minCllr at an EER of 10 % (decision 13)
FEW_UTTERANCES = 100
FEW_WITH_WINDOWS = 20  # utterances that hold time of a class; with fewer, PAV costs more than a line
NOT_STATED = "not stated"


def finish(
    folder: Path,
    config: Config,
    data: TrainingData,
    device: str | None,
    licence: str = NOT_STATED,
    by_others: Scorer | None = None,
) -> None:
    """Write the card of the best epoch, unless it is there.

    ``by_others`` is for a model that was trained on the development set too: it scores a recording by models of the
    same recipe that have not heard the speaker.
    """
    checksum = file_hash(folder / MODEL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpoofspanWarning)  # a card of other weights is replaced
        if read_card(folder, checksum) is not None:
            return
    scorer = by_others or load_scorer(folder, device, allow_code=True)  # it was trained here
    draw = np.random.default_rng(config.training.seed)
    scores, held_out, _ = _listen(scorer, data.dev, range(len(data.dev)), draw)
    chosen = draw.permutation(len(data.train))[:LISTENED_TO]
    _, heard, band = _listen(scorer, data.train, sorted(chosen.tolist()), draw)
    with progress("calibrating"), warnings.catch_warnings():
        warnings.simplefilter("ignore", SpoofspanWarning)  # of gaps and ties, which the figures do not hide
        references, rules = data.dev.references, asdict(config.labels)
        calibrations, problems = _calibrations(references, scores, rules)
        card = Card(checksum, {}, calibrations)
        ratios = card.ratios(scores)
        locating = card.locating
        threshold = None if locating is None else _eer_threshold(references, ratios[locating], rules)
        figures = {name: _figures(references, one, rules) for name, one in ratios.items()}
        chance = None
        for name, one in calibrations.items():
            held_out_ratios = _held_out(data.dev, {branch: scores[branch] for branch in one.systems}, one, rules)
            if held_out_ratios is None:
                continue
            unit = "range" if one.unit == "time" else "utterance"
            cost = _figures(references, held_out_ratios, rules).get(f"{unit}-cllr")
            figures[name] |= {} if cost is None else {"held-out-cllr": cost}
            if name == locating:
                chance = ChanceRanges.learn(references, held_out_ratios, data.dev.speakers)
        problems += [*_rough_maps(references, calibrations), *_lost_fusion(figures)]
        about = _about(config, data, figures, problems, licence) | {"band_hz": band}
    domain = None
    if heard is not None and held_out is not None:
        domain = TrainingDomain.learn(heard, held_out if by_others is None else None)
    write_card(folder, Card(checksum, about, calibrations, threshold, domain, chance))


def _listen(
    scorer: Scorer, corpus: Corpus, rows: Sequence[int], draw: np.random.Generator
) -> tuple[dict[str, Scores | UtteranceScores], DescribedRecordings | None, tuple[float, float]]:
    """Score recordings, and describe the sound of some: scores by branch, what is compared, the band of them all."""
    ids = [corpus.references.utterances[i] for i in rows]
    chosen = np.sort(draw.permutation(len(ids))[:LISTENED_TO]).tolist()
    heard = {place: Heard(picture=True, pictured=PICTURED) for place in chosen}
    sounds = {
        name: ListenedSound.to(corpus.sounds[i], heard[place]) if place in heard else corpus.sounds[i]
        for place, (i, name) in enumerate(zip(rows, ids, strict=True))
    }
    scores, _ = score_sounds(scorer, sounds)
    band = heard_band(np.sum([one.counts for one in heard.values()], axis=0))
    windows = finest_branch(scores)
    if windows is None:  # the utterance branch alone says nothing of time
        return scores, None, band
    own = [windows[ids[place]] for place in chosen]
    speakers = [corpus.speakers[rows[place]] for place in chosen] if corpus.speakers else ()
    return scores, DescribedRecordings.of(list(heard.values()), own, speakers), band


def _calibrations(
    references: References, scores: Mapping[str, Scores | UtteranceScores], rules: Mapping[str, Any]
) -> tuple[dict[str, Calibration], list[str]]:
    """The map of each branch and the fusion, and why some are missing."""
    found: dict[str, Calibration] = {}
    problems = []
    for name, one in scores.items():
        try:
            if isinstance(one, Scores):
                found[name] = calibrate(references, one, method="pav", name=name, **rules)
            else:  # a score of each recording is too little for steps
                found[name] = calibrate(references, one, ridge=RIDGE, name=name)
        except (UndefinedMeasureError, DataError) as error:
            why = str(error).removeprefix(f"{name}: ").partition("; ")[0]  # without what the caller could do
            problems.append(f"the {name} branch could not be calibrated: {why}")
    windows: dict[str, Any] = {name: scores[name] for name in SEGMENT_BRANCHES if name in found}
    if len(windows) > 1:
        found = {FUSED: fuse(references, windows, method="pav", ridge=RIDGE, **rules)} | found
    return found, problems


def _eer_threshold(references: References, ratios: Any, rules: Mapping[str, Any]) -> EerThreshold | None:
    """The threshold of the EER, and between which ones it lies when utterances are drawn again."""
    try:
        mass = overlay(references, ratios, **rules)
        replicates = EerReplicates(mass)
        once = replicates.eers(np.ones((1, replicates.units), np.int64)).thresholds
        drawn = np.random.default_rng(0).multinomial(
            replicates.units, np.full(replicates.units, 1 / replicates.units), REPLICATES
        )
        thresholds = replicates.eers(drawn).thresholds
    except UndefinedMeasureError:
        return None
    low, high = np.nanquantile(thresholds, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], method="inverted_cdf")
    return EerThreshold(float(once[0]), float(low), float(high), CONFIDENCE)


def _figures(references: References, ratios: Any, rules: Mapping[str, Any]) -> dict[str, float]:
    """Figures of a branch on the development set."""
    kind = "range" if isinstance(ratios, Scores) else "utterance"
    measures = [f"{kind}-eer", f"{kind}-cllr", f"{kind}-min-cllr"]
    own = rules if isinstance(ratios, Scores) else {}
    try:
        found = evaluate(references, ratios, measures, scores_are="llr", **own)
    except UndefinedMeasureError:
        return {}
    return {name: float(one.value) for name, one in found.measurements.items() if np.isfinite(one.value)}


def _held_out(corpus: Corpus, systems: Mapping[str, Any], calibration: Calibration, rules: Mapping[str, Any]) -> Any:
    """Log-likelihood ratios by maps that did not learn from the speaker (the utterance, where nobody said who speaks).

    None if there is too little to learn on without them.
    """
    names = corpus.references.utterances
    clusters = dict(zip(names, corpus.speakers if len(set(corpus.speakers)) > 1 else names, strict=True))
    timed = calibration.unit == "time"
    try:
        learning = LearningSet.of(corpus.references, systems, "default", rules if timed else {})
        return learning.held_out(clusters, "pav" if timed else "affine", calibration.prior, calibration.ridge)
    except (UndefinedMeasureError, DataError):
        return None


def _rough_maps(references: References, calibrations: Mapping[str, Calibration]) -> list[str]:
    """Maps that were learned on few utterances of a class."""
    owner = utterance_of_rows(references.offsets)
    hold_bona_fide, spoof = (np.unique(owner[references.labels == label]).size for label in (BONA_FIDE, SPOOF))
    found = []
    bona_fide = len(references) - spoof
    if "utterance" in calibrations and min(bona_fide, spoof) < FEW_UTTERANCES:
        found.append(
            f"the map of the utterance branch is rough: it was learned on {bona_fide} bona fide and {spoof} spoofed "
            f"utterances of the development set, and {FEW_UTTERANCES} of each are wanted"
        )
    if min(hold_bona_fide, spoof) < FEW_WITH_WINDOWS and any(name in calibrations for name in SEGMENT_BRANCHES):
        found.append(
            f"log-likelihood ratios and probabilities are rough: {hold_bona_fide} utterances of the development set "
            f"hold bona fide and {spoof} hold spoof, and {FEW_WITH_WINDOWS} of each are wanted"
        )
    return found


def _lost_fusion(figures: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Limit to state if one branch did better on held-out speakers than the fusion, which is kept (decision 13)."""
    held_out = {name: one["held-out-cllr"] for name, one in figures.items() if "held-out-cllr" in one}
    branches = [name for name in SEGMENT_BRANCHES if name in held_out]
    if FUSED not in held_out or not branches:
        return []
    best = min(branches, key=held_out.__getitem__)
    if held_out[FUSED] <= held_out[best]:
        return []
    return [
        f"on held-out speakers the fusion, by which locate decides, costs {held_out[FUSED] / held_out[best]:.3f} times "
        f"the Cllr of the {best} branch alone"
    ]


def _about(
    config: Config, data: TrainingData, figures: Mapping[str, Any], problems: list[str], licence: str
) -> dict[str, Any]:
    """Descriptive part of the card."""
    sets = {"training": _described(data.train), "development": _described(data.dev)}
    attacks = sets["training"]["attacks"]
    chosen = config.training.keep == "best"
    named = ", ".join(attacks) if isinstance(attacks, list) else attacks
    limits = [
        f"attacks heard in training: {named}; what another attack leaves behind may be missed",
        f"figures are of the development set, on which {'the epoch was chosen and ' * chosen}scores were calibrated "
        "(but for held-out-cllr, of speakers without whom the maps were learned): expect worse",
        *([data.shared] if data.shared else []),
        *problems,
    ]
    return {
        "configuration": config.name,
        "random_channels": config.training.channels,
        "random_channel_share": config.training.channel_share,
        "made_by": f"spoofspan {__version__}",
        "data": sets,
        "figures": figures,
        "licence": licence,
        "limits": limits,
    }


def _described(corpus: Corpus) -> dict[str, Any]:
    references = corpus.references
    spoofed = references.labels == SPOOF
    attacks = [] if references.attacks is None else sorted({*references.attacks[spoofed].tolist()} - {-1})
    return {
        "utterances": len(corpus),
        "seconds": round(corpus.seconds, 3),
        "spoofed_seconds": round(int(references.range_durations[spoofed].sum()) / SECOND, 3),
        "attacks": [references.attack_names[attack] for attack in attacks] or NOT_STATED,
        **({"speakers": len({*corpus.speakers} - {""})} if corpus.speakers else {}),
        **({"channel": corpus.sent_through} if corpus.sent_through else {}),
    }
