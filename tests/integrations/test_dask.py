"""Past one machine: a real cluster of separate processes gives the bits of one, and survives the loss of a worker."""

import os
import random
import signal
import socket
import time
import warnings

import numpy as np
import pytest
from command_line import run
from outcomes import build
from random_corpora import random_case

import spoofspan as ss
from spoofspan.formats.tables import parquet
from spoofspan.formats.tables.dataframes import to_arrow

distributed = pytest.importorskip("distributed", reason="dask is not installed: pip install 'spoofspan[dask]'")
dask = pytest.importorskip("dask")
pq = pytest.importorskip("pyarrow.parquet")

from spoofspan.integrations import dask as cluster_of  # noqa: E402

CASES = 8

# a worker that is killed leaves an open connection or two behind, and what Dask says of it is not ours
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def cluster():
    with (
        warnings.catch_warnings(),
        # one task may be under way on more than the usual three workers that are killed here
        dask.config.set({"distributed.scheduler.allowed-failures": 10}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs="ERROR"
        ) as made,
    ):
        warnings.simplefilter("ignore")
        yield made


@pytest.fixture(scope="module")
def client(cluster):
    with distributed.Client(cluster, set_as_default=False) as made:
        yield made


def with_workers(cluster, client, count):
    """Wait until there are so many; a nanny that a busy machine has lost is replaced after half a minute."""
    cluster.scale(count)
    started, spare = time.monotonic(), 0
    while (now := len(client.scheduler_info(n_workers=-1)["workers"])) != count:
        waited = time.monotonic() - started
        assert waited < 120
        spare = 1 if now < count and waited > 30 else 0
        cluster.scale(count + spare)
        time.sleep(0.1)


@pytest.fixture(scope="module")
def corpus():
    """60 utterances whose references and scores stand in different orders."""
    rng = np.random.default_rng(21)
    ranges, frames = {}, {}
    for i in rng.permutation(60):
        a, b = (int(one) for one in sorted(rng.integers(100, 900, 2)))
        ranges[f"u{i:02d}"] = [
            (0.0, a / 1000, "bonafide"),
            (a / 1000, b / 1000, "spoof", f"A{i % 3:02d}"),
            (b / 1000, 1.0, "bonafide"),
        ]
        if i % 4 == 0:
            ranges[f"u{i:02d}"], a, b = [(0.0, 1.0, "bonafide")], 0, 0
        middle = np.arange(50) * 20 + 10
        frames[f"u{i:02d}"] = (rng.normal(size=50) - 2.0 * ((middle > a) & (middle < b))).astype(np.float32)
    references = ss.References.from_ranges(ranges, dict.fromkeys(ranges, 1.0))
    order = rng.permutation(60)
    return references, ss.Scores.from_frames(frames, hop=0.02, higher="bonafide").take(order)


def partitioned(kind, references, scores, folder):
    """The corpus in Parquet files, cut in one of several ways; returns the arguments of evaluate."""
    folder.mkdir()
    if kind == "one file":  # as the package writes it, in one row group
        (folder / "r.parquet").write_bytes(b"".join(parquet.write_references(references)))
        (folder / "s.parquet").write_bytes(b"".join(parquet.write_scores(scores)))
        return folder / "r.parquet", folder / "s.parquet"
    if kind == "many files":  # utterances dealt out to files, a different number on each side
        for side, one, write, count in (
            ("r", references, parquet.write_references, 3),
            ("s", scores, parquet.write_scores, 7),
        ):
            for i in range(count):
                few = one.take(np.arange(i, len(one), count))
                (folder / f"{side}{i}.parquet").write_bytes(b"".join(write(few)))
        return sorted(folder.glob("r*.parquet")), sorted(folder.glob("s*.parquet"))
    # rows of all utterances in any order, in small row groups: every piece has rows of every shard
    rng = np.random.default_rng(1)
    for name, table in (("r", to_arrow(references)), ("s", to_arrow(scores))):
        pq.write_table(table.take(rng.permutation(table.num_rows)), folder / f"{name}.parquet", row_group_size=900)
    return folder / "r.parquet", folder / "s.parquet"


KINDS = ("one file", "many files", "shuffled rows")
MEASURES = ["range-eer", "point-eer@50ms", "event-f1@iou=0.5", "event-ap@iou=0.5", "event-collar-best-f1"]


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(cluster_of, "BYTES_PER_PIECE", 8000)


def quietly(measure):
    """All numbers and signatures, or the kind of refusal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.SpoofspanWarning)
        try:
            return measure().to_dict()
        except ss.SpoofspanError as error:
            return error.exit_code


def test_any_number_of_workers_and_any_partitioning_have_the_same_bits(cluster, client, corpus, tmp_path, small_pieces):
    whole = ss.evaluate(*corpus, MEASURES).to_dict()
    for workers in (1, 4, 2):
        with_workers(cluster, client, workers)
        for kind in KINDS:
            files = partitioned(kind, *corpus, tmp_path / f"{workers} {kind}")
            found = cluster_of.evaluate(*files, MEASURES, client=client, partitions=4)
            assert found.to_dict() == whole, (workers, kind)


def test_random_corpora_have_the_same_bits_on_a_cluster(client, tmp_path, small_pieces):
    rng = random.Random(31)
    measured = 0
    for number in range(CASES):
        case = random_case(rng)
        try:
            references, scores = build(case)
        except ss.SpoofspanError:
            continue
        files = partitioned(KINDS[number % 2 * 2], references, scores, tmp_path / str(number))
        arguments = {"eer_rule": case.eer_rule, **case.rules}
        whole = quietly(lambda: ss.evaluate(references, scores, ["range-eer"], **arguments))  # noqa: B023
        found = quietly(
            lambda: cluster_of.evaluate(*files, ["range-eer"], client=client, partitions=3, **arguments)  # noqa: B023
        )
        assert found == whole
        measured += isinstance(whole, dict)
    assert measured > CASES // 3


def test_a_lost_worker_changes_no_bit(cluster, client, corpus, tmp_path, small_pieces, monkeypatch):
    """One worker is killed in the middle of every stage: reading, preparing, both passes."""
    files = partitioned("shuffled rows", *corpus, tmp_path / "files")
    whole = ss.evaluate(*corpus, ["range-eer"]).to_dict()
    stages = []
    usual = cluster_of.progress

    def deadly(what, total=None, unit=""):
        from contextlib import contextmanager

        @contextmanager
        def watching():
            with usual(what, total, unit) as advance:
                done = 0

                def killing(amount):
                    nonlocal done
                    advance(amount)
                    done += 1
                    if done == 2:  # the others are under way
                        with_workers(cluster, client, 2)  # the one killed before may still be starting again
                        processes = list(client.run(os.getpid, on_error="ignore").values())
                        os.kill(processes[len(stages) % len(processes)], signal.SIGKILL)
                        stages.append(what)

                yield killing

        return watching()

    monkeypatch.setattr(cluster_of, "progress", deadly)
    found = cluster_of.evaluate(*files, ["range-eer"], client=client, partitions=6)
    assert found.to_dict() == whole
    expected = ["reading on the workers", "preparing", "measuring range-eer, pass 1", "measuring range-eer, pass 2"]
    assert set(expected) <= set(stages)


def test_a_cluster_without_workers_is_not_waited_for(cluster, client, monkeypatch):
    with_workers(cluster, client, 0)
    monkeypatch.setattr(cluster_of, "LOST", 0.5)
    submitter = cluster_of._Submitter(client)
    try:
        with pytest.raises(ss.DataError, match="no workers left"):
            submitter.results([(int, "7")], "waiting")
    finally:
        with_workers(cluster, client, 2)


def test_without_a_signature_nothing_is_fetched(client, corpus, tmp_path, monkeypatch):
    files = partitioned("one file", *corpus, tmp_path / "files")
    whole = ss.range_eer(*corpus)

    def no(*_):
        raise AssertionError("a shard was fetched")

    monkeypatch.setattr(cluster_of.DaskShards, "_fetched", no)
    found = [
        cluster_of.evaluate(*files, ["range-eer"], client=client, partitions=3, signed=False)["range-eer"]
        for _ in range(2)
    ]
    assert all((one.value, one.threshold) == (whole.value, whole.threshold) for one in found)
    assert found[0].signature.comparable != found[1].signature.comparable
    assert "unsigned" in found[0].signature.input


def test_workers_are_asked_for_their_version(client, corpus, tmp_path, monkeypatch):
    files = partitioned("one file", *corpus, tmp_path / "files")
    answers = {"a": cluster_of.__version__, "b": OSError("lost just now")}
    monkeypatch.setattr(client, "run", lambda *_, **__: answers)
    whole = cluster_of.evaluate(*files, ["range-eer"], client=client, partitions=2)
    assert whole.to_dict() == ss.evaluate(*corpus, ["range-eer"]).to_dict()
    for answer, said in (("0.0.1", "workers have spoofspan 0.0.1"), (ModuleNotFoundError(name="spoofspan"), "has no")):
        answers["c"] = answer
        with pytest.raises(ss.UsageError, match=said):
            cluster_of.evaluate(*files, ["range-eer"], client=client)


def test_other_measures_go_through_the_client(client, corpus, tmp_path):
    files = partitioned("many files", *corpus, tmp_path / "files")
    measures = ["range-f1", "range-auc", "range-eer"]
    found = cluster_of.evaluate(*files, measures, client=client, eer_rule="convex-hull")
    whole = ss.evaluate(*corpus, measures, eer_rule="convex-hull")
    assert repr(found.to_dict()) == repr(whole.to_dict())  # an AUC has no threshold: NaN


# ---------------------------------------------------------------- the command line, and refusals


def test_a_stated_snap_is_a_rule_as_in_memory(client, corpus, tmp_path):
    files = partitioned("one file", *corpus, tmp_path / "files")
    found = cluster_of.evaluate(*files, ["range-eer"], client=client, partitions=2, snap=0.002)
    assert found.to_dict() == ss.evaluate(*corpus, ["range-eer"], snap=0.002).to_dict()


def test_the_command_line_prints_the_same(cluster, client, corpus, tmp_path, capsys):
    references, scores = partitioned("many files", *corpus, tmp_path / "files")
    files = [str(tmp_path / "files" / "r*.parquet"), str(tmp_path / "files" / "s*.parquet")]
    assert len(references) + len(scores) == 10
    _, here = run(["eval", *files, "--format", "json"], capsys)
    code, there = run(["eval", *files, "--format", "json", "--scheduler", cluster.scheduler_address], capsys)
    assert code == 0, there.err
    assert there.out == here.out
    intervals = ["--confidence", 0.95]
    drawn = [*intervals, "--interval", "percentile", "--replicates", 100]
    for more in (["-m", "range-eer", "--by", "length", *intervals], ["-m", "event-f1", *intervals], drawn):
        typed = ["eval", *files, "--format", "json", *more]
        there = run([*typed, "--scheduler", cluster.scheduler_address], capsys)[1]
        assert there.out == run(typed, capsys)[1].out


def test_an_address_is_no_client():
    with pytest.raises(ss.UsageError, match=r"must be a dask.distributed.Client, .* not 'tcp://head:8786'"):
        cluster_of.evaluate("r.parquet", "s.parquet", client="tcp://head:8786")


def test_a_scheduler_that_is_not_there(corpus, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(cluster_of, "PATIENCE", 1.0)
    monkeypatch.setattr(cluster_of.connected.__wrapped__, "__defaults__", (1.0,))
    files = partitioned("one file", *corpus, tmp_path / "files")
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    for address in (f"tcp://127.0.0.1:{port}", "no address at all"):
        code, said = run(["eval", *files, "--scheduler", address], capsys)
        assert code == 2
        assert "no Dask scheduler answers at" in said.err
        assert "dask scheduler" in said.err


def test_what_workers_cannot_read_is_refused(client, cluster, corpus, tmp_path, capsys):
    references, scores = partitioned("one file", *corpus, tmp_path / "files")
    text = tmp_path / "s.txt"
    text.write_text("u1 0 0.5 -0.5\n")
    address = ["--scheduler", cluster.scheduler_address]
    code, said = run(["eval", references, text, *address], capsys)
    assert (code, "workers read Parquet files" in said.err) == (2, True)
    code, said = run(["eval", references, scores, "--durations", "reco2dur", *address], capsys)
    assert (code, "--durations does not go with --scheduler" in said.err) == (2, True)
    table = pq.read_table(scores)
    values = table.column("scores").to_pylist()
    values[7][3] = float("nan")
    broken = table.set_column(table.column_names.index("scores"), "scores", [values])
    pq.write_table(broken, tmp_path / "nan.parquet")
    code, said = run(["eval", references, tmp_path / "nan.parquet", *address], capsys)
    assert code == 3
    assert "nan.parquet, row 8" in said.err
    pq.write_table(table.slice(0, 0), tmp_path / "empty.parquet")
    code, said = run(["eval", references, tmp_path / "empty.parquet", *address], capsys)
    assert (code, "has no rows" in said.err) == (3, True)
