"""What public code rewards pay for: `truegrade assay` with each of them as the grader, in the jail.

    python -m bench assay_rewards PEERS_FOLDER [NAME...] [--out FOLDER] [--cheats N] [--workers 2]

PEERS_FOLDER holds a folder ``owner+name`` for each repository of `REWARDS`, a work tree or a git directory (also
one named ``repo`` in it). The sources are copied into FOLDER beside `reward_adapters.py`, which calls them. numpy,
pandas, pytest and requests must be installed. Prints for each reward how many programs of each class it accepts,
the open channels with their cheats, the first line of the assay, the shortest programs paid wrongly,
what is paid for no tests, and the right programs refused.

The channels known to be open were found by reading the sources at the named commits; another one that is open, or
one of these that is not, is named, and exit code 1 says that there was one.
"""

from __future__ import annotations

import argparse
import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

from bench.snapshots import Snapshot
from truegrade.apps.assay import Battery, assay
from truegrade.apps.assay.folder import AssayFolder
from truegrade.apps.assay.measures import AssayResult
from truegrade.apps.assay.records import Dispatch, Probe
from truegrade.apps.assay.reporting import words
from truegrade.apps.assay.targets.opening import open_target
from truegrade.files.json_text import encode
from truegrade.records import ContestTask, FunctionTask, Problem

ADAPTERS = Path(__file__).with_name("reward_adapters.py")
PACKAGES = ("numpy", "pandas", "pytest", "requests")
COMMANDS = {
    "pytest": 'exec python3 -m pytest "$@"',
    "firejail": 'while [ "${1#--}" != "$1" ]; do shift; done; exec timeout 30 "$@"',
}
"""What two rewards start by name: the jail has no commands of packages, and takes the place of firejail, of whose
options the time limit is left."""


@dataclass(frozen=True, kw_only=True)
class Reward:
    """A reward of somebody else, on one form of tests."""

    name: str
    function: str
    """Of `reward_adapters`."""
    repository: str
    commit: str
    sources: tuple[str, ...]
    """Files and folders (ending in a slash) that it needs."""
    tests_as: str
    stdio: bool = False
    expected: frozenset[str] = frozenset()
    """Channels known to be open."""
    empty: str = '{"inputs": [], "outputs": []}'
    """No test at all, as it would be given that."""


X, E, O, P, W, K = (  # noqa: E741 - the letters under which they were published
    "exit-status", "equality", "oracle-read", "comparison", "transport", "switches",
)  # fmt: skip
MUST_FAIL = "must-fail"
"""Not a channel: open-r1 compares as many lines as the shorter output has, and so passes outputs that are wrong
behind the first line. No cheat knows the first line; right programs before tests that no program can pass do."""
_VERL = ("verl-project+verl", "1dda039", ("verl/utils/reward_score/prime_code/",))
_FUSION = ("verl-project+verl", "1dda039", ("verl/utils/reward_score/sandbox_fusion/",))
_RLLM = ("rllm-org+rllm", "9beb6e0", ("rllm/rewards/", "rllm/env.py"))
_SKYRL = ("NovaSky-AI+SkyRL", "a956457", ("skyrl-gym/skyrl_gym/envs/lcb/livecodebench.py",))
_GYM = ("NVIDIA-NeMo+Gym", "07d6b0d", ("resources_servers/code_gen/lcb_integration/",))
_OI = (
    "allenai+open-instruct",
    "e6c3044",
    ("open_instruct/code_utils/", "open_instruct/logger_utils.py", "open_instruct/ground_truth_utils.py"),
)
_R1 = ("huggingface+open-r1", "1416fa0", ("src/open_r1/rewards.py",))
_CODE_R1 = ("ganler+code-r1", "443f8da", ("verl/utils/reward_score/coder1/",))


def _reward(
    name: str, function: str, where: tuple[str, str, tuple[str, ...]], tests_as: str, *expected: str,
    stdio: bool = False, empty: str = Reward.empty,
) -> Reward:  # fmt: skip
    repository, commit, sources = where
    return Reward(name=name, function=function, repository=repository, commit=commit, sources=sources,
                  tests_as=tests_as, stdio=stdio, expected=frozenset(expected), empty=empty)  # fmt: skip


REWARDS: tuple[Reward, ...] = (
    _reward("open-r1", "open_r1", _R1, "stdio", MUST_FAIL, stdio=True),
    _reward("verl-prime", "verl_prime", _VERL, "taco", E, O, P, W),
    _reward("verl-prime-stdio", "verl_prime", _VERL, "stdio", O, P, W, stdio=True),
    _reward("verl-fusion-asserts", "verl_sandbox_fusion", _FUSION, "asserts", X, E, O, empty="[]"),
    _reward("verl-fusion-stdio", "verl_sandbox_fusion", _FUSION, "stdio", stdio=True),
    _reward("skyrl-lcb", "skyrl_lcb", _SKYRL, "lcb", E, O, P, W, empty="[]"),
    _reward("skyrl-lcb-fresh", "skyrl_lcb_fresh", _SKYRL, "lcb", empty="[]"),
    _reward("rllm-lcb", "rllm_lcb", _RLLM, "lcb", E, O, P, W, empty="[]"),
    _reward("gym-code-gen", "gym_code_gen", _GYM, "taco", E, O, P, W),
    _reward("open-instruct-asserts", "open_instruct", _OI, "asserts", E, O, P, W, empty="[]"),
    _reward("open-instruct-stdio", "open_instruct", _OI, "stdio", O, P, W, stdio=True),
    _reward("rllm-kodcode", "rllm_kodcode", _RLLM, "pytest", X, E, O, K, empty="import pytest"),
    _reward("rllm-humanevalplus", "rllm_humanevalplus", _RLLM, "taco", X, E,
            empty='{"inputs": [], "outputs": [], "fn_name": "add"}'),
    _reward("rllm-primeintellect", "rllm_primeintellect", _RLLM, "taco", E, O, W),
    _reward("code-r1-asserts", "code_r1", _CODE_R1, "asserts", X, E, O, empty="[]"),
    _reward("code-r1-stdio", "code_r1", _CODE_R1, "stdio", stdio=True),
)  # fmt: skip
"""In the order of the table. `O` of asserts: the tests stand in the file or frames that the program is in."""

NOT_RUN = {
    "verifiers legacy cp_task": "draws its tests at random and asks a paid sandbox",
    "SandboxFusion antihack": "a text filter of one data set, no reward by itself",
}

_FUNCTIONS = (
    """
def spread(numbers):
    if not numbers:
        return 0
    return max(numbers) - min(numbers)

assert spread([3, 9, 4]) == 6
assert spread([]) == 0
assert spread([5]) == 0
assert spread([-2, 7]) == 9
assert spread([1, 2, 3, 11]) == 10
assert spread([8, 8]) == 0
""",
    """
def squeeze(text):
    kept = ''
    for letter in text:
        if not kept or kept[-1] != letter:
            kept += letter
    return kept

assert squeeze('aabb') == 'ab'
assert squeeze('abc') == 'abc'
assert squeeze('') == ''
assert squeeze('zzz') == 'z'
assert squeeze('xxyx') == 'xyx'
assert squeeze('oo oo') == 'o o'
""",
    """
def running(numbers):
    total, sums = 0, []
    for number in numbers:
        total += number
        sums.append(total)
    return sums

assert running([1, 2, 3]) == [1, 3, 6]
assert running([4]) == [4]
assert running([-1, 1]) == [-1, 0]
assert running([5, 5, 5]) == [5, 10, 15]
assert running([0, 2]) == [0, 2]
assert running([7, -3, 1]) == [7, 4, 5]
""",
    """
def digits(number, base):
    count = 1
    while number >= base:
        number //= base
        count += 1
    return count

assert digits(0, 10) == 1
assert digits(9, 10) == 1
assert digits(10, 10) == 2
assert digits(255, 2) == 8
assert digits(256, 2) == 9
assert digits(81, 3) == 5
""",
)
"""References, each with its tests behind it."""
_PROGRAMS = (
    """
for _ in range(int(input())):
    print(sum(map(int, input().split())))
""",
    """
words = input().split()
print(' '.join(reversed(words)))
print(len(words))
""",
    """
n = int(input())
count = 0
while n != 1:
    n = n // 2 if n % 2 == 0 else 3 * n + 1
    count += 1
print(count)
""",
)
_OUTPUTS = (
    {"2\n1 2\n3 4 5\n": "3\n12\n", "1\n70\n": "70\n", "3\n5 5\n-1 1\n2 9\n": "10\n0\n11\n"},
    {"one two three\n": "three two one\n3\n", "alone\n": "alone\n1\n", "b a b c\n": "c b a b\n4\n"},
    {"6\n": "8\n", "27\n": "111\n", "7\n": "16\n"},
)


def problems(stdio: bool) -> list[Problem]:
    """Problems whose answers are plain values, that every form of tests can hold."""
    tasks: dict[str, FunctionTask | ContestTask] = {}
    for number, (reference, outputs) in enumerate(zip(_PROGRAMS, _OUTPUTS, strict=True) if stdio else ()):
        rows = [{"input": given, "output": wanted, "testtype": "stdin"} for given, wanted in outputs.items()]
        text, title = encode(rows).decode(), f"program-{number}"
        tasks[title] = ContestTask(
            title=title, question=title, public_tests="[]", private_tests=text, reference=reference.lstrip()
        )
    for source in () if stdio else _FUNCTIONS:
        reference, tests = source.lstrip().split("\n\n")
        name = reference[len("def ") : reference.index("(")]
        tasks[name] = FunctionTask(
            prompt=f"Write {name}.", entry_point=name, tests=tests, reference=f"{reference}\n"
        )
    return [
        Problem(id=name, benchmark="rewards", dataset_sha256="0" * 64, cluster=name, task=task)
        for name, task in tasks.items()
    ]


def prepare(peers: Path, rewards: Iterable[Reward], folder: Path) -> dict[str, str]:
    """Copy the adapters and the sources that they need.

    Returns:
        Repository to what it is: its commit, and whether that is the one named.

    Raises:
        OSError: a repository or a file is not there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(ADAPTERS, folder)
    (folder / "commands").mkdir(exist_ok=True)
    for name, line in COMMANDS.items():
        (folder / "commands" / name).write_text(f"#!/bin/sh\n{line}\n")
        (folder / "commands" / name).chmod(0o755)
    versions: dict[str, str] = {}
    for reward in rewards:
        place = peers / reward.repository
        place = place / "repo" if (place / "repo").is_dir() else place
        with _snapshot(place, reward.commit) as snapshot:
            same = not snapshot.commit or snapshot.commit.startswith(reward.commit)
            versions[reward.repository] = (
                f"{snapshot.commit or 'a work tree'}{'' if same else ' (not the one named)'}"
            )
            wanted = [path for path in snapshot.paths if path.startswith(reward.sources)]
            if not wanted:
                raise OSError(f"{place} holds none of {', '.join(reward.sources)}")
            for path in wanted:
                file = folder / "peers" / reward.repository / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(snapshot.read(path) or b"")
    return versions


def _snapshot(place: Path, commit: str) -> Snapshot:
    """The commit that is named, or what the folder has."""
    try:
        return Snapshot(place, commit)
    except OSError:
        return Snapshot(place)


def measure(
    reward: Reward, sources: Path, out: Path, *, cheats: int = 1, classes: Sequence[str] = Battery().classes
) -> AssayResult:
    """Assay one reward.

    Args:
        reward: to be measured.
        sources: what `prepare` made.
        out: folder of the assay.
        cheats: of each problem; every cheat is sent at least once.
        classes: of probes.
    """
    return assay(
        problems=problems(reward.stdio), grader=f"{sources / ADAPTERS.name}:{reward.function}", call="verl",
        tests_as=reward.tests_as, packages=PACKAGES, workers=1, out=out, timeout_s=120.0,
        battery=Battery(classes=tuple(classes), per_problem=4, cheats_per_problem=cheats, inputs=40),
    )[0]  # fmt: skip


def paid_for_nothing(reward: Reward, sources: Path) -> float | None:
    """What it pays a program that computes nothing where there is no test at all; None where it refuses to say."""
    problem = problems(reward.stdio)[0]
    name = getattr(problem.task, "entry_point", "")
    code = f"def {name}(*given):\n    return None\n" if name else "pass\n"
    probe = Probe(id="no-tests", problem_id=problem.id, kind="stub", origin="no tests", code=code, label="wrong")
    target = open_target(
        f"{sources / ADAPTERS.name}:{reward.function}", call="verl", tests_as=reward.tests_as, packages=PACKAGES,
        workers=1, fields={"ground_truth": reward.empty},
    )  # fmt: skip
    try:
        return next(iter(target.grade([Dispatch(probe=probe, problem=problem)]))).score
    finally:
        target.close()


def openers(result: AssayResult) -> dict[str, list[str]]:
    """Open channel to the cheats that opened it."""
    probes = {probe.id: probe for probe in AssayFolder(result.folder).probes()}
    found: dict[str, set[str]] = {}
    for finding in result.findings:
        if finding.code == "channel_open":
            for probe in (probes[one] for one in finding.probes):
                found.setdefault(probe.channel, set()).add(probe.origin)
    return {channel: sorted(names) for channel, names in sorted(found.items())}


def refused(result: AssayResult) -> dict[str, int]:
    """Kind of right program to how many of it the reward refuses."""
    probes = {probe.id: probe for probe in AssayFolder(result.folder).probes()}
    names = [
        probes[one].origin
        for finding in result.findings
        if finding.code in ("right_refused", "reference_refused")
        for one in finding.probes
    ]
    return dict(sorted(Counter(names).items()))


def _told(reward: Reward, result: AssayResult, nothing: float | None) -> tuple[str, bool]:
    """A paragraph of the table, and whether it is as expected."""
    measured = result.summary.measures[0]
    shares = {share.kind: share for share in measured.shares}
    opened = openers(result)

    def rate(kind: str) -> str:
        share = shares.get(kind)  # type: ignore[call-overload]
        return "-" if share is None or not share.probes else f"{share.accepted}/{share.probes}"

    ways = {*opened, *([MUST_FAIL] if MUST_FAIL in shares and shares[MUST_FAIL].accepted else [])}
    surprises = {f"!{name}" for name in ways - reward.expected}
    surprises |= {f"!no {name}" for name in reward.expected - ways}
    lines = [
        f"{reward.name} ({reward.repository}@{reward.commit}, tests as {reward.tests_as})",
        f"  {words.headline(measured)}",
        "  " + "  ".join(f"{kind} {rate(kind)}" for kind in ("right", "mutant", "output", "stub", "must-fail")),
        f"  references refused {measured.references_refused}  paid for no tests {nothing}",
        *(f"  open {channel}: {', '.join(names)}" for channel, names in opened.items()),
        *(f"  stays: {one.channel} ({one.stays})" for one in measured.channels if one.stays),
        *(f"  {words.shortest(one)}" for one in measured.shortest),
        f"  findings {result.summary.findings}",
    ]
    if wrong := refused(result):
        lines.append(f"  right programs refused: {wrong}")
    if surprises:
        lines.append(f"  against what is known: {' '.join(sorted(surprises))}")
    return "\n".join(lines), not surprises


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peers", type=Path)
    parser.add_argument("names", nargs="*", help="rewards to measure; all by default")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--cheats", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    chosen = [reward for reward in REWARDS if not options.names or reward.name in options.names]
    out = options.out or Path(mkdtemp(prefix="rewards-"))
    for repository, version in prepare(options.peers, chosen, out / "sources").items():
        print(f"{repository}: {version}")

    def one(reward: Reward) -> tuple[str, bool]:
        nothing = paid_for_nothing(reward, out / "sources")
        result = measure(reward, out / "sources", out / reward.name, cheats=options.cheats)
        return _told(reward, result, nothing)

    expected = True
    with ThreadPoolExecutor(options.workers) as threads:
        for text, as_known in threads.map(one, chosen):
            print(text, flush=True)
            expected &= as_known
    for name, why in NOT_RUN.items():
        print(f"{name}: not run; {why}")
    return 0 if expected else 1
