"""What a release is made of agrees with itself: version, changelog, citation, workflows, image, extras."""

import io
import re
import shlex
import subprocess
import tarfile
import tomllib
import zipfile
from fnmatch import fnmatch
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
import yaml
from packaging.specifiers import SpecifierSet

import truegrade
from tools import check_dist
from tools.changelog import disagreement, sections
from tools.try_extras import HEAVY, USES, Tried, line
from truegrade.files.extras import EXTRAS

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text()


# ------------------------------------------------------------------------------- version and changelog


def test_the_changelog_agrees_with_the_version():
    assert disagreement((ROOT / "CHANGELOG.md").read_text(), truegrade.__version__) is None


RELEASED = (
    "# Changelog\n\n## 0.2.0 (2026-12-01)\n\nNew.\n\n### Added\n\n- This.\n\n## 0.1.0 (2026-11-23)\n\nFirst.\n"
)


def test_a_release_has_the_section_of_its_tag():
    assert disagreement(RELEASED, "0.2.0", "v0.2.0") is None
    assert sections(RELEASED) == {"0.2.0": "New.\n\n### Added\n\n- This.", "0.1.0": "First."}


@pytest.mark.parametrize(
    ("changelog", "version", "tag", "why"),
    [
        (RELEASED, "0.1.0", None, "version 0.1.0, newest section 0.2.0"),
        (RELEASED, "0.2.0", "v0.2.1", "tag v0.2.1, version 0.2.0"),
        (RELEASED, "0.1.0", "v0.1.0", "tag v0.1.0, newest section 0.2.0"),
        ("## Unreleased\n\n" + RELEASED, "0.2.0", "v0.2.0", "newest section Unreleased"),
        (RELEASED + "\n## Unreleased\n", "0.2.0", None, "must stand once, and first"),
        ("# Changelog\n", "0.2.0", None, "no section"),
    ],
)
def test_what_does_not_agree_is_said(changelog, version, tag, why):
    assert why in disagreement(changelog, version, tag)


def test_the_citation_is_of_this_version_and_of_this_package():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= cited.keys(), "what the format requires"
    assert (cited["cff-version"], cited["type"]) == ("1.2.0", "software")
    assert cited["version"] == truegrade.__version__
    assert cited["license"] == PROJECT["license"]
    assert cited["repository-code"] == PROJECT["urls"]["Source"]
    assert cited["authors"] == PROJECT["authors"]
    assert cited["keywords"] == PROJECT["keywords"]


# ------------------------------------------------------------------------------------ wheel and sdist


def archives(folder, wheel_files, sdist_files):
    stem = f"truegrade-{truegrade.__version__}"
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as archive:
        for name, content in wheel_files.items():
            archive.writestr(name, content)
    with tarfile.open(folder / f"{stem}.tar.gz", "w:gz") as tar:
        for name, content in sdist_files.items():
            info = tarfile.TarInfo(f"{stem}/{name}")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return check_dist.faults(folder)


def test_what_a_wheel_lacks_or_should_not_hold_is_found(tmp_path):
    info = f"truegrade-{truegrade.__version__}.dist-info"
    wheel = dict.fromkeys(check_dist.package_files(), b"") | {
        "tests/test_it.py": b"",
        "truegrade/where.py": f"{ROOT}/src/truegrade".encode(),
        f"{info}/METADATA": b"Metadata-Version: 2.4\nName: truegrade\nVersion: 9\nLicense-Expression: MIT\n",
    }
    del wheel["truegrade/py.typed"]
    found = "\n".join(archives(tmp_path, wheel, {"PKG-INFO": b""}))
    assert "wheel: truegrade/py.typed is missing" in found
    assert f"wheel: {info}/licenses/LICENSE is missing" in found
    assert "wheel: tests/test_it.py should not be there" in found
    assert "wheel: truegrade/where.py names the folder" in found
    assert "wheel: metadata: license_expression is 'MIT'" in found
    assert "wheel: metadata: version is <Version('9')>" in found
    assert "sdist: metadata: 'name' is a required field" in found
    assert re.search("sdist: .*/tests/conftest.py is missing", found)


def test_the_sdist_names_everything_that_it_must_hold():
    included = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["sdist"]
    folders = {*included["include"], "pyproject.toml"}
    assert {Path(name).parts[0] for name in check_dist.MUST_HOLD} <= folders
    assert all((ROOT / name).exists() for name in (*folders, *check_dist.MUST_HOLD))


def test_every_extra_is_tried_and_known_to_doctor():
    extras = set(PROJECT["optional-dependencies"])
    assert set(USES) == extras | {""}
    assert set(HEAVY) <= extras
    assert set(EXTRAS) == extras - {"train"}, "train/ is no part of the wheel"


def test_a_row_of_the_table_of_extras():
    tried = Tried(extra="png", mb=14.25, packages=9, import_s=0.0123, help_s=0.07, doctor=0, use="ok")
    assert line(tried, 10.0) == "| png | 4.2 | 9 | 0.012 | 0.07 | 0 | ok |"
    assert line(Tried(extra="local", use="not tried")) == "| local | | | | | | not tried |"


# ------------------------------------------------------------------------------------------ workflows


def steps(path):
    return [step for job in yaml.safe_load(path.read_text())["jobs"].values() for step in job["steps"]]


def targets():
    return set(re.findall(r"^([a-z0-9-]+):", MAKEFILE, re.MULTILINE))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_pins_its_actions_and_runs_what_there_is(path):
    for step in steps(path):
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+\.\d+\.\d+", step["uses"]), "a full version tag"
        for target in re.findall(r"\bmake ([a-z-]+)", step.get("run", "")):
            assert target in targets()
        for module in re.findall(r"-m (tools\.\w+)", step.get("run", "")):
            assert (ROOT / (module.replace(".", "/") + ".py")).is_file()
        for folder in re.findall(r"tests/\w+", step.get("run", "")):
            assert (ROOT / folder).is_dir()
    for job in yaml.safe_load(path.read_text())["jobs"].values():
        for step in job["steps"]:
            assert "|" not in step.get("run", ""), "the shell of a step has no pipefail: a failure would be lost"
        assert job["runs-on"] == "ubuntu-24.04", "a version, so that the machine does not change by itself"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_does_what_ci_does_by_running_it(path):
    assert [step["run"] for step in steps(path) if ".ci/run" in step.get("run", "")] == [".ci/run"]
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111
    for asked in re.findall(r"\bmake ([a-z -]+)", (ROOT / ".ci" / "run").read_text()):
        assert set(asked.split()) <= set(targets())


def test_the_workflows_know_every_python_that_the_package_names():
    named = {text.rpartition(" ")[2] for text in PROJECT["classifiers"] if ":: 3." in text}
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]
    matrix = jobs["newer-python"]["strategy"]["matrix"]["python"]
    alone = [
        step["with"]["python-version"]
        for step in jobs["everything"]["steps"]
        if "python-version" in step.get("with", ())
    ]
    assert {*matrix, *alone} == named
    assert PROJECT["requires-python"] == f">={alone[0]}"


def pinned(name):
    """Names and versions in a file of pinned requirements."""
    return dict(
        re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / "requirements" / f"{name}.txt").read_text(), re.MULTILINE)
    )


@pytest.mark.parametrize("name", ["core", "build", "serve", "dev"])
def test_the_first_release_of_the_oldest_python_can_install_what_is_pinned(name):
    """`make locks-check` asks the index the same of every Python; this asks what is installed here."""
    first = f"{PROJECT['requires-python'].removeprefix('>=')}.0"
    refused = []
    for package, version in pinned(name).items():
        try:
            found = distribution(package)
        except PackageNotFoundError:  # of another platform
            continue
        if found.version == version and not SpecifierSet(found.metadata.get("Requires-Python") or "").contains(
            first
        ):
            refused.append(f"{package} {version}")
    assert not refused, f"not for Python {first}"


def test_the_tools_of_the_site_are_not_those_of_the_tests():
    assert set(pinned("docs")) - set(pinned("dev")) >= {"zensical", "pymdown-extensions"}


def test_every_file_with_hashes_is_checked_for_every_python():
    files = {path.stem for path in (ROOT / "requirements").glob("*.txt") if "--hash" in path.read_text()}
    (checked,) = re.findall(r"for name in (.*); do", (ROOT / "requirements" / "check.sh").read_text())
    assert set(checked.split()) == files
    assert "make locks-check" in (ROOT / ".ci" / "run").read_text()


def test_a_release_is_published_without_a_stored_token_and_only_once_it_was_checked():
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())["jobs"]
    assert jobs["publish"]["needs"] == "build"
    assert jobs["announce"]["needs"] == "publish"
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert not any("with" in step and "password" in step["with"] for step in jobs["publish"]["steps"])


def test_make_takes_paths_of_tests():
    asked = [
        "make",
        "--dry-run",
        "--assume-old=.venv/.ready-dev",
        "VENV=.venv",
        "test",
        "TESTS=tests/report tests/cli",
    ]
    said = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert any(line.endswith("tests/report tests/cli") for line in said.splitlines()), said


def test_contributing_names_the_tests_of_every_package():
    table = (ROOT / "CONTRIBUTING.md").read_text()
    packages = {path.parent.name for path in (ROOT / "src" / "truegrade").glob("*/__init__.py")}
    assert packages <= set(re.findall(r"`(\w+)/`", table))
    for folder in re.findall(r"`(tests/[\w/.]+)`", table):
        assert (ROOT / folder).exists(), folder


# --------------------------------------------------------------------------------------------- image


def dockerfile():
    joined = (ROOT / "deploy" / "Dockerfile").read_text().replace("\\\n", " ")
    return [
        (word, rest) for word, _, rest in (text.partition(" ") for text in joined.splitlines()) if word.isupper()
    ]


def test_what_the_image_copies_is_there_and_not_ignored():
    kept = [text[1:] for text in (ROOT / ".dockerignore").read_text().splitlines() if text.startswith("!")]
    copied = [rest.split()[:-1] for word, rest in dockerfile() if word == "COPY" and "--from" not in rest]
    sources = [source for each in copied for source in each]
    assert sources
    for source in sources:
        assert (ROOT / source).exists(), source
        assert any(fnmatch(source, pattern) for pattern in kept), f"{source} is left out by .dockerignore"


def test_the_image_installs_the_locked_requirements_as_the_makefile_does_and_runs_as_a_user():
    runs = " ".join(rest for word, rest in dockerfile() if word == "RUN")
    for name in ("core", "build", "data", "serve"):
        assert re.search(rf"--require-hashes [^&]*requirements/{name}\.txt", runs)
        assert name == "serve" or re.search(rf"--require-hashes .*requirements/{name}\.txt", MAKEFILE)
    assert "install -y --no-install-recommends bubblewrap" in runs
    words = dict(dockerfile())
    assert words["USER"] == "1000:1000", "a number, by which Kubernetes knows that it is not root"
    assert shlex.split(words["ENTRYPOINT"].strip("[]")) == list(PROJECT["scripts"])
