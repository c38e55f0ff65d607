"""What a release is made of agrees with itself: version, changelog, citation, workflows, image, extras."""

import re
import shlex
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

import truegrade
from tools import check_dist
from tools.changelog import disagreement
from tools.try_extras import HEAVY, USES
from truegrade.files.extras import EXTRAS

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text()


# ------------------------------------------------------------------------------- version and changelog


def test_the_changelog_agrees_with_the_version():
    assert disagreement((ROOT / "CHANGELOG.md").read_text(), truegrade.__version__) is None


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


def test_a_release_is_published_without_a_stored_token_and_only_once_it_was_checked():
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())["jobs"]
    assert jobs["publish"]["needs"] == "build"
    assert jobs["announce"]["needs"] == "publish"
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert not any("with" in step and "password" in step["with"] for step in jobs["publish"]["steps"])


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
