"""Models from folders, archives and the hub: only the files of a checkpoint, bounded, with their checksums."""

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

import pytest

import spoofspan as ss
from spoofspan.base.hashing import file_hash
from spoofspan.cm import model_sources
from spoofspan.cm.model_sources import model_at

pytestmark = pytest.mark.slow

FILES = {"config.toml": b"name = 'x'\n", "model.safetensors": b"w" * 3000, "card.json": b"{}"}


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "model"
    made.mkdir()
    for name, content in FILES.items():
        (made / name).write_bytes(content)
    (made / "state.safetensors").write_bytes(b"not part of a model")
    return made


def packed(path, members):
    """An archive of names and contents; a content that is no bytes is a link to it."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            for name, content in members:
                file.writestr(name, content)
        return path
    with tarfile.open(path, "w:gz" if path.suffix == ".gz" else "w") as file:
        for name, content in members:
            entry = tarfile.TarInfo(name)
            if isinstance(content, bytes):
                entry.size = len(content)
                file.addfile(entry, io.BytesIO(content))
            else:
                entry.type, entry.linkname = tarfile.SYMTYPE, content
                file.addfile(entry)
    return path


@pytest.mark.parametrize("name", ["model.zip", "model.tar", "model.tar.gz"])
@pytest.mark.parametrize("inside", ["", "small/"])
def test_an_archive_is_the_folder_it_was_made_of(folder, tmp_path, name, inside):
    members = [(inside + one, content) for one, content in FILES.items()]
    path = packed(tmp_path / name, [*members, (inside + "run.py", b"import os"), (inside + "state.safetensors", b"s")])
    with model_at(folder) as plain, model_at(path) as unpacked:
        assert {one.name: one.read_bytes() for one in unpacked.folder.iterdir()} == FILES
        assert unpacked.checksum == plain.checksum == hashlib.sha256(FILES["model.safetensors"]).hexdigest()
        where = unpacked.folder
    assert not where.exists()


def test_paths_and_links_of_an_archive_decide_nothing(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    members = [(f"../outside/{name}", content) for name, content in FILES.items()]
    for path in (packed(tmp_path / "up.zip", members), packed(tmp_path / "up.tar", members)):
        with model_at(path) as found:
            assert (found.folder / "config.toml").read_bytes() == FILES["config.toml"]
    assert list(outside.iterdir()) == []
    linked = packed(tmp_path / "link.tar", [("config.toml", "/etc/passwd"), ("model.safetensors", b"w")])
    with pytest.raises(ss.UsageError, match=r"config\.toml is missing"), model_at(linked):
        pass
    with pytest.raises(ss.UsageError, match=r"config\.toml and model\.safetensors are missing"), model_at(outside):
        pass


def test_an_archive_may_not_grow_beyond_what_weights_can(tmp_path, monkeypatch):
    monkeypatch.setattr(model_sources, "SMALL", 1 << 20)
    bomb = [("config.toml", b"x"), ("model.safetensors", bytes(64 << 20))]
    with pytest.raises(ss.DataError, match="unpacks to more than"), model_at(packed(tmp_path / "bomb.zip", bomb)):
        pass
    with pytest.raises(ss.DataError, match="unpacks to more than"), model_at(packed(tmp_path / "bomb.tar.gz", bomb)):
        pass


def test_an_archive_of_two_models_is_refused(tmp_path):
    two = [(f"{one}/{name}", content) for one in "ab" for name, content in FILES.items()]
    with pytest.raises(ss.DataError, match="pack one model alone"), model_at(packed(tmp_path / "two.zip", two)):
        pass
    apart = [("a/config.toml", b"x"), ("b/model.safetensors", b"y")]
    with pytest.raises(ss.DataError, match="several folders"), model_at(packed(tmp_path / "apart.zip", apart)):
        pass


def test_damaged_archives_are_refused(tmp_path):
    whole = packed(tmp_path / "m.zip", list(FILES.items())).read_bytes()
    at = whole.index(b"model.safetensors") + 20
    (tmp_path / "flipped.zip").write_bytes(whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :])
    (tmp_path / "half.tar.gz").write_bytes(packed(tmp_path / "m.tar.gz", list(FILES.items())).read_bytes()[:80])
    (tmp_path / "text.zip").write_text("no archive")
    for name in ("flipped.zip", "half.tar.gz", "text.zip"):
        with pytest.raises(ss.SpoofspanError, match=name), model_at(tmp_path / name):
            pass


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("call.wav", "is a recording, and stands where the model belongs"),
        ("scores.parquet", "is a file of scores.*convert .*--threshold"),
        ("trained_network.pt", "spoofspan cm convert"),
    ],
)
def test_a_file_that_is_no_model_is_called_by_its_name(tmp_path, name, said):
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(ss.UsageError, match=said), model_at(tmp_path / name):
        pass


def test_without_a_model_there_are_three_ways_to_get_one(tmp_path):
    for model in (None, "", tmp_path, tmp_path / "nowhere" / "deep" / "model"):
        with pytest.raises(ss.UsageError, match=r"cm train.*cm convert.*Hugging Face"), model_at(model):
            pass


def test_the_checksum_must_be_that_of_the_weights(folder):
    right = file_hash(folder / "model.safetensors")
    with model_at(folder, right.upper()) as found:
        assert found.checksum == right
    with pytest.raises(ss.DataError, match="another model"), model_at(folder, "0" * 64):
        pass


# ---------------------------------------------------------------- the hub

COMMIT = "a" * 40


def git_hash(content):
    """As git names a file."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class Hub(BaseHTTPRequestHandler):
    """A stand-in of the hub's HTTP interface: one repository, one commit."""

    files = FILES
    asked = ()

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, *, body):
        path = unquote(urlsplit(self.path).path)
        self.asked.append((self.command, path))
        if path.startswith("/api/models/lab/small/tree/"):
            return self.reply(json.dumps([self.entry(name) for name in self.files]).encode(), body=body)
        if path in ("/api/models/lab/small", *(f"/api/models/lab/small/revision/{one}" for one in ("main", COMMIT))):
            about = {"id": "lab/small", "sha": COMMIT, "siblings": [{"rfilename": name} for name in self.files]}
            return self.reply(json.dumps(about).encode(), body=body)
        name = path.rpartition("/")[2]
        if path.startswith(f"/lab/small/resolve/{COMMIT}/") and name in self.files:
            entry, content = self.entry(name), self.files[name]
            tag = entry["lfs"]["oid"] if "lfs" in entry else entry["oid"]
            about = {"ETag": f'"{tag}"', "X-Repo-Commit": COMMIT, "X-Linked-Etag": f'"{tag}"'}
            return self.reply(content, about | {"X-Linked-Size": str(len(content))}, body=body)
        kind = "EntryNotFound" if path.startswith("/lab/small/") else "RepoNotFound"
        return self.reply(b"{}", {"X-Error-Code": kind}, status=404, body=body)

    def entry(self, name):
        content = self.files[name]
        about = {"type": "file", "path": name, "size": len(content), "oid": git_hash(FILES.get(name, content))}
        if name.endswith(".safetensors"):
            about["lfs"] = {"oid": hashlib.sha256(FILES[name]).hexdigest(), "size": len(content), "pointerSize": 130}
        return about

    def reply(self, content, headers=(), *, status=200, body=True):
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content)


PROGRAM = """
import sys
from spoofspan.base.errors import SpoofspanError
from spoofspan.cm.model_sources import model_at
try:
    with model_at(sys.argv[1]) as found:
        print(sorted(one.name for one in found.folder.iterdir()), found.checksum)
except SpoofspanError as error:
    print("refused:", error)
"""


@pytest.fixture
def hub(tmp_path):
    """Ask for a model in a process of its own, with a cache of its own."""
    pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed: pip install 'spoofspan[cm]'")
    handler = type("OwnHub", (Hub,), {"asked": [], "files": dict(FILES) | {"pickle.bin": b"never asked for"}})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"

    def ask(name, **environment):
        own = {"HF_ENDPOINT": address, "HF_HOME": str(tmp_path / "home"), "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
        own |= {"HF_HUB_DISABLE_TELEMETRY": "1", "NO_PROXY": "127.0.0.1", "HF_HUB_ETAG_TIMEOUT": "2"}
        command = [sys.executable, "-c", PROGRAM, name]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **own, **environment})
        assert done.returncode == 0, done.stderr
        return done.stdout

    ask.handler, ask.server, ask.cache = handler, server, tmp_path / "home"
    yield ask
    server.shutdown()
    server.server_close()


def test_a_model_of_the_hub_is_fetched_once_and_then_found_without_a_network(hub):
    right = hashlib.sha256(FILES["model.safetensors"]).hexdigest()
    said = hub(f"lab/small@{COMMIT}")
    assert said.strip() == f"{sorted(FILES)} {right}"
    fetched = [path.rpartition("/")[2] for command, path in hub.handler.asked if command == "GET" and "resolve" in path]
    assert sorted(fetched) == sorted(FILES)  # and nothing else that the repository has
    hub.handler.asked.clear()
    assert hub(f"lab/small@{COMMIT}", HF_HUB_OFFLINE="1") == said
    assert hub.handler.asked == []


def test_a_name_without_a_commit_is_told_todays(hub):
    assert f"lab/small@{COMMIT}" in hub("lab/small")
    assert "'main' means changes from day to day" in hub("lab/small@main")
    assert "refused" in hub("lab/small", HF_HUB_OFFLINE="1")


def test_weights_of_another_checksum_are_refused(hub):
    hub.handler.files["model.safetensors"] = FILES["model.safetensors"][:-1] + b"!"
    assert "model.safetensors does not have the checksum that the hub states" in hub(f"lab/small@{COMMIT}")


def test_a_configuration_or_card_of_another_checksum_is_refused(hub):
    for name in ("config.toml", "card.json"):
        hub.handler.files[name] = b"#" * len(FILES[name])
        assert f"{name} does not have the checksum that the hub states" in hub(f"lab/small@{COMMIT}")
        hub.handler.files[name] = FILES[name]
        shutil.rmtree(hub.cache)


def test_what_the_hub_does_not_have_is_said(hub):
    assert "the Hugging Face hub does not give this model" in hub(f"lab/other@{COMMIT}")
    assert "does not have this commit" in hub(f"lab/small@{'b' * 40}", HF_HUB_OFFLINE="1")
    del hub.handler.files["model.safetensors"]
    assert "model.safetensors is missing" in hub(f"lab/small@{COMMIT}")
    shutil.rmtree(hub.cache)
    hub.server.shutdown()
    hub.server.server_close()
    assert "refused" in hub(f"lab/small@{COMMIT}")
