"""What a release must hold: ``python -m tools.check_dist [dist]``, for a folder with one wheel and one sdist."""

from __future__ import annotations

import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from packaging.metadata import Metadata
from packaging.utils import parse_sdist_filename, parse_wheel_filename

import truegrade

ROOT = Path(__file__).resolve().parents[1]
MUST_HOLD = ("LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "Makefile",
             "pyproject.toml", "deploy/Dockerfile", "docs/index.md", "notebooks/execution_reasoning.ipynb",
             "requirements/core.txt", "tests/conftest.py", "tools/check_dist.py")  # fmt: skip
"""Of the sdist, besides the package."""
OF_PACKAGE = ("truegrade/py.typed", "truegrade/models/micro/weights/truegrade-micro/model.safetensors")
"""Files of the package that nothing else misses at once."""


def package_files() -> set[str]:
    """Files of the package, weights and texts included, as ``truegrade/…``."""
    source = ROOT / "src"
    return {
        path.relative_to(source).as_posix()
        for path in (source / "truegrade").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def faults_of_wheel(files: Mapping[str, bytes], info: str) -> Iterator[str]:
    """What is wrong with a wheel.

    Args:
        files: contents by name.
        info: the folder of its metadata, ``truegrade-1.2.3.dist-info``.
    """
    wanted = (
        package_files()
        | {*OF_PACKAGE}
        | {f"{info}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt")}
    )
    wanted.add(f"{info}/licenses/LICENSE")
    yield from (f"{name} is missing" for name in sorted(wanted - set(files)))
    yield from (f"{name} should not be there" for name in sorted(set(files) - wanted))
    yield from faults_of_metadata(files.get(f"{info}/METADATA", b""))


def faults_of_metadata(content: bytes) -> Iterator[str]:
    """What an index would refuse, and where the metadata disagree with ``pyproject.toml``."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    try:
        metadata = Metadata.from_email(content)
    except ExceptionGroup as group:
        yield from (f"metadata: {error}" for error in group.exceptions)
        return
    expected = {
        "name": project["name"],
        "summary": project["description"],
        "license_expression": project["license"],
        "license_files": project["license-files"],
        "requires_python": project["requires-python"],
        "provides_extra": sorted(project["optional-dependencies"]),
        "description": (ROOT / project["readme"]).read_text(),
        "description_content_type": "text/markdown",
        "version": truegrade.__version__,
    }
    for field, value in expected.items():
        found = getattr(metadata, field)
        found = sorted(found or ()) if field == "provides_extra" else found
        if found != value and str(found) != value:
            yield f"metadata: {field} is {found!r:.80}"


def faults_of_sdist(files: Mapping[str, bytes], root: str) -> Iterator[str]:
    """What is wrong with an sdist whose files lie in the folder ``root``."""
    wanted = {f"{root}/{name}" for name in (*MUST_HOLD, "PKG-INFO")}
    wanted |= {f"{root}/src/{name}" for name in package_files()}
    yield from (f"{name} is missing" for name in sorted(wanted - set(files)))
    yield from faults_of_metadata(files.get(f"{root}/PKG-INFO", b""))


def faults_of_any(files: Mapping[str, bytes]) -> Iterator[str]:
    """Names that lead elsewhere, remains of a build, and texts that name the folder it was built in."""
    home = f"{ROOT}/src/".encode()
    for name, content in files.items():
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or "__pycache__" in path.parts:
            yield f"{name} should not be there"
        if home in content:
            yield f"{name} names the folder {ROOT}"


def faults(folder: Path) -> list[str]:
    """What is wrong with the wheel and the sdist in a folder, a line each."""
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    version = parse_wheel_filename(wheel.name)[1]
    found = [] if version == parse_sdist_filename(sdist.name)[1] else ["wheel and sdist are of two versions"]
    with zipfile.ZipFile(wheel) as archive:
        packed = {name: archive.read(name) for name in archive.namelist()}
    with tarfile.open(sdist) as tar:
        unpacked = {it.name: opened.read() for it in tar if (opened := tar.extractfile(it)) is not None}
    stem = f"truegrade-{version}"
    of_wheel = (*faults_of_wheel(packed, f"{stem}.dist-info"), *faults_of_any(packed))
    of_sdist = (*faults_of_sdist(unpacked, stem), *faults_of_any(unpacked))
    return [*found, *(f"wheel: {it}" for it in of_wheel), *(f"sdist: {it}" for it in of_sdist)]


def main() -> None:
    """Print what is wrong; exit code 1 if anything is."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "dist")
    found = faults(folder)
    print("\n".join(found) or f"{folder}: wheel and sdist of {truegrade.__version__} hold what they must")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
