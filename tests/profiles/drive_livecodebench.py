"""The published LiveCodeBench graders' own code, at the commits that the profiles name.

    python drive_livecodebench.py PEERS
        < {"peer": NAME, "rows": [{"code", "sample"}], "samples": [TEXT], "workers": 1, "timeout": 6}

A row holds a program as ``code``, or a ``completion`` that the harness itself cuts the program out of, and the
number of its sample: inputs, outputs and function as JSON text. The files
of the commit are unpacked beside empty packages, so that nothing else of the harness is imported; of EvalScope
only the logger and a clock are replaced. Each row is graded as the harness grades it, in its own child.
"""

import contextlib
import io
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

OFFICIAL, EVALSCOPE = "LiveCodeBench+LiveCodeBench", "modelscope+evalscope"
MEMORY_BYTES = 8 << 30
_OFFICIAL_FILES = ("lcb_runner/evaluation", "lcb_runner/utils/extraction_utils.py", "lcb_runner/lm_styles.py")
_EVALSCOPE_FILES = ("evalscope/benchmarks/live_code_bench",)
PEERS = {
    "official": (OFFICIAL, "28fef95", _OFFICIAL_FILES),
    "official-2025-01": (OFFICIAL, "b95a71c", _OFFICIAL_FILES),
    "evalscope": (EVALSCOPE, "fde259d2", _EVALSCOPE_FILES),
    # The fork's grading files equal EvalScope's of the same week.
    "evalscope-2025-06": (EVALSCOPE, "a2ecf3e8", _EVALSCOPE_FILES),
    "evalscope-sandbox": (EVALSCOPE, "fde259d2", _EVALSCOPE_FILES),
}
UTILITIES = {
    "logger.py": "import logging\nget_logger = lambda: logging.getLogger('peer')\n",
    "io_utils.py": "from datetime import datetime as current\ncurrent_time = current.now\n",
}


def has_history(repository):
    """Whether it is a clone or a git directory, and no unpacked archive."""
    return (repository / ".git").exists() or (repository / "objects").is_dir()


def unpack(repository, commit, files, into):
    """The commit's files, or those of a work tree without a history, every package empty."""
    if has_history(repository):
        archive = subprocess.run(
            ["git", "archive", commit, *files], cwd=repository, check=True, capture_output=True
        )
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
            tar.extractall(into, filter="data")
    else:
        for name in files:
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            copy = shutil.copytree if (repository / name).is_dir() else shutil.copy
            copy(repository / name, into / name)
    if files is _EVALSCOPE_FILES:
        utilities = into / "evalscope" / "utils"
        utilities.mkdir()
        for name, text in UTILITIES.items():
            (utilities / name).write_text(text)
    for package in (path for path in into.rglob("*") if path.is_dir()):
        (package / "__init__.py").write_text("")


def extracted(peer, row):
    """The program of a row."""
    if "code" in row:
        return row["code"]
    if peer.startswith("official"):
        from lcb_runner.lm_styles import LMStyle
        from lcb_runner.utils.extraction_utils import extract_code

        return extract_code(row["completion"], LMStyle.OpenAIChat)
    from evalscope.benchmarks.live_code_bench.extract_utils import extract_code_generation

    return extract_code_generation(row["completion"])


def grade(job):
    """Results and metadata of one row."""
    peer, row, text, timeout = job
    sample, code = {"input_output": text}, extracted(peer, row)
    if peer == "evalscope-sandbox":
        return {"code": code, **in_sandbox(code, text, timeout)}
    if peer.startswith("official"):
        from lcb_runner.evaluation.compute_code_generation_metrics import evaluate_generations_by_problem as run

        results, metadata = run(([code], sample, False, timeout))
    else:
        from evalscope.benchmarks.live_code_bench.evaluate_utils import evaluate_generations_by_problem as run

        results, metadata = run([code], sample, False, timeout)
    found = [plain(value) for value in results[0]]
    return {"code": code, "results": found, "metadata": metadata[0], "passed": passes(results[0])}


def in_sandbox(code, evaluation_sample, timeout):
    """EvalScope's sandbox path, a fresh interpreter in place of its container."""
    from evalscope.benchmarks.live_code_bench.sandbox_evaluate_utils import evaluate_in_sandbox

    passed, details = evaluate_in_sandbox(Container, code, evaluation_sample, timeout)
    return {"results": [bool(passed)], "metadata": details, "passed": bool(passed)}


class Container:
    """What the adapter offers: the exit code decides, and output is standard output."""

    @staticmethod
    def execute_code_in_sandbox(code, timeout, language):
        with tempfile.NamedTemporaryFile("w", suffix=".py", errors="surrogatepass") as file:
            file.write(code)
            file.flush()
            try:
                done = subprocess.run([sys.executable, file.name], env={"PATH": os.environ["PATH"]},
                                      stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout)  # fmt: skip
            except subprocess.TimeoutExpired:
                return {"status": "error", "output": ""}
        return {
            "status": "success" if done.returncode == 0 else "error",
            "output": done.stdout.decode(errors="replace"),
        }


def passes(results):
    """The harness' own rule; None where it ends the harness' run."""
    import numpy

    try:
        return bool(numpy.all(numpy.array(results) > 0))
    except Exception:
        return None


def plain(value):
    """A result as JSON carries it; what it cannot carry, as Python writes it."""
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)


def main():
    request = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))  # the graders themselves set none
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    answer = os.fdopen(os.dup(1), "w")
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # the programs' own noise, and what they may read of the grader's
        os.dup2(null, stream)
    repository, commit, files = PEERS[request["peer"]]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as into:
        unpack(Path(sys.argv[1]) / repository, commit, files, Path(into))
        sys.path.insert(0, into)
        timeout, samples = request.get("timeout", 6), request["samples"]
        jobs = [(request["peer"], row, samples[row["sample"]], timeout) for row in request["rows"]]
        # EvalScope's reviews run in threads of one process; the official ones in processes.
        pool = ThreadPoolExecutor if request["peer"] in ("evalscope", "evalscope-sandbox") else ProcessPoolExecutor
        with contextlib.chdir(into), pool(request.get("workers", 1)) as workers:
            rows = list(workers.map(grade, jobs))
    answer.write(json.dumps(rows) + "\n")
    answer.flush()
    os._exit(0)  # what a program left running is not waited for


if __name__ == "__main__":
    main()
