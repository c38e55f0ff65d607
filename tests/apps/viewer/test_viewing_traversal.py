"""Nothing outside the folder of runs can be asked for, and links inside it lead nowhere."""

import hashlib
import os

import pytest
from viewing_runs import standard_runs

SECRET = "a-secret-of-somebody-else"
PLACES = [
    "../secret",
    "..",
    ".",
    "",
    "parrot/..",
    "parrot/../../secret",
    "./parrot",
    "parrot/",
    "//parrot",
    "..\\secret",
    "%2e%2e/secret",
    "..%2fsecret",
    "parrot\x00",
    "parrot/manifest.json",
    "ｐarrot",
    "\udc80".encode("utf-8", "surrogatepass"),
]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory, view):
    home = tmp_path_factory.mktemp("guarded")
    root = standard_runs(home / "runs")
    outside = standard_runs(home / "secret")
    (outside / "parrot" / "report.html").write_text(SECRET)
    (home / "secret.txt").write_text(SECRET)
    (root / "linked").symlink_to(outside / "parrot")
    (root / "evo").mkdir()
    (root / "evo" / "evolution.json").write_text("{}")
    (root / "evo" / "report.html").symlink_to(home / "secret.txt")
    (root / "magpie" / "report.html").symlink_to(home / "secret.txt")
    (root / "secret.json").symlink_to(home / "secret.txt")
    with view(root) as viewer:
        yield viewer, home


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("path", "more"),
    [
        ("/api/run", {}),
        ("/api/samples", {}),
        ("/api/sample", {"task": "Toy/1", "sample": 0}),
        ("/report", {}),
        ("/evolution", {}),
    ],
)
def test_a_place_that_is_no_id_is_refused(guarded, path, more, place):
    viewer, home = guarded
    name = "evolution" if path == "/evolution" else "run"
    for wanted in (place, str(home / "secret" / "parrot")):
        status, _, content = viewer.get(path, **{name: wanted}, **more)
        assert status in (404, 422)
        assert SECRET.encode() not in content


@pytest.mark.parametrize("path", ["/../secret.txt", "/..%2fsecret.txt", "//secret.txt", "/*",
                                  "/runs/../secret.txt",
                                  "/app.css/../../secret.txt", "/parrot/manifest.json", "/app.js%00"])  # fmt: skip
def test_paths_are_those_of_the_table(guarded, path):
    viewer, _ = guarded
    status, _, content = viewer.get(path)
    assert status == 404 and SECRET.encode() not in content


def test_links_are_not_followed(guarded):
    viewer, _ = guarded
    assert {one["run"]["id"] for one in viewer.json("/api/runs")["runs"]} == {
        "parrot",
        "magpie",
        "deep/er/growing",
    }
    assert viewer.refused("/evolution", evolution="evo")[0] == 404
    assert viewer.json("/api/others")["audits"] == []
    status, _, content = viewer.get("/report", run="magpie")
    assert status == 200 and SECRET.encode() not in content


def test_a_report_cannot_ask_the_viewer(guarded):
    """Its page may be somebody else's: scripts run without an origin, and may load nothing."""
    viewer, _ = guarded
    _, headers, content = viewer.get("/report", run="parrot")
    policy = headers["Content-Security-Policy"]
    assert content.startswith(b"<!doctype html>")
    assert policy.startswith("sandbox allow-scripts; default-src 'none';")
    assert "allow-same-origin" not in policy and "connect-src" not in policy


def test_the_page_may_ask_only_this_server(guarded):
    viewer, _ = guarded
    for path in ("/", "/app.js", "/app.css", "/api/runs"):
        _, headers, content = viewer.get(path)
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "Access-Control-Allow-Origin" not in headers
        assert b"http://" not in content and b"https://" not in content


def test_nothing_is_written_into_the_folder(guarded):
    viewer, home = guarded
    before = fingerprint(home)
    for run in ("parrot", "magpie", "deep/er/growing"):
        viewer.get("/report", run=run)
        viewer.get("/api/run", run=run)
        viewer.get("/api/samples", run=run, q="return")
    viewer.get("/api/compare", run=["parrot", "magpie"])
    viewer.get("/api/others")
    assert fingerprint(home) == before


def fingerprint(folder):
    files = sorted(path for path in folder.rglob("*"))
    return [
        (
            str(path),
            os.lstat(path).st_mtime_ns,
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
        )
        for path in files
    ]
