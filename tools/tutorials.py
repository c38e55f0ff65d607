"""Runs sections of pages as a reader would, block after block, and holds their outputs against the real ones.

    python -m tools.tutorials [NAME ...]

The sections are those called "Tutorial" and all of the quickstart (`followed`); NAME is a word of the name of one.

A ``sh`` block is a script, a ``python`` block a program. In a ``console`` block each ``$`` line is a command and
what follows is what it prints on standard output; ``…`` is any text, alone on a line any lines. Spaces,
blank lines and rules of tables are not compared. Run as a program, it writes the numbers of a fresh run into the
pages; everything else that differs is for a person to see to.

OpenAI's models are asked at a stand-in on this machine, which gives `REPLY` to everything.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from bench.planted import served

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
QUICKSTART = DOCS / "quickstart.md"
ANY = "…"
MAY_FAIL = re.compile(r"^truegrade (check|exec|data check)\b")
"""Commands whose exit code 1 is an answer."""

REPLY = "```python\ndef truncate_number(number: float) -> float:\n    return number % 1.0\n```"
"""The answer to HumanEval/2."""

_BLOCK = re.compile(r"^```(sh|console|python)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^(`{3,}).*?^\1$|^## ([^\n]+)$", re.DOTALL | re.MULTILINE)


class Part(NamedTuple):
    """A section of a page that is followed as it stands; its name is made of the page's and its heading."""

    name: str
    page: Path
    text: str


def sections(text: str) -> Iterator[tuple[str, str]]:
    """Heading and text of every section of the second level; lines of blocks are no headings."""
    heads = [found for found in _HEADING.finditer(text) if found[2]]
    for head, end in zip(heads, [*(after.start() for after in heads[1:]), len(text)], strict=True):
        yield head[2], text[head.end() : end]


def followed() -> list[Part]:
    """The parts of pages that are run as they stand."""
    return [
        Part(re.sub(r"\W+", "-", f"{page.stem} {heading}").lower(), page, text)
        for page in sorted(DOCS.glob("*.md"))
        for heading, text in sections(page.read_text())
        if page == QUICKSTART or heading == "Tutorial"
    ]


def named(words: Collection[str], parts: Sequence[Part]) -> list[Part]:
    """The parts whose names contain one of the words, or all without words; exits if a word names none."""
    for word in words:
        if not any(word in part.name for part in parts):
            sys.exit(f"no part is named {word}; there are {', '.join(part.name for part in parts)}")
    return [part for part in parts if any(word in part.name for word in words or ("",))]


def not_followed(page: Path) -> str:
    """What a page says outside the parts that are run as they stand."""
    text = page.read_text()
    for part in followed():
        if part.page == page:
            text = text.replace(part.text, "\n")
    return text


@dataclass
class Step:
    """One command of a text."""

    command: Sequence[str]
    shown: str
    expected: list[str] | None = None
    """Lines that the text says are printed; None where it says nothing."""
    printed: list[str] = field(default_factory=list)


def steps(text: str) -> Iterator[Step]:
    """The commands of a text, in order."""
    for language, block in _BLOCK.findall(text):
        if language == "sh":
            yield Step(["sh", "-e", "-c", block], block)
        elif language == "python":
            yield Step(["python", "-c", block], block)
        else:
            for shown in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, output = shown.partition("\n")
                yield Step(["sh", "-c", command], command, output.splitlines() if output.strip() else None)


def run(text: str, folder: Path, bin_folder: Path | None = None) -> Iterator[Step]:
    """Run a text in this folder, step by step.

    Args:
        text: Markdown, whose blocks are run.
        folder: where its commands run, which is their home too.
        bin_folder: holds `truegrade` and `python`; None for those of this interpreter.

    Raises:
        AssertionError: a command failed.
    """
    with served(lambda _: REPLY, tokens=(900, 30)) as address:
        yield from _run(text, folder, bin_folder or Path(sys.executable).parent, address)


def _run(text: str, folder: Path, bin_folder: Path, openai_url: str) -> Iterator[Step]:
    changed = {
        "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "XDG_CACHE_HOME": str(folder / ".cache"),
        "COLUMNS": "100",
        "OPENAI_BASE_URL": openai_url,
        "OPENAI_API_KEY": "stand-in",
    }
    for step in steps(text):
        done = subprocess.run(
            step.command, cwd=folder, env=os.environ | changed, capture_output=True, text=True, check=False
        )
        allowed = (0, 1) if MAY_FAIL.match(step.shown) else (0,)
        assert done.returncode in allowed, f"{step.shown}\n{done.stdout}{done.stderr}"
        step.printed = done.stdout.splitlines()
        yield step


def agrees(step: Step) -> bool:
    """Whether a step printed what its text says."""
    if step.expected is None:
        return True
    pattern = "".join(
        r"(?:[^\n]*\n)*?" if line == ANY else _pattern(line) + r"\n" for line in _compared(step.expected)
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _compared(step.printed))) is not None


def refreshed(step: Step) -> list[str]:
    """What the text should say: its own lines, each with the numbers that were printed now."""
    lines, rest = [], list(step.printed)
    for line in step.expected or []:
        place = next((i for i, printed in enumerate(rest) if _masked(printed) == _masked(line)), None)
        if place is None or ANY in line or not line.strip():
            lines.append(line)
        else:
            lines.append(rest[place].rstrip())
            del rest[: place + 1]
    return lines


def _compared(lines: Sequence[str]) -> list[str]:
    """Lines without blank ones, rules and runs of spaces."""
    return [" ".join(line.split()) for line in lines if line.strip(" ─━│")]


def _pattern(line: str) -> str:
    return "[^\n]*".join(map(re.escape, line.split(ANY)))


def _masked(line: str) -> str:
    return re.sub(r"\d+", "0", " ".join(line.split()))


def main(words: Sequence[str]) -> None:
    """Refresh the parts whose names contain one of these words, or all."""
    for part in named(words, followed()):
        text = part.text
        with tempfile.TemporaryDirectory() as folder:
            for step in run(part.text, Path(folder)):
                if not agrees(step):
                    old = "\n".join([f"$ {step.shown}", *(step.expected or [])])
                    text = text.replace(old, "\n".join([f"$ {step.shown}", *refreshed(step)]))
                    print(f"{part.name}: {step.shown}\n" + "\n".join(step.printed))
        part.page.write_text(part.page.read_text().replace(part.text, text))


if __name__ == "__main__":
    main(sys.argv[1:])
