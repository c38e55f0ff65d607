"""Build an image of ``deploy/Dockerfile`` without Docker, as root: ``python -m tools.image [TARGET]``.

The steps are those of the file: ``FROM debian:SUITE`` is debootstrap's smallest system, ``RUN`` a shell in a
chroot with the machine's network. ``build/image/TARGET/rootfs`` is written, and beside it ``image.json``: what
starts there.

pip is set up in there as it is for the caller by variables (``PIP_*``); files and folders that these name are
shown to it, read-only, with ``--bind PATH``, and do not stay in the image.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
IMAGES = ROOT / "build" / "image"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
KEEP_NO_PACKAGES = 'DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb"; };\n'
"""As in Debian's image for Docker."""
IN_CHROOT = """
mount -t proc proc "$IMAGE_ROOT/proc"
mount --rbind /dev "$IMAGE_ROOT/dev"
for path in /etc/resolv.conf $IMAGE_BOUND; do
    mount --bind "$path" "$IMAGE_ROOT$path"
    mount -o remount,bind,ro "$IMAGE_ROOT$path"  # or a step would write into the machine
done
exec chroot "$IMAGE_ROOT" env -i "$@"
"""


@dataclass
class Image:
    """A stage: its files, and what is started in them."""

    root: Path
    env: dict[str, str] = field(default_factory=lambda: {"PATH": PATH})
    user: str = "0:0"
    cwd: str = "/"
    entrypoint: list[str] = field(default_factory=list)
    cmd: list[str] = field(default_factory=list)
    healthcheck: list[str] = field(default_factory=list)
    exposed: str = ""


def instructions(text: str) -> list[tuple[str, str]]:
    """Words and what follows them, in order; lines that are continued are joined, comments left out."""
    joined = re.sub(r"\\\n\s*", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE))
    return [
        (word, rest.strip()) for word, _, rest in (line.partition(" ") for line in joined.splitlines()) if word
    ]


def stages(text: str) -> dict[str, tuple[str, list[tuple[str, str]]]]:
    """By name: what a stage starts from, and its instructions. The last one, if nameless, is ``truegrade``."""
    found: dict[str, tuple[str, list[tuple[str, str]]]] = {}
    for word, rest in instructions(text):
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            steps: list[tuple[str, str]] = []
            found[name or "truegrade"] = (base, steps)
        else:
            steps.append((word, rest))
    return found


class Builder:
    """Builds stages, each once.

    Args:
        text: of the Dockerfile.
        bound: paths of the machine that ``RUN`` sees.
    """

    def __init__(self, text: str, bound: list[Path]) -> None:
        self._stages, self._bound, self._built = stages(text), bound, dict[str, Image]()

    def build(self, name: str) -> Image:
        """A stage and all that it needs.

        Raises:
            subprocess.CalledProcessError: a step failed.
        """
        if name not in self._built:
            base, steps = self._stages[name]
            below = self.build(base) if base in self._stages else Image(_debian(base))
            root = IMAGES / name / "rootfs"
            shutil.rmtree(root, ignore_errors=True)
            root.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cp", "--archive", "--reflink=auto", below.root, root], check=True)
            image = replace(below, root=root, env=dict(below.env))
            arguments: dict[str, str] = {}
            for word, rest in steps:
                print(f"{name}: {word} {rest[:100]}", flush=True)
                self._follow(image, arguments, word, rest)
            self._built[name] = image
        return self._built[name]

    def _follow(self, image: Image, arguments: dict[str, str], word: str, rest: str) -> None:
        match word:
            case "RUN":
                self._run(image, arguments, rest)
            case "COPY":
                self._copy(image, rest)
            case "ARG":
                name, _, value = rest.partition("=")
                arguments[name] = value
            case "ENV":
                image.env |= dict(pair.split("=", 1) for pair in shlex.split(rest))
            case "WORKDIR":
                image.cwd = rest
                (image.root / rest[1:]).mkdir(parents=True, exist_ok=True)
            case "USER":
                image.user = rest
            case "EXPOSE":
                image.exposed = rest
            case "ENTRYPOINT" | "CMD":
                setattr(image, word.lower(), json.loads(rest))
            case "HEALTHCHECK":
                image.healthcheck = json.loads(rest.partition("CMD ")[2])
            case _:
                raise ValueError(f"{DOCKERFILE.name}: {word} is not known here")

    def _run(self, image: Image, arguments: dict[str, str], command: str) -> None:
        lent = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        env = {**lent, "DEBIAN_FRONTEND": "noninteractive", "HOME": "/root", **image.env, **arguments}
        words = [f"{name}={value}" for name, value in env.items()]
        words += ["sh", "-ec", f"cd {shlex.quote(image.cwd)}\n{command}"]
        made = list(_mount_points(image.root, [Path("/etc/resolv.conf"), *self._bound]))
        try:
            subprocess.run(
                ["unshare", "--mount", "--propagation", "private", "sh", "-ec", IN_CHROOT, "sh", *words],
                env={
                    "PATH": PATH,
                    "IMAGE_ROOT": str(image.root),
                    "IMAGE_BOUND": shlex.join(map(str, self._bound)),
                },
                check=True,
            )
        finally:
            for path in reversed(made):
                with suppress(OSError):  # a folder in which the step wrote something stays
                    path.rmdir() if path.is_dir() else path.unlink()

    def _copy(self, image: Image, rest: str) -> None:
        words = rest.split()
        option = words.pop(0) if words[0].startswith("--from=") else ""
        origin = self.build(option.removeprefix("--from=")).root if option else ROOT
        *sources, target = words
        into = image.root / Path(image.cwd, target).as_posix()[1:]
        into.mkdir(parents=True, exist_ok=True)
        for source in (origin / name.lstrip("/") for name in sources):
            if source.is_dir():
                shutil.copytree(
                    source, into, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
                )
            else:
                shutil.copy(source, into)


def _debian(base: str) -> Path:
    """The smallest Debian of a suite, made once."""
    suite = base.removeprefix("debian:").removesuffix("-slim")
    root = IMAGES / f"debian-{suite}"
    if not (root / "etc" / "debian_version").exists():
        shutil.rmtree(root, ignore_errors=True)
        subprocess.run(["debootstrap", "--variant=minbase", suite, root.with_suffix(".part")], check=True)
        part = root.with_suffix(".part")
        subprocess.run(["chroot", part, "apt-get", "clean"], check=True)
        (part / "etc" / "apt" / "apt.conf.d" / "docker-clean").write_text(KEEP_NO_PACKAGES)
        part.rename(root)
    return root


def _mount_points(root: Path, paths: list[Path]) -> Iterator[Path]:
    """Make what the mounts need and the image has not; yields what was made, outermost first."""
    for path in paths:
        for part in (*reversed(path.parents[:-1]), path):
            here = root / part.relative_to("/")
            if not here.exists():
                here.mkdir() if part.is_dir() else here.touch()
                yield here


def main() -> None:
    """Build the stage that is named, or the last one."""
    parser = argparse.ArgumentParser(prog="python -m tools.image", description=__doc__.splitlines()[0])
    parser.add_argument("target", nargs="?", default="truegrade", choices=stages(DOCKERFILE.read_text()))
    parser.add_argument("--bind", action="append", default=[], type=Path, metavar="PATH")
    given = parser.parse_args()
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        sys.exit("this needs root, and Debian's debootstrap: apt-get install debootstrap")
    image = Builder(DOCKERFILE.read_text(), given.bind).build(given.target)
    described = {name: value for name, value in asdict(image).items() if name != "root"}
    (image.root.parent / "image.json").write_text(json.dumps(described, indent=2) + "\n")
    size = subprocess.run(
        ["du", "--summarize", "--block-size=M", image.root], capture_output=True, text=True, check=True
    )
    print(f"{image.root}: {size.stdout.split()[0]}")


if __name__ == "__main__":
    main()
