"""The audit of a corpus: planted leaks are found and named, labels that mean nothing raise no alarm."""

import json
import shutil
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from click.testing import CliRunner

import spoofspan as ss
from spoofspan.cli import app
from spoofspan.corpus.audit.auditing import audit, audit_measured, one_sided_p
from spoofspan.corpus.audit.logistic import Logistic, deal_folds, unseen_scores
from spoofspan.corpus.audit.material import Run, Utterance, material_of
from spoofspan.corpus.audit.statistics import TICK, measure
from spoofspan.corpus.building import build
from spoofspan.corpus.settings import Settings
from spoofspan.formats.sound import RATE, wav_bytes
from spoofspan.formats.sound_channel import Channel
from spoofspan.uncertainty import interval

pytestmark = pytest.mark.slow

SPEAKERS, EACH, UNITS = 12, 8, 6
NAMES = {  # a leak, the probe that is named after it, and what a listener would say
    "level": ("level", "dB louder"),
    "offset": ("offset", "an offset of +0.0"),
    "silence": ("joints", "ms more silence before it"),
    "edge": ("band", "less at 7500 to 8000 Hz: dull"),
    "length": ("run-length", "% longer"),
}


def unit(rng, seconds, colour, leak):
    """Noise with a spectrum of its own between two half pauses; spoof has the leak."""
    samples = round(seconds * (1.1 if leak == "length" else 1.0) * RATE)
    spectrum = np.fft.rfft(rng.standard_normal(samples))
    hertz = np.fft.rfftfreq(samples, 1 / RATE)
    spectrum *= 10 ** (np.interp(hertz, np.linspace(0, 8000, 9), colour + rng.normal(0, 3, 9)) / 20)
    burst = np.fft.irfft(spectrum, samples)
    burst *= 0.05 / np.sqrt(np.mean(burst**2)) * 10 ** (rng.normal(0, 2) / 20) * (1.4125 if leak == "level" else 1)
    pauses = [round(RATE * rng.uniform(0.04, 0.12)) for _ in range(2)]
    parts = [np.zeros(pauses[0]), burst, np.zeros(pauses[1])]
    if leak == "silence":
        parts.insert(0, np.zeros(RATE // 20))
    sound = np.concatenate(parts) + rng.normal(0, 3e-4, sum(map(len, parts)))
    if leak == "edge":
        sound = Channel(0.0, 7000.0, None).filtered(sound)
    return sound + (0.01 if leak == "offset" else 0.0)


@cache
def corpus(leak=None, seed=0, speakers=SPEAKERS):
    """Utterances in which both classes alternate, and what was measured of them."""
    rng = np.random.default_rng(seed)
    utterances, measured = [], []
    for speaker in range(speakers):
        colour = np.linspace(0, -25, 9) + rng.normal(0, 4, 9)
        for number in range(EACH):
            attack = f"A0{1 + number % 2}"
            sounds, runs, reached = [], [], 0
            for place in range(UNITS):
                spoof = (place + number // 2) % 2 == 1
                sounds.append(unit(rng, 0.4 * np.exp(rng.normal(0, 0.2)), colour, leak if spoof else None))
                runs.append(Run(reached * TICK, (reached + sounds[-1].size) * TICK, attack if spoof else None))
                reached += sounds[-1].size
            name = f"s{speaker}-{number}"
            one = Utterance(name, None, f"s{speaker}", "train" if speaker % 2 else "eval", reached * TICK, tuple(runs))
            utterances.append(one)
            measured.append(measure(one, np.concatenate(sounds)))
    return tuple(utterances), tuple(measured)


@pytest.fixture(scope="module")
def quiet():
    return corpus()


# ---------------------------------------------------------------- planted leaks


@pytest.mark.parametrize(("leak", "probe", "words"), [(leak, *named) for leak, named in NAMES.items()])
def test_a_planted_leak_is_found_by_the_probe_of_its_name(leak, probe, words):
    found = audit_measured(*corpus(leak)).of(probe)
    assert found.is_alarm
    assert found.high < 0.5
    assert words in found.words


def test_a_corpus_without_a_leak_raises_no_alarm(quiet):
    found = audit_measured(*quiet)
    assert found.passed
    assert "no alarm" in found.table().render("text")
    assert all(0.35 < one.eer < 0.68 for one in found.findings if one.part == "all")
    parts = {one.part for one in found.findings}
    assert parts == {"all", "A01", "A02", "train", "eval"}


def test_a_set_of_one_speaker_has_no_interval():
    utterances, measured = corpus(speakers=5)
    sets = [replace(one, subset="dev" if one.speaker == "s0" else "eval") for one in utterances]
    found = audit_measured(sets, measured).of("level", "dev")
    assert 0 <= found.eer <= 1
    assert np.isnan([found.low, found.high]).all()


@pytest.mark.slow
def test_a_leak_of_one_attack_is_found_in_that_attack_alone():
    pairs = [
        loud if loud[0].attacks == ("A02",) else plain
        for plain, loud in zip(zip(*corpus(), strict=True), zip(*corpus("level"), strict=True), strict=True)
    ]
    found = audit_measured(*zip(*pairs, strict=True))
    assert found.of("level", "A02").is_alarm
    assert not found.of("level", "A01").is_alarm


@pytest.mark.slow
def test_opposite_leaks_of_two_attacks_do_not_hide_each_other(quiet):
    """Each attack has a model of its own."""
    utterances, measured = quiet
    column = 0  # the level
    moved = []
    for one, own in zip(utterances, measured, strict=True):
        runs = own.runs.copy()
        spoof = [run.attack is not None for run in one.runs]
        runs[spoof, column] += 5.0 if one.attacks == ("A01",) else -5.0
        moved.append(replace(own, runs=runs))
    found = audit_measured(utterances, moved)
    assert found.of("level", "A01").is_alarm
    assert found.of("level", "A02").is_alarm
    assert "louder" in found.of("level", "A01").words
    assert "softer" in found.of("level", "A02").words


@pytest.mark.slow
def test_a_speaker_who_is_always_spoofed_is_found():
    utterances, measured = corpus(speakers=8)
    spoofed = []
    for row, one in enumerate(utterances):
        share = 0.9 if int(one.speaker[1:]) % 2 else 0.1
        kept = (row * 7 % 10) / 10 < share
        spoofed.append(one if kept else replace(one, runs=(Run(0, one.duration, None),)))
    measured = [
        own if len(one.runs) > 1 else replace(own, runs=own.runs[:1], run_of_frame=np.zeros_like(own.run_of_frame))
        for one, own in zip(spoofed, measured, strict=True)
    ]
    found = audit_measured(spoofed, measured)
    assert found.of("speaker").is_alarm
    assert "% of a speaker's utterances" in found.of("speaker").words


# ---------------------------------------------------------------- labels that mean nothing


def shuffled(utterances, seed):
    """The same runs with labels that mean nothing: which utterance is bona fide, which of two runs is spoof, by what.

    Dealing labels to single runs would not do: the more runs an utterance has, the sooner one of them is spoof.
    """
    rng = np.random.default_rng(seed)
    dealt = []
    for one in utterances:
        bona_fide, first, attack = rng.random() < 0.3, rng.integers(2), f"A0{1 + rng.integers(2)}"
        labels = [None if bona_fide or (place + first) % 2 else attack for place in range(len(one.runs))]
        dealt.append(
            replace(one, runs=tuple(replace(run, attack=label) for run, label in zip(one.runs, labels, strict=True)))
        )
    return dealt


@pytest.mark.slow
def test_at_most_one_in_twenty_corpora_with_shuffled_labels_raises_an_alarm(quiet):
    """In 40 corpora, more than 4 alarms have a chance under 5 % if one in twenty is true."""
    utterances, measured = quiet
    assert sum(not audit_measured(shuffled(utterances, seed), measured).passed for seed in range(40)) <= 4


def test_shuffled_labels_raise_no_alarm_where_true_ones_did():
    utterances, measured = corpus("level")
    assert not audit_measured(utterances, measured).passed
    assert audit_measured(shuffled(utterances, 1), measured).passed


# ---------------------------------------------------------------- the regression


@pytest.mark.slow
def test_the_regression_is_that_of_scikit_learn():
    linear_model = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(2)
    features = rng.normal(3.0, 5.0, (400, 3))
    is_spoof = features[:, 0] + rng.normal(0, 5, 400) > 3
    model = Logistic.fit(features, is_spoof, np.ones(400))
    balanced = np.where(is_spoof, 0.5 / is_spoof.sum(), 0.5 / (~is_spoof).sum())
    standard = np.clip((features - model.centre) / model.scale, -5, 5)
    other = linear_model.LogisticRegression(C=1 / 1e-3, tol=1e-10, max_iter=1000)
    other.fit(standard, is_spoof, sample_weight=balanced)
    assert model.weights == pytest.approx(other.coef_[0], rel=1e-4)
    assert model.bias == pytest.approx(other.intercept_[0], abs=1e-4)


def test_no_speaker_is_scored_by_a_model_that_knew_the_speaker():
    """A feature that names the speaker, whose classes are all of one kind, teaches nothing about the next."""
    groups = np.repeat(np.arange(10), 20)
    folds = deal_folds(groups, 5)
    assert all(len(set(folds[groups == group].tolist())) == 1 for group in range(10))
    is_spoof = groups % 2 == 1
    names = np.eye(10)[groups]
    assert np.abs(unseen_scores(names, is_spoof, np.ones(200), folds)).max() < 1.5
    assert np.abs(Logistic.fit(names, is_spoof, np.ones(200)).scores(names)).min() > 2


def test_features_that_are_missing_or_constant_do_no_harm():
    features = np.column_stack((np.full(40, 7.0), np.where(np.arange(40) % 3, np.nan, np.arange(40.0))))
    is_spoof = np.arange(40) >= 20
    assert np.isfinite(Logistic.fit(features, is_spoof, np.ones(40)).scores(features)).all()


@pytest.mark.slow
def test_the_p_value_is_that_of_a_t_test_against_chance():
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(5)
    frames = {f"u{i}": rng.normal(0, 1, 40) for i in range(30)}
    references = ss.References.from_ranges({name: [(0.0, 0.4, "bonafide"), (0.4, 0.8, "spoof")] for name in frames})
    for shift in (-0.2, 0.0, 0.3):
        moved = {name: np.concatenate((own[:20] + shift, own[20:])) for name, own in frames.items()}
        found = interval(references, ss.Scores.from_frames(moved, hop=0.02, higher="bonafide"))
        statistic = (found.estimate - 0.5) / found.standard_error
        assert one_sided_p(found) == pytest.approx(stats.t.cdf(statistic, min(found.degrees_of_freedom, 29)))
    perfect = {name: np.concatenate((np.ones(20), np.full(20, -0.5))) for name in frames}
    found = interval(references, ss.Scores.from_frames(perfect, hop=0.02, higher="bonafide"))
    assert one_sided_p(found) < 1e-6


# ---------------------------------------------------------------- corpora on disk


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of recordings: spoof is 3 dB louder, and has no rumble."""
    top = tmp_path_factory.mktemp("speech")
    rng = np.random.default_rng(4)
    for speaker in range(8):
        for number in range(10):
            for kind in ("bonafide", "lpc"):
                sound = np.concatenate([unit(rng, 0.5, np.zeros(9), None) for _ in range(3)])
                rumble = 0.02 * np.sin(2 * np.pi * 45 * np.arange(sound.size) / RATE) if kind == "bonafide" else 0
                path = top / kind / f"s{speaker}" / f"{number}.wav"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(wav_bytes((sound + rumble) * (1.4125 if kind == "lpc" else 1.0)))
    return top


def test_a_folder_of_recordings_is_audited(folder):
    found = audit(folder)
    assert (found.utterances, found.available, found.speakers, found.clusters) == (160, 160, 8, "speaker")
    assert found.of("spectrum").eer < 0.15
    assert "30 to 60 Hz: no rumble" in found.of("spectrum").words
    assert {"spectrum", "level", "band"} <= {one.probe for one in found.alarms}
    assert found.of("joints") is None  # no utterance has both classes
    assert audit(folder, limit=40).utterances == 40


def test_the_command_prints_a_table_and_json(folder):
    result = CliRunner().invoke(app, ["corpus", "audit", str(folder), "--jobs", "1"])
    assert result.exit_code == 0, (result.output, result.exception)
    assert "alarm: one frame's spectrum" in result.stdout
    plain = json.loads(
        CliRunner().invoke(app, ["corpus", "audit", str(folder), "--jobs", "1", "--format", "json"]).stdout
    )
    assert plain["passed"] is False
    assert plain["findings"][0]["probe"] == "spectrum"


def test_a_built_corpus_is_audited_with_its_check(folder, tmp_path):
    built = tmp_path / "corpus"
    build(built, folder, Settings(utterances={"train": 20, "eval": 20}, channel=Channel(80.0, 8000.0)))
    result = CliRunner().invoke(app, ["corpus", "check", str(built), "--audit"])
    assert result.exit_code == 0, (result.output, result.exception)
    assert "passed: everything agrees" in result.stdout
    assert "one frame's spectrum" in result.stdout
    elsewhere = shutil.move(built / "database", tmp_path / "moved")  # PartialSpoof's own folders, without corpus.json
    assert audit(elsewhere).utterances == 40
    assert {one.subset for one in material_of(elsewhere, 10).utterances} == {"train", "eval"}
    next((elsewhere / "train/con_wav").iterdir()).unlink()
    with pytest.raises(ss.DataError, match="complete"):
        audit(elsewhere)


def test_what_cannot_be_audited_is_refused(folder, tmp_path):
    with pytest.raises(ss.UsageError, match="there is no"):
        audit(tmp_path / "nothing")
    with pytest.raises(ss.DataError, match="no recordings"):
        audit(tmp_path)
    shutil.copytree(folder / "bonafide", tmp_path / "one/bonafide")
    with pytest.raises(ss.DataError, match="both must be there"):
        audit(tmp_path / "one")
    for wrong in ({"limit": 1}, {"false_alarms": 0.0}, {"reference_source": "x"}):
        with pytest.raises(ss.UsageError):
            audit(folder, **wrong)
