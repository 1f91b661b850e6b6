"""The end of a training: calibration, fusion, threshold, card, statistics of sound; and what ``cm score`` writes."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch", reason="torch is not installed: pip install 'spoofspan[cm]'")
pytest.importorskip("soundfile", reason="soundfile is not installed: pip install 'spoofspan[cm]'")

from command_line import run  # noqa: E402

import spoofspan as ss  # noqa: E402
from spoofspan.cli.cm import _show_facts  # noqa: E402
from spoofspan.cm import card as cards  # noqa: E402
from spoofspan.cm import finishing  # noqa: E402
from spoofspan.cm.batches import TrainingData  # noqa: E402
from spoofspan.cm.config import Config  # noqa: E402
from spoofspan.cm.frame_times import HOP, SEGMENT_BRANCHES, samples_of  # noqa: E402
from spoofspan.cm.listening import Heard  # noqa: E402
from spoofspan.cm.out_of_domain import (  # noqa: E402
    PARTS,
    SIZE,
    DescribedRecordings,
    DomainVerdict,
    TrainingDomain,
    recording_numbers,
)
from spoofspan.cm.scorers import JointDetector  # noqa: E402
from spoofspan.cm.scoring import score  # noqa: E402
from spoofspan.evaluation.calibration import LearningSet  # noqa: E402
from spoofspan.formats.sound import RATE  # noqa: E402


@pytest.fixture(scope="module")
def scored(trained, tmp_path_factory):
    folder, data = trained
    out = tmp_path_factory.mktemp("scored")
    names = data.dev.references.utterances
    score(folder, dict(zip(names, data.dev.sounds, strict=True)), out)
    return out


def test_a_training_ends_with_a_card(trained):
    folder, data = trained
    card = cards.read_card(folder)
    assert set(card.calibrations) == {"fused", *SEGMENT_BRANCHES, "utterance"}
    assert card.about["data"]["training"]["utterances"] == 32
    assert card.about["data"]["development"]["seconds"] == pytest.approx(data.dev.seconds, abs=1e-3)
    assert card.about["licence"] == "not stated"
    assert any("attacks" in limit for limit in card.about["limits"])
    assert card.threshold.low <= card.threshold.value <= card.threshold.high
    assert (card.domain.recordings, card.domain.held_out) == (32, 32)
    again = cards.Card.from_dict(json.loads(json.dumps(card.to_dict())), "card")
    assert again.to_dict() == card.to_dict()


def test_a_card_cautions_of_maps_that_few_utterances_taught(trained):
    limits = cards.read_card(trained[0]).about["limits"]
    assert any("learned on 16 bona fide and 16 spoofed utterances" in limit for limit in limits)
    assert any("32 utterances of the development set hold bona fide and 16 hold spoof" in limit for limit in limits)


def test_a_card_says_when_a_branch_alone_does_better_on_held_out_speakers():
    worse = {"fused": {"held-out-cllr": 0.303}, "20ms": {"held-out-cllr": 0.4}, "40ms": {"held-out-cllr": 0.3}}
    assert "costs 1.010 times the Cllr of the 40ms branch" in finishing._lost_fusion(worse)[0]
    assert finishing._lost_fusion(worse | {"fused": {"held-out-cllr": 0.3}}) == []
    assert finishing._lost_fusion({"20ms": {}, "utterance": {"held-out-cllr": 0.1}}) == []


def test_a_card_states_the_channel_of_a_corpus_beside_the_band_that_was_heard(trained, tmp_path):
    from cm_corpora import make_set

    from spoofspan.cm.batches import Corpus

    make_set(tmp_path / "corpus" / "database", "dev", 2, 1)
    spec = f"partialspoof:{tmp_path / 'corpus'}:dev"
    assert Corpus.from_dataset(spec).sent_through == ""
    channel = {"low_hz": 300.0, "high_hz": 3400.0, "noise_dbov": -90.0}
    (tmp_path / "corpus" / "corpus.json").write_text(json.dumps({"channel": channel}))
    for folder in ("corpus", "corpus/database"):
        said = Corpus.from_dataset(f"partialspoof:{tmp_path / folder}:dev").sent_through
        assert said == "300 to 3,400 Hz, noise of -90 dBov"
    (tmp_path / "corpus" / "corpus.json").write_text(json.dumps({"channel": channel | {"noise_dbov": None}}))
    assert Corpus.from_dataset(spec).sent_through == "300 to 3,400 Hz"
    for stated, said in (({"low_hz": 0.0, "high_hz": 8000.0, "noise_dbov": None}, "none"), ({"low_hz": "x"}, "")):
        (tmp_path / "corpus" / "corpus.json").write_text(json.dumps({"channel": stated}))
        assert Corpus.from_dataset(spec).sent_through == said
    about = dict(cards.read_card(trained[0]).about)
    training = about["data"]["training"] | {"channel": "300 to 3,400 Hz"}
    lines = dict(cards.card_lines(about | {"data": {"training": training}}))
    assert lines["sound"].endswith("; corpus.json states a channel of 300 to 3,400 Hz")


def test_a_model_whose_windows_have_no_calibration_locates_nothing(trained):
    """The utterance branch alone says nothing of time."""
    card = cards.read_card(trained[0])
    alone = {"utterance": card.calibrations["utterance"]}
    assert cards.Card(card.weights, {}, alone).locating is None
    assert cards.Card(card.weights, {}, {**alone, "20ms": card.calibrations["20ms"]}).locating == "20ms"


@pytest.mark.filterwarnings("ignore:range-eer")  # of so few scores
def test_log_likelihood_ratios_keep_the_eer_of_each_branch(trained, scored):
    """A strictly increasing map moves no score past another."""
    references = trained[1].dev.references
    for branch in SEGMENT_BRANCHES:
        plain, ratios = (ss.read_scores(scored / f"{kind}_{branch}.parquet") for kind in ("scores", "llr"))
        assert (np.argsort(plain.values, kind="stable") == np.argsort(ratios.values, kind="stable")).all()
        assert np.unique(plain.values).size == np.unique(ratios.values).size
        assert ss.range_eer(references, plain).value == ss.range_eer(references, ratios).value
    assert ss.read_utterance_scores(scored / "llr_utterance.tsv").values.size == 32


@pytest.mark.filterwarnings("ignore:range-eer")
def test_the_figures_of_the_card_are_what_eval_measures(trained, scored):
    folder, data = trained
    card = cards.read_card(folder)
    fused = ss.read_scores(scored / "llr_fused.parquet")
    measured = ss.evaluate(data.dev.references, fused, ["range-eer", "range-cllr"], scores_are="llr")
    assert card.about["figures"]["fused"]["range-eer"] == measured["range-eer"].value
    assert card.about["figures"]["fused"]["range-cllr"] == measured["range-cllr"].value
    assert card.threshold.value == measured["range-eer"].threshold
    names = data.dev.references.utterances
    branches = {one: ss.read_scores(scored / f"scores_{one}.parquet") for one in SEGMENT_BRANCHES}
    learning = LearningSet.of(data.dev.references, branches, "default", {})
    ratios = learning.held_out(dict(zip(names, names, strict=True)), "pav", 0.5, card.calibrations["fused"].ridge)
    held_out = ss.evaluate(data.dev.references, ratios, ["range-cllr"], scores_are="llr")["range-cllr"].value
    assert card.about["figures"]["fused"]["held-out-cllr"] == pytest.approx(held_out)


def test_a_card_that_is_there_is_kept_and_one_of_other_weights_is_replaced(trained, tmp_path):
    folder, data = trained
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    config, before = Config.from_file(copy / "config.toml"), (copy / "card.json").read_bytes()
    finishing.finish(copy, config, data, "cpu")
    assert (copy / "card.json").read_bytes() == before
    (copy / "card.json").write_text(before.decode().replace(cards.read_card(copy).weights, "0" * 64))
    with pytest.warns(ss.SpoofspanWarning, match="belongs to other weights"):
        assert cards.read_card(copy) is None
    finishing.finish(copy, config, data, "cpu")
    assert (copy / "card.json").read_bytes() == before


def test_a_card_of_a_model_that_heard_everybody_rests_on_what_others_say(trained, tmp_path):
    folder, data = trained
    whole = replace(data.dev, speakers=tuple(f"speaker {row % 4}" for row in range(len(data.dev))))
    cards_by = {}
    for kind, by_others in {"own": None, "others": JointDetector()}.items():
        for name in ("config.toml", "model.safetensors"):
            (tmp_path / kind).mkdir(exist_ok=True)
            shutil.copy(folder / name, tmp_path / kind / name)
        config = Config.from_file(folder / "config.toml")
        finishing.finish(tmp_path / kind, config, TrainingData(whole, whole), "cpu", by_others=by_others)
        cards_by[kind] = cards.read_card(tmp_path / kind)
    own, others = cards_by["own"], cards_by["others"]
    assert own.weights == others.weights
    assert own.calibrations["20ms"].to_dict() != others.calibrations["20ms"].to_dict()
    assert (own.domain.held_out, others.domain.held_out) == (64, 32)  # the second: each speaker by the other three


def test_what_is_no_card_is_refused(trained, tmp_path):
    shutil.copy(trained[0] / "model.safetensors", tmp_path / "model.safetensors")
    plain = json.loads((trained[0] / "card.json").read_text())
    domain = plain["domain"]
    broken = [
        "{",
        "[]",
        json.dumps(plain | {"spoofspan_card": 99}),
        json.dumps({name: value for name, value in plain.items() if name != "calibrations"}),
        json.dumps(plain | {"domain": domain | {"mean": domain["mean"][:-1]}}),
        json.dumps(plain | {"domain": domain | {"spread": [None] * len(domain["spread"])}}),
        json.dumps(plain | {"threshold": {"value": 1}}),
        json.dumps(
            plain | {"domain": {name: one for name, one in domain.items() if name != "limits"} | {"limit": 1.0}}
        ),
    ]
    for text in broken:
        (tmp_path / "card.json").write_text(text)
        with pytest.raises(ss.DataError, match=r"card\.json") as refused:
            cards.read_card(tmp_path)
    remedy = (
        f"end the training again, with the same data (spoofspan cm train --config {tmp_path / 'config.toml'} --resume"
    )
    assert str(refused.value).count("card.json") == 1  # said once
    assert remedy in str(refused.value)


def test_cm_info_prints_the_card(trained, capsys):
    code, said = run(["cm", "info", trained[0]], capsys)
    assert code == 0
    for words in (
        "eer_threshold",
        "95 % interval",
        "32 utterances",
        "kHz in training",
        "figures/fused/range-eer",
        "licence",
        "limits",
    ):
        assert words in said.out
    facts = json.loads(run(["cm", "info", trained[0], "--format", "json"], capsys)[1].out)
    assert facts["figures"]["fused"]["range-cllr"] > 0


def test_cm_info_prints_each_member_in_rows(capsys):
    _show_facts({"members": [{"epoch": 3, "dev": {"20ms": {"range-eer": 0.25}}}, {"epoch": 4}]}, "text")
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["members/1/dev/20ms/range-eer", "0.25"] in lines
    assert ["members/2/epoch", "4"] in lines


def described(whole, speakers=(), seconds=3.0, parts=None):
    numbers = np.full((1 + len(PARTS), *whole.shape), np.nan)
    numbers[0] = whole
    for place, part in (parts or {}).items():
        numbers[1 + PARTS.index(place)] = part
    return DescribedRecordings(numbers, np.full(len(whole), seconds), tuple(speakers))


def test_the_limit_of_a_domain_is_the_quantile_that_counts_the_new_one():
    rng = np.random.default_rng(4)
    training, held_out = rng.normal(size=(200, SIZE)), rng.normal(size=(39, SIZE))
    domain = TrainingDomain.learn(described(training), described(held_out))
    distances = sorted(domain.distance(one) for one in held_out)
    assert domain.limits == ((3.0, pytest.approx(distances[37])),)  # the 38th of 39: ceil(40 * 0.95)
    assert domain.limit(0.1) == domain.limit(60.0) == domain.limits[0][1]
    assert TrainingDomain.learn(described(training), described(held_out[:18])).limit(3.0) == float("inf")
    far = domain.judge(training.mean(0) + 50 * (np.arange(SIZE) < 51), 3.0)
    assert not far.known
    assert "dB louder" in far.reason
    scores, modulations = training.mean(0), training.mean(0)
    scores[-1], modulations[51 + 2 * 6 + 1] = -90, 40
    assert domain.judge(scores, 3.0).reason.startswith("its scores are lower")
    assert domain.judge(modulations, 3.0).reason.startswith(
        "1.3 to 2.6 kHz gets louder and quieter at 4 to 8 Hz by 40 dB"
    )
    assert domain.judge(training.mean(0) + 0.5 * domain.spread, 3.0).reason.startswith("nothing by itself, but all")
    assert DomainVerdict(1.0, float("inf"), "").to_dict()["limit"] is None
    again = TrainingDomain.from_dict(json.loads(json.dumps(domain.to_dict())), "x")
    assert again.judge(held_out[0], 1.0) == domain.judge(held_out[0], 1.0)
    with pytest.raises(ss.DataError, match="order of lengths"):
        TrainingDomain.from_dict(domain.to_dict() | {"limits": [[2.0, 1.0], [1.0, 2.0]]}, "x")


def test_the_limit_counts_each_speaker_of_the_training_by_the_others():
    """With speakers the limit knows how unlike each other they are, which five of a development set hardly say."""
    rng = np.random.default_rng(5)
    away = rng.normal(size=(20, SIZE))
    speakers = np.repeat(np.arange(20), 10)
    training = rng.normal(size=(200, SIZE)) + 2 * away[speakers]
    held_out = described(rng.normal(size=(39, SIZE)))
    alone = TrainingDomain.learn(described(training), held_out)
    both = TrainingDomain.learn(described(training, [str(one) for one in speakers]), held_out)
    assert (alone.held_out, both.held_out) == (39, 239)
    without = TrainingDomain.learn(described(training, [str(one) for one in speakers]), None)
    assert without.held_out == 200
    assert without.limit(3.0) == pytest.approx(both.limit(3.0), rel=0.1)
    new = rng.normal(size=(200, SIZE)) + 2 * rng.normal(size=(20, SIZE))[speakers]
    flagged = [np.mean([one.distance(row) > one.limit(3.0) for row in new]) for one in (alone, both)]
    assert flagged[0] > 0.5
    assert flagged[1] < 0.15


def test_a_short_recording_has_the_limit_of_its_length():
    rng = np.random.default_rng(6)
    training, held_out = rng.normal(size=(100, SIZE)), rng.normal(size=(39, SIZE))
    parts = {0.5: 4 * held_out, 2.0: 2 * held_out, 4.0: held_out}  # those of 4 s are longer than the recordings
    domain = TrainingDomain.learn(described(training), described(held_out, parts=parts))
    assert [seconds for seconds, _ in domain.limits] == [0.5, 2.0, 3.0]
    assert domain.limit(0.1) == domain.limit(0.5) > domain.limit(1.0) > domain.limit(2.0) > domain.limit(3.0)
    assert domain.limit(1.0) == pytest.approx((domain.limit(0.5) + domain.limit(2.0)) / 2)


def test_modulations_are_found_at_their_rate_however_the_sound_comes_in():
    rng = np.random.default_rng(7)
    time = np.arange(4 * RATE) / RATE
    wave = (rng.normal(0, 0.1, time.size) * (1.1 + np.sin(2 * np.pi * 6 * time))).astype(np.float32)
    whole, pieces = Heard(picture=True), Heard()
    whole.hear(wave)
    for piece in np.split(wave, np.sort(rng.integers(0, wave.size, 40))):
        pieces.hear(piece)
    for one in (whole, pieces):
        one.end()
    np.testing.assert_allclose(pieces.modulation.numbers, whole.modulation.numbers, atol=1e-9)
    assert (whole.modulation.numbers.argmax(axis=0) == 2).all()  # 4 to 8 Hz
    assert whole.modulation.numbers[2].min() > -2
    part, again = whole.part(50, 100), Heard()
    again.hear(wave[50 * HOP : 50 * HOP + samples_of(100)])
    again.end()
    assert (part.counts == again.counts).all()
    np.testing.assert_allclose(part.modulation.numbers, again.modulation.numbers)
    some = Heard(picture=True, pictured=70)
    for piece in np.array_split(wave, 7):
        some.hear(piece)
    assert (some.spectrogram == whole.spectrogram[:70]).all()
    short = Heard()
    short.hear(wave[:300])
    short.end()
    assert np.isfinite(recording_numbers(short, np.zeros(1, np.float32))).all()
