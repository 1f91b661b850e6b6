"""A small challenge with hidden labels, and the submissions of three teams."""

from datetime import datetime

import numpy as np

import spoofspan as ss
from spoofspan.challenge.challenge_folder import build_challenge
from spoofspan.challenge.definition import Definition, PublicPart
from spoofspan.challenge.hidden_part import HiddenPart
from spoofspan.challenge.judging import Judging, judge_of, results_folder, score_file
from spoofspan.challenge.season import Ledger, Season
from spoofspan.challenge.team_results import TeamResult

HOP = 0.02
IDS = [f"utt{i:02d}" for i in range(36)]
SECONDS = {utt: 1.0 + 0.02 * (i % 7) for i, utt in enumerate(IDS)}
SPEAKERS = {utt: f"s{i % 12:02d}" for i, utt in enumerate(IDS)}
NOISE = {"alpha": 0.6, "bravo": 0.7, "charlie": 2.5}


def labels(seed=0):
    """Two thirds of the utterances have a spoofed range, of one of three attacks."""
    rng = np.random.default_rng(seed)
    ranges = {}
    for utt, seconds in SECONDS.items():
        if rng.random() < 1 / 3:
            ranges[utt] = [(0.0, seconds, "bonafide")]
            continue
        start, end = np.sort(rng.choice(np.arange(1, 49), 2, replace=False)) / 50
        attack = f"A0{rng.integers(1, 4)}"
        ranges[utt] = [(0.0, start, "bonafide"), (start, end, "spoof", attack), (end, seconds, "bonafide")]
    return ss.References.from_ranges(ranges, SECONDS)


def scores(references, noise, seed=0):
    """Frames that know the labels, through noise."""
    rng = np.random.default_rng(seed)
    frames = {}
    for place, utt in enumerate(references.utterances):
        middles = (np.arange(round(SECONDS[utt] / HOP)) + 0.5) * HOP * 1e9
        rows = slice(references.offsets[place], references.offsets[place + 1])
        is_spoof = np.zeros(middles.size, bool)
        for start, end, label in zip(
            references.starts[rows], references.ends[rows], references.labels[rows], strict=True
        ):
            is_spoof |= (middles >= start) & (middles < end) & (label == 1)
        frames[utt] = np.float32(np.where(is_spoof, -1, 1) + noise * rng.standard_normal(middles.size))
    return ss.Scores.from_frames(frames, hop=HOP, higher="bonafide")


def build(folder, references=None, measures=("range-eer", "point-eer@20ms"), **arguments):
    """Build a challenge with attacks and speakers."""
    hidden = {"by": {"attack": None}, "cluster": "speaker", "clusters": SPEAKERS}
    hidden |= {name: arguments.pop(name) for name in ("by", "phases", "cluster", "clusters") if name in arguments}
    definition = {"title": "Small challenge", "measures": measures, **arguments.pop("definition", {})}
    build_challenge(folder, Definition(**definition), HiddenPart(references or labels(), **hidden), **arguments)
    return folder


def submit(folder, references=None):
    """Write the submissions of the teams."""
    folder.mkdir(exist_ok=True)
    for seed, (team, noise) in enumerate(NOISE.items()):
        ss.write_scores(scores(references or labels(), noise, seed), folder / f"{team}.parquet")
    return folder


def frame_lines(references=None):
    """The scores of a good submission as lines of utterance, frame, score."""
    found = scores(references or labels(), 0.6)
    return [
        f"{utt} {frame} {value}"
        for place, utt in enumerate(found.utterances)
        for frame, value in enumerate(found.values[found.offsets[place] : found.offsets[place + 1]].tolist())
    ]


def season(challenge):
    """What the ledger of a challenge says."""
    return Season.of(PublicPart.read(challenge).definition, Ledger(challenge).entries())


def kept_result(challenge, team, phase="evaluation"):
    """The result of the last submission of a team."""
    last = season(challenge).of_team(phase, team)[-1]
    return TeamResult.read(results_folder(challenge, phase, team), last.key)


class InThisProcess:
    """Scores without a process of its own, which takes half a second to start."""

    def __init__(self, challenge, phase):
        self._challenge, self._judge = challenge, judge_of(challenge, phase)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def score(self, path, team):
        folder = results_folder(self._challenge, self._judge.phase, team)
        return "answered", "", score_file(self._judge, path, team, folder).key


def clock(text):
    """A clock that stands still."""
    return lambda: datetime.fromisoformat(text)


def judge_quickly(challenge, path, phase=None, received="2027-01-15 12:00:00"):
    """Score one submission, as ``score`` does."""
    judge = judge_of(challenge, phase)
    process = InThisProcess(challenge, phase)
    judging = Judging(challenge, judge, Ledger(challenge, clock(received)), process, received)
    return judging.judge_named(path, {path: path.name.partition(".")[0]})
