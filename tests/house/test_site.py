"""The site: its reference is that of the code, its tutorials run, its pages are found, its links hold."""

import functools
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.thorough import thorough
from tools.reference import FOLDER
from tools.tutorials import QUICKSTART, agrees, followed, named, not_followed, run, steps

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
ZENSICAL = ROOT / "build" / "docs" / "bin" / "zensical"
LONG = named(("evolution", "reasoning", "replication", "repository", "vllm"), followed())
"""The parts that take most of the CPU time: thorough."""


def test_the_reference_is_that_of_the_code():
    # In a process of its own: which of two equal unions a schema shows is the first that any module has written.
    code = "import json; from tools.reference import pages; print(json.dumps(pages()))"
    written = json.loads(
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True).stdout
    )
    there = {path.relative_to(FOLDER).as_posix(): path.read_text() for path in FOLDER.rglob("*") if path.is_file()}
    stale = {path for path in written.keys() | there.keys() if written.get(path) != there.get(path)}
    assert not stale, f"run `python -m tools.reference`: {sorted(stale)}"


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [thorough(part.text) if part in LONG else part.text for part in followed()],
    ids=[part.name for part in followed()],
)
def test_a_tutorial_does_what_it_says(text, tmp_path, humaneval_file, monkeypatch):
    monkeypatch.delenv("TRUEGRADE_DATA", raising=False)
    if (download := re.search(r"pip download .*", text)) is not None:
        command = [sys.executable, "-m", *download[0].split(), "--dest", str(tmp_path)]
        if subprocess.run(command, check=False, capture_output=True).returncode:
            pytest.skip(f"no package index is reachable: {download[0]}")
    for step in run(text, tmp_path):
        assert agrees(step), "\n".join(
            [f"{step.shown} prints something else; `python -m tools.tutorials` takes numbers over", *step.printed]
        )


def test_every_part_that_is_followed_runs_something_and_a_tutorial_shows_what_it_prints():
    for part in followed():
        assert any(step.expected or part.page == QUICKSTART for step in steps(part.text)), part.name
    assert not list(steps(not_followed(QUICKSTART))), "what is not of a section is run by nobody"


def test_the_navigation_names_every_page_once():
    named = re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    there = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert len(named) == len(set(named))
    assert there <= set(named), "pages that no reader finds"
    assert set(named) <= there, "pages that do not exist"


LINK = re.compile(r"(?<!\\)\[[^\]\n]*\]\(([^)\s]+)\)")


def prose(path):
    return re.sub(r"^```.*?^```$|`[^`\n]*`", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)


@functools.cache
def anchors(page):
    """What links can name on a page: its headings, as the site spells them; a repeated one only once."""
    heads = re.findall(
        r"^#+ (.+)$", re.sub(r"^(`{3,}).*?^\1$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE), re.M
    )
    texts = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", head) for head in heads]
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", text).strip().lower()) for text in texts}


LINKING = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "adr").glob("*.md")),
    *sorted(DOCS.rglob("*.md")),
]


@pytest.mark.parametrize("path", LINKING, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_relative_links_lead_to_files_and_headings_inside_the_site(path):
    """Pages of the site link to the site, or to the whole address of what lies outside it."""
    for target in LINK.findall(prose(path)):
        if not target.startswith("https://"):
            name, _, anchor = target.partition("#")
            file = (path.parent / name).resolve() if name else path
            assert file.is_file(), target
            assert file.is_relative_to(DOCS) or not path.is_relative_to(DOCS), f"{target} is not on the site"
            assert not anchor or file.suffix != ".md" or anchor in anchors(file), f"no heading {anchor} on {name}"


def test_the_pictures_of_the_readme_are_there_and_small():
    named = re.findall(r'src(?:set)?="(.+?)"', (ROOT / "README.md").read_text())
    assert len(named) == 2, "one for light and one for dark"
    assert all((ROOT / name).stat().st_size < 150_000 for name in named)


def test_every_decision_has_its_number_and_a_row():
    files = sorted(path.name for path in (ROOT / "adr").glob("[0-9]*.md"))
    heads = [re.match(r"# (\d+)\. (.+)\n\nStatus: \w", (ROOT / "adr" / name).read_text()) for name in files]
    rows = re.findall(r"^\| (\d+) \| \[(.+?)\]\(([\w-]+\.md)\) \|", (ROOT / "adr" / "README.md").read_text(), re.M)
    assert rows == [(head[1], head[2], name) for head, name in zip(heads, files, strict=True)]
    assert [int(number) for number, *_ in rows] == list(range(1, len(files) + 1))
    assert all(name.startswith(f"{int(number):04}-") for number, _, name in rows)


@pytest.mark.slow
@pytest.mark.skipif(not ZENSICAL.exists(), reason="zensical is not there")
def test_the_site_builds_strictly_and_loads_nothing_from_elsewhere(tmp_path):
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    shutil.copytree(DOCS, tmp_path / "docs")
    command = [ZENSICAL, "build", "--strict"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    built = list((tmp_path / "build" / "site").rglob("*.html"))
    assert len(built) > len(list(DOCS.rglob("*.md")))
    for page in built:
        loaded = re.findall(
            r'<(?:script|img|iframe)[^>]* src="(//|https?:)|<link [^>]*href="(//|https?:)', page.read_text()
        )
        assert not loaded, page
