from __future__ import annotations

import gzip
import hashlib
import http.server
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from truegrade.datasets import PinnedFile
from truegrade.datasets.download import cache_folder, cached_path, download
from truegrade.errors import UserError

CONTENT = b"".join(b'{"id": "%d"}\n' % number for number in range(40_000))


class Server(http.server.ThreadingHTTPServer):
    """Serves ``content`` with ranges; the attributes make it misbehave."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = CONTENT
        self.cuts: list[int] = []  # bytes after which each of the next replies breaks off
        self.statuses: list[int] = []  # failures to answer with first
        self.ignores_range = False
        self.asked: list[str | None] = []  # the Range header of every request


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        self.server.asked.append(wanted)
        if self.server.statuses:
            self.send_error(self.server.statuses.pop(0))
            return
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and not self.server.ignores_range else 0
        body = self.server.content[start:]
        if start and not body:
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: self.server.cuts.pop(0)] if self.server.cuts else body)

    def log_message(self, *args: object) -> None: ...


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def pinned(server: Server) -> PinnedFile:
    digest = hashlib.sha256(CONTENT).hexdigest()
    return PinnedFile(
        name="test",
        file="rows.jsonl",
        url=f"http://127.0.0.1:{server.server_port}/rows.jsonl",
        sha256=digest,
        content_sha256=digest,
        id_field="id",
        id_prefix="",
        id_numbers="0-39999",
        licence="none",
        citation="none",
    )


def test_downloads_once_and_tells_progress(server: Server, pinned: PinnedFile, tmp_path: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    path = download(pinned, tmp_path, progress=lambda have, total: seen.append((have, total)))
    assert path == cached_path(pinned, tmp_path)
    assert path.read_bytes() == CONTENT
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert [have for have, _ in seen] == sorted(have for have, _ in seen)
    assert download(pinned, tmp_path) == path
    assert server.asked == [None]
    assert {entry.name for entry in path.parent.iterdir()} == {"rows.jsonl", "rows.jsonl.lock"}


def test_cut_connections_are_continued(server: Server, pinned: PinnedFile, tmp_path: Path) -> None:
    server.cuts = [100_000, 150_000]
    assert download(pinned, tmp_path, backoff_s=0).read_bytes() == CONTENT
    assert server.asked == [None, "bytes=100000-", "bytes=250000-"]


def test_a_server_without_ranges_starts_over(server: Server, pinned: PinnedFile, tmp_path: Path) -> None:
    server.cuts, server.ignores_range = [100_000], True
    assert download(pinned, tmp_path, backoff_s=0).read_bytes() == CONTENT
    assert server.asked == [None, "bytes=100000-"]


def test_a_piece_left_by_an_earlier_run_is_continued(server: Server, pinned: PinnedFile, tmp_path: Path) -> None:
    part = cached_path(pinned, tmp_path).with_name("rows.jsonl.part")
    part.parent.mkdir(parents=True)
    part.write_bytes(CONTENT[:1000])
    assert download(pinned, tmp_path).read_bytes() == CONTENT
    assert server.asked == ["bytes=1000-"]


@pytest.mark.parametrize("stale", [b"something else", CONTENT + b"more", CONTENT])
def test_a_stale_or_whole_piece_is_noticed(
    server: Server, pinned: PinnedFile, tmp_path: Path, stale: bytes
) -> None:
    part = cached_path(pinned, tmp_path).with_name("rows.jsonl.part")
    part.parent.mkdir(parents=True)
    part.write_bytes(stale)
    assert download(pinned, tmp_path, backoff_s=0).read_bytes() == CONTENT


def test_passing_failures_are_tried_again(server: Server, pinned: PinnedFile, tmp_path: Path) -> None:
    server.statuses = [503, 429]
    assert download(pinned, tmp_path, backoff_s=0).read_bytes() == CONTENT


def test_attempts_are_bounded(server: Server, pinned: PinnedFile, tmp_path: Path) -> None:
    server.statuses = [503] * 9
    with pytest.raises(UserError, match=r"the server answered 503; get rows.jsonl by other means"):
        download(pinned, tmp_path, attempts=3, backoff_s=0)
    assert len(server.asked) == 3


def test_a_missing_file_is_not_asked_for_again(server: Server, pinned: PinnedFile, tmp_path: Path) -> None:
    server.statuses = [404]
    with pytest.raises(UserError, match=r"the server answered 404; .*give its path with `data`"):
        download(pinned, tmp_path, backoff_s=0)
    assert len(server.asked) == 1


def test_wrong_content_is_refused_and_not_kept(server: Server, pinned: PinnedFile, tmp_path: Path) -> None:
    server.content = CONTENT.replace(b"17", b"71")
    wrong = hashlib.sha256(server.content).hexdigest()
    with pytest.raises(UserError, match=rf"rows.jsonl with sha256 {wrong}, not {pinned.sha256}.*`data`"):
        download(pinned, tmp_path, backoff_s=0)
    assert len(server.asked) == 1
    assert [entry.name for entry in cached_path(pinned, tmp_path).parent.iterdir()] == ["rows.jsonl.lock"]


def test_other_compression_of_the_same_content_is_kept(server: Server, pinned: PinnedFile, tmp_path: Path) -> None:
    server.content = gzip.compress(CONTENT, mtime=0)
    assert gzip.decompress(download(pinned, tmp_path).read_bytes()) == CONTENT


def test_callers_at_once_download_once(server: Server, pinned: PinnedFile, tmp_path: Path) -> None:
    server.cuts = [200_000]
    paths: list[Path] = []
    threads = [
        threading.Thread(target=lambda: paths.append(download(pinned, tmp_path, backoff_s=0.05))) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert paths == [cached_path(pinned, tmp_path)] * 6
    assert paths[0].read_bytes() == CONTENT
    assert len(server.asked) == 2


def test_no_network_says_what_to_do(tmp_path: Path, pinned: PinnedFile) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
        offline = msgspec.structs.replace(pinned, url=f"http://127.0.0.1:{unused.getsockname()[1]}/rows.jsonl")
        with pytest.raises(UserError, match=r"could not download.*TRUEGRADE_DATA"):
            download(offline, tmp_path, attempts=2, backoff_s=0)


def test_a_cache_that_cannot_be_written(tmp_path: Path, pinned: PinnedFile) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("")
    with pytest.raises(UserError, match="set TRUEGRADE_CACHE to another folder"):
        download(pinned, occupied)


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.delenv("TRUEGRADE_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder() == Path("/home/someone/.cache/truegrade/datasets")
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/cache/someone")
    assert cache_folder() == Path("/var/cache/someone/truegrade/datasets")
    monkeypatch.setenv("TRUEGRADE_CACHE", "~/elsewhere")
    assert cache_folder() == Path("/home/someone/elsewhere")
