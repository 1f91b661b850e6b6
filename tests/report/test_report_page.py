"""What a page shows, without a browser: the data behind it, what is written, and what is refused."""

import base64
import json
import re
import warnings
import wave

import numpy as np
import pytest
from click.testing import CliRunner

import spoofspan as ss
import spoofspan.demo
from spoofspan.cli import app
from spoofspan.evaluation.breakdown import by_attack
from spoofspan.measures.per_utterance import UtteranceErrors
from spoofspan.report.page import PageSettings, page_content, render_page
from spoofspan.report.page.audio import waveform_of
from spoofspan.report.page.publishing import without_labels
from spoofspan.report.page.rendering import packed
from spoofspan.report.page.report_page import breakdown, by_group, cards, heat_scale, leaderboard
from spoofspan.report.page.timelines import LEAST_TIMELINES, MOST_BYTES, choose, within_bytes, worst_first

QUICK = ss.Resampling(replicates=50)


@pytest.fixture(scope="module")
def corpus():
    return spoofspan.demo.load()


@pytest.fixture(scope="module")
def content(corpus):
    return page_content(corpus.references, {"a": corpus.systems[0.02]}, PageSettings(resampling=QUICK))


def unpacked(packed):
    (kind,) = packed
    return np.frombuffer(base64.b64decode(packed[kind]), f"<{kind}")


def test_the_curve_of_the_page_is_exact_and_begins_at_the_eer(corpus, content):
    (system,) = content["systems"]
    curve = ss.error_curve(corpus.references, corpus.systems[0.02])
    eer = ss.range_eer(corpus.references, corpus.systems[0.02])
    thresholds = unpacked(system["curve"]["thresholds"])
    rates = [unpacked(system["curve"][f"false_{which}_rates"]) for which in ("positive", "negative")]
    for threshold, *found in zip(thresholds[:-1], *(one[:-1] for one in rates), strict=True):
        point = curve.at(threshold)
        assert found == [point.false_positive_rate, point.false_negative_rate]
    assert thresholds[system["curve"]["start"]] == eer.threshold


def test_intervals_resolutions_and_breakdowns_are_those_of_the_library(corpus, content):
    (system,) = content["systems"]
    scores = corpus.systems[0.02]
    first = system["measurements"][0]
    interval = ss.interval(corpus.references, scores)
    assert first["interval"] == f"{100 * interval.low:.2f} to {100 * interval.high:.2f}"
    assert first["signature"] == str(ss.range_eer(corpus.references, scores).signature)
    for cell in system["resolutions"]["cells"]:
        seconds = float(cell["resolution"].removesuffix("ms")) / 1000
        assert cell["value"] == ss.point_eer(corpus.references, scores, seconds).value
        assert (cell["native"], cell["coarser"]) == (seconds == 0.02, seconds > 0.02)
    assert system["resolutions"]["floor"] == ss.best_possible(corpus.references, 0.02).value
    expected = by_attack(corpus.references, scores)
    shown = {group["name"]: group["value"] for group in system["breakdowns"][0]["groups"]}
    assert shown == {group.name: group.measurement.value for group in expected.groups}


def test_timelines_hold_the_scores_to_the_bit(corpus, content):
    scores = corpus.systems[0.02]
    assert len(content["timelines"]) == len(corpus.references)
    for one in content["timelines"]:
        row = scores.utterances.index(one["id"])
        values = scores.values[scores.offsets[row] : scores.offsets[row + 1]]
        shown = unpacked(one["scores"]["a"]["values"])
        assert shown.tolist() == values[: shown.size].tolist()
        assert one["scores"]["a"]["last"] == pytest.approx(one["duration"])


def test_scores_in_ranges_have_timelines_too():
    references = ss.References.from_ranges({u: [(0, 1, "bonafide"), (1, 2, "spoof")] for u in "uv"})
    scores = ss.Scores.from_ranges({u: [(0, 0.7, 0.9), (0.7, 2, -0.4)] for u in "uv"}, higher="bonafide")
    with pytest.warns(ss.SpoofspanWarning):
        content = page_content(references, {"r": scores}, PageSettings(resampling=QUICK))
    for one in content["timelines"]:
        held = one["scores"]["r"]
        assert (held["starts"], held["ends"]) == ([0.0, 0.7], [0.7, 2.0])
        assert unpacked(held["values"]).tolist() == [0.9, -0.4]


def test_the_worst_the_median_and_random_utterances():
    count = 1000
    amounts = np.arange(count)[::-1] * 1_000_000
    zero = np.zeros(count, np.int64)
    errors = ss.UtteranceErrors(tuple(f"u{i:04d}" for i in range(count)), zero + 1, zero, amounts, zero)
    order = worst_first(errors)
    chosen = choose(errors, order, 100)
    groups = {group: [one.utterance for one in chosen if one.group == group] for group in ("worst", "median", "random")}
    assert groups["worst"] == [f"u{i:04d}" for i in range(40)]
    assert groups["median"] == [f"u{i:04d}" for i in range(490, 510)]
    assert len(groups["random"]) == 40
    assert len({one.utterance for one in chosen}) == 100
    assert choose(errors, order, 100) == chosen
    assert len(choose(errors, order, 5000)) == count


def test_the_policy_names_every_script_and_nothing_is_fetched(content):
    page = render_page(content)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert "default-src &#39;none&#39;" in policy
    assert "unsafe" not in policy
    outside = re.findall(r'(?:src|href)="(?!#|data:)([^"]*)"', page)
    assert outside == []


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def files(tmp_path):
    assert run("demo", "--out", tmp_path / "demo").exit_code == 0
    folder = tmp_path / "demo"
    return folder, ["report", folder / "references.rttm", "--durations", folder / "reco2dur", "--replicates", 50]


def test_the_command_writes_one_file_and_links_sound(files, corpus, tmp_path):
    folder, words = files
    name = corpus.references.utterances[-1]
    sound = tmp_path / "sound"
    sound.mkdir()
    with wave.open(str(sound / f"{name}.wav"), "wb") as wav:
        wav.setnchannels(1)
        wav.setsampwidth(2)
        wav.setframerate(16000)
        wav.writeframes(bytes(32000))
    for embed in ([], ["--embed"]):
        out = tmp_path / f"page{len(embed)}.html"
        scores = folder / "unit0.02.score"
        result = run(*words[:2], scores, *words[2:], "--out", out, "--audio", sound, *embed)
        assert result.exit_code == 0, (result.output, result.exception)
        data = json.loads(re.search(r'id="data">(.*?)</script>', out.read_text())[1])
        (found,) = [one["audio"] for one in data["timelines"] if one["audio"]]
        assert found.startswith("data:audio/wav;base64,") if embed else found == f"sound/{name}.wav"
    result = run(*words[:2], folder / "unit0.02.score", *words[2:], "--out", out)
    assert isinstance(result.exception, ss.SpoofspanError)
    assert "--force" in str(result.exception)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--embed"], "--audio"),
        (["--timelines", "0", "--audio", "wav"], "nothing to hear"),
        (["--by", "speaker"], "--metadata"),
        (["--audio", "nowhere"], "not a folder"),
        (["--confidence", "2"], "between 0 and 1"),
    ],
)
def test_what_is_refused(files, tmp_path, more, said):
    folder, words = files
    out = tmp_path / "page.html"
    result = run(*words[:2], folder / "unit0.02.score", *words[2:], "--out", out, *more)
    assert isinstance(result.exception, ss.UsageError)
    assert said in str(result.exception)
    assert not out.exists()


@pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")  # few utterances: a wide gap
@pytest.mark.parametrize("more", [[], ["--conventions"]])
def test_the_demo_makes_a_page(tmp_path, more):
    out = tmp_path / "demo.html"
    result = run("demo", "--report", out, *more)
    assert result.exit_code == 0, result.exception
    assert out.read_text().startswith("<!DOCTYPE html>")
    refused = run("demo", "--report", out, *more)
    assert isinstance(refused.exception, ss.SpoofspanError)


def labelled(first, second):
    """Two sorts of utterances with the same scores and durations; what differs is which of them is spoofed where."""
    return ss.References.from_ranges(
        {f"CON_{i:03d}": [(0.0, 0.6, a), (0.6, 1.0, b)] for i, (a, b) in enumerate(first + second)},
        durations={f"CON_{i:03d}": 1.0 for i in range(len(first + second))},
    )


@pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")  # few utterances
def test_a_page_without_labels_is_the_same_bytes_but_for_aggregate_numbers():
    """Swapping the labels of utterances with equal scores changes no aggregate, and so may change nothing at all."""
    rng = np.random.default_rng(3)
    spoofed, bona_fide = [("bonafide", "spoof")] * 8, [("bonafide", "bonafide")] * 8
    both = np.tile(rng.normal(size=(8, 50)).astype(np.float32), (2, 1))  # the second half scores as the first
    systems = {
        name: ss.Scores.from_frames(
            {f"CON_{i:03d}": both[i] + shift * both[(i + 3) % 8] for i in range(16)}, hop=0.02, higher="bonafide"
        )
        for name, shift in (("a", 0.0), ("b", 0.3))
    }
    pages, shown = [], []
    for references in (labelled(spoofed, bona_fide), labelled(bona_fide, spoofed)):
        settings = PageSettings(resampling=QUICK, timelines=0, resolutions=[0.02])
        content = page_content(references, systems, settings)
        assert content["timelines"] == []
        pages.append(render_page(content))
        shown.append(render_page(page_content(references, systems, PageSettings(resampling=QUICK, resolutions=[0.02]))))
    assert "CON_0" not in pages[0]
    assert "CON_0" in shown[0]
    assert 'id="timelines"' not in pages[0]

    def masked(page):  # the signature names the references by their hash
        return re.sub(r"references:[0-9a-f]+", "references:", page)

    assert masked(pages[0]) == masked(pages[1])
    assert masked(shown[0]) != masked(shown[1])


@pytest.mark.filterwarnings("ignore::spoofspan.SpoofspanWarning")
def test_numbers_of_a_page_without_labels_have_few_digits(corpus):
    settings = PageSettings(
        resampling=QUICK, timelines=0, columns={"speaker": dict.fromkeys(corpus.references.utterances, "S")}
    )
    scores = corpus.systems[0.02]
    page = render_page(page_content(corpus.references, {"a": scores, "b": corpus.systems[0.16]}, settings))
    for number in re.findall(r'data-value="([^"]*)"', page):
        assert round(float(number), 4) == pytest.approx(float(number), abs=1e-9)
    data = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])
    for system in data["systems"]:
        rates = unpacked(system["curve"]["false_positive_rates"])
        assert rates.size < 700
        assert np.abs(rates - np.round(rates, 4)).max() < 1e-7
        assert system["eer"] == round(system["eer"], 4)
    assert repr(ss.range_eer(corpus.references, scores).threshold) not in page


def test_costs_of_a_page_without_labels_have_few_digits_before_the_point_too():
    """A cost without a bound holds labels in any of its digits."""
    measurement = {"measure": "range-cllr", "number": 123456.789, "ends": [0.123456, 98765.4321], "threshold": None}
    texts = {"decision": "", "value": "123456.7890", "interval": "0.1235 to 98765.4321"}
    rates = {name: packed(np.zeros(2, np.float32)) for name in ("false_positive_rates", "false_negative_rates")}
    (system,) = without_labels({"systems": [{"curve": rates, "measurements": [measurement | texts]}]})["systems"]
    (found,) = system["measurements"]
    assert (found["number"], found["ends"]) == (123500.0, [0.1235, 98770.0])
    assert (found["value"], found["interval"]) == ("123500.0000", "0.1235 to 98770.0000")


def test_long_recordings_of_many_systems_keep_a_page_small():
    """Scores of fewer utterances, then of the best systems alone; what is asked for is given."""
    frames, count = 30_000, 20
    utterances = tuple(f"u{i:02d}" for i in range(count))
    values = np.zeros(frames * count, np.float32)
    long = ss.Scores.from_columns(utterances, np.arange(count + 1) * frames, values, hop=0.02, higher="spoof")
    nothing = np.zeros(count, np.int64)
    errors = UtteranceErrors(utterances, nothing, nothing, nothing, nothing)
    ranked = [f"team{i}" for i in range(40)]
    shown, choices = within_bytes(errors, dict.fromkeys(ranked, long), ranked, None)
    assert list(shown) == ranked[: len(shown)]
    assert len(shown) * len(choices) * frames * 4 <= MOST_BYTES < (len(shown) + 1) * LEAST_TIMELINES * frames * 4
    shown, choices = within_bytes(errors, dict.fromkeys(ranked, long), ranked, 15)
    assert (list(shown), len(choices)) == (ranked, 15)
    short = ss.Scores.from_columns(utterances, np.arange(count + 1), np.zeros(count), hop=0.64, higher="spoof")
    assert [one.utterance for one in within_bytes(errors, {"ours": short}, ["ours"], None)[1]] == list(utterances)


@pytest.mark.slow  # eight seconds of measuring
def test_forty_systems_fit_into_one_page(corpus):
    rng = np.random.default_rng(1)
    base = corpus.systems[0.02]
    systems = {}
    for i in range(40):
        values = base.values + rng.normal(scale=0.01 + 0.01 * i, size=base.values.shape).astype(np.float32)
        systems[f"team{i}"] = ss.Scores.from_columns(
            base.utterances, base.offsets, values, hop=0.02, higher=base.higher
        )
    settings = PageSettings(resampling=ss.Resampling(), resolutions=[0.02])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.SpoofspanWarning)
        page = render_page(page_content(corpus.references, systems, settings))
    assert len(page) < 5_000_000
    assert page.count("<tr>") > 780
    assert "Every two systems (780 pairs)" in page


def test_a_waveform_has_the_lowest_and_the_highest_sample_of_each_column():
    rate = 8000
    samples = np.sin(np.arange(4 * rate) / 7.0) * np.linspace(0.1, 0.5, 4 * rate)
    found = waveform_of(samples, rate)
    peaks = np.frombuffer(base64.b64decode(found["peaks"]), np.int8).reshape(-1, 2)
    assert found["seconds"] == 4.0
    assert len(peaks) == 400
    assert (np.abs(peaks).max(), np.abs(peaks[:4]).max() < 32) == (127, True)
    assert (peaks[:, 0] < 0).all()
    assert (peaks[:, 1] > 0).all()
    assert waveform_of(np.zeros(0), rate) is None


def test_hard_decisions_and_no_systems_are_refused(corpus):
    decided = ss.Scores.from_decisions({"u": [(0, 1, "spoof")]})
    with pytest.raises(ss.UndefinedMeasureError, match="hard decisions"):
        page_content(corpus.references, {"a": decided}, PageSettings())
    with pytest.raises(ss.UsageError, match="at least one system"):
        page_content(corpus.references, {}, PageSettings())


def test_further_measures_stand_on_cards_and_by_group(corpus):
    measures = ["event-f1@iou=0.3", "event-collar-best-f1", "range-f1"]
    references, scores = corpus.references, corpus.systems[0.64]
    column = {utt: ("one", "two")[i % 2] for i, utt in enumerate(references.utterances)}
    settings = PageSettings(resampling=QUICK, columns={"half": column}, measures=measures, timelines=2)
    content = page_content(references, {"a": scores}, settings)
    (system,) = content["systems"]
    shown = {one["measure"]: one for one in system["measurements"]}
    expected = ss.evaluate(references, scores, measures, resampling=QUICK)
    for name, one in expected.measurements.items():
        assert shown[name]["number"] == one.value
        assert shown[name]["ends"] == [one.interval.low, one.interval.high]
    assert shown["event-f1@iou=0.3"]["events"] == 192
    assert content["iou"] == 0.3
    assert [one["by"] for one in system["measures_by"]] == ["attack", "half"]
    groups = {one["name"]: [found["value"] for found in one["values"]] for one in system["measures_by"][1]["groups"]}
    half = [utt for utt in references.utterances if column[utt] == "one"]
    chosen = [np.array([one.utterances.index(utt) for utt in half]) for one in (references, scores)]
    alone = references.take(chosen[0]), scores.take(chosen[1])
    at = expected["event-f1@iou=0.3"].threshold
    assert groups["one"][0] == ss.evaluate(*alone, [measures[0]], threshold=at)[measures[0]].value
    assert groups["one"][1] == ss.evaluate(*alone, [measures[1]])[measures[1]].value
    assert groups["pooled"][:2] == [expected[one].value for one in measures[:2]]
    page = render_page(content)
    assert "Other measures by half" in page
    assert "with an IoU of 0.3 or more" in page


def test_eers_on_cards_share_their_scale(content):
    (system,) = cards(content["systems"])
    drawn = [m for m in system["measurements"] if m["drawn"]]
    assert len(drawn) > 2
    scales = {m["drawn"][1] / m["number"] for m in drawn}
    assert max(scales) == pytest.approx(min(scales))


def test_a_caution_of_the_leaderboard_is_not_repeated_on_the_cards():
    few = ["only 16 speakers"]
    measurements = [{"measure": "range-eer", "number": 0.1, "ends": None, "decision": "", "cautions": [*few, "other"]}]
    (alone,) = cards([{"name": "a", "measurements": measurements}])
    (below,) = cards([{"name": "a", "measurements": measurements}], above=few)
    assert [text for text, _ in alone["cautions"]] == [*few, "other"]
    assert [text for text, _ in below["cautions"]] == ["other"]


def systems_by_group(by, names, count):
    """Systems as the tables of every system in every group need them; each value says whose it is."""
    groups = [[{"name": name, "value": (100 * i + k) / 1e4} for k, name in enumerate(names)] for i in range(count)]
    return [{"name": f"s{i}", "breakdowns": [{"by": by, "groups": one}]} for i, one in enumerate(groups)]


def test_many_groups_stand_below_each_other():
    names = [f"A{k:02d}" for k in range(60)]
    (table,) = by_group(systems_by_group("attack", names, 3))
    assert [one["name"] for one in table["columns"]] == ["attack", "s0", "s1", "s2"]
    assert [row[0]["text"] for row in table["rows"]] == names
    assert [one["text"] for one in table["rows"][7][1:]] == ["0.07", "1.07", "2.07"]
    (table,) = by_group(systems_by_group("attack", names[:4], 40))
    assert [one["name"] for one in table["columns"]] == ["system", *names[:4]]
    assert [one["text"] for one in table["rows"][39]] == ["s39", "39.00", "39.01", "39.02", "39.03"]


def test_the_eer_beyond_a_distance_is_not_shown_as_one_within_it(content):
    (table,) = by_group(systems_by_group("boundary", ["within 20 ms", "within 40 ms"], 2))
    assert [one["name"] for one in table["columns"]] == ["system", "beyond 20 ms", "beyond 40 ms"]
    assert "beyond" in table["caption"]
    (system,) = content["systems"]
    (boundary,) = (one for one in system["breakdowns"] if one["by"] == "boundary")
    assert breakdown(boundary, "s")["columns"][1]["name"] == "EER % beyond it"


def test_proposals_are_no_scores_for_a_page(files, tmp_path):
    folder, words = files
    proposals = tmp_path / "a.json"
    proposals.write_text('{"u1": [[0.9, 0.1, 0.2]]}', encoding="utf-8")
    result = run(*words, proposals, "--out", folder / "page.html")
    assert result.exit_code != 0
    assert "table measure proposals" in str(result.exception)


def test_an_outlier_does_not_make_all_others_look_equal():
    eers = [0.05 + 0.001 * number for number in range(39)] + [0.45]
    names = [f"system {number}" for number in range(len(eers))]
    ranks = [{"system": name, "place": i, "low": 1, "high": 40, "groups": "a"} for i, name in enumerate(names, 1)]
    values = {name: [eer, eer - 0.01, eer + 0.01] for name, eer in zip(names, eers, strict=True)}
    comparison = {"measure": "range-eer", "level": 0.95, "values": values, "ranks": ranks}
    systems = [{"name": name, "measurements": []} for name in names]
    cells = [row[2] for row in leaderboard(systems, comparison)["rows"]]
    drawn = [cell["interval"][1] for cell in cells[:-1]]
    assert max(drawn) - min(drawn) > 0.5
    assert "interval" not in cells[-1]  # its number is there, and a mark at the edge
    assert [cell.get("beyond") for cell in cells] == [None] * 39 + ["high"]
    heat = heat_scale(eers)
    assert heat(eers[38]) - heat(eers[0]) > 0.5
    assert heat(eers[-1]) == 1.0
