"""The filters of system calls, run in a small emulator for both architectures, and compared with the headers."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from truegrade.sandbox import confine
from truegrade.sandbox.seccomp import (
    AARCH64,
    ALLOW,
    AND,
    ARCH,
    IF_ANY_BIT,
    IF_AT_LEAST,
    IF_EQUAL,
    INVALID,
    KILL,
    LOAD,
    METADATA,
    NUMBER,
    PRETEND,
    REFUSE,
    RETURN,
    UNKNOWN,
    UNSUPPORTED,
    X86_64,
    advice,
    checked,
    free,
    jail_filter,
    sample_filter,
    unsupported,
)

ARCHES = [X86_64, AARCH64]


def decide(code, arch, call, *args):
    """What the kernel would do: the constants' values, as ``linux/bpf_common.h`` defines the instructions."""
    words = {NUMBER: call, ARCH: arch}
    for index, value in enumerate((*args, 0, 0, 0, 0, 0, 0)[:6]):
        words[16 + 8 * index] = value & 0xFFFFFFFF
        words[20 + 8 * index] = value >> 32 & 0xFFFFFFFF
    at = held = 0
    while True:
        kind, yes, no, operand = code[at]
        at += 1
        if kind == RETURN:
            return operand
        if kind == LOAD:
            held = words[operand]
        elif kind == AND:
            held &= operand
        else:
            tests = {IF_EQUAL: held == operand, IF_ANY_BIT: bool(held & operand), IF_AT_LEAST: held >= operand}
            at += yes if tests[kind] else no


@pytest.fixture(params=ARCHES, ids=["x86-64", "aarch64"])
def arch(request):
    return request.param


@pytest.fixture
def jail(arch):
    code, number = jail_filter(arch), free(arch) | checked(arch)
    return lambda name, *args: decide(code, arch, number[name] if isinstance(name, str) else name, *args)


def test_everything_on_the_list_is_allowed_and_nothing_else(arch, jail):
    known = set(free(arch).values())
    assert all(jail(number) == ALLOW for number in known)
    others = set(range(600)) - known - set(checked(arch).values())
    without, done = set(unsupported(arch).values()), set(advice(arch).values())
    assert {jail(number) for number in without} == {UNSUPPORTED}
    assert {jail(number) for number in done} == {PRETEND}
    assert {jail(number) for number in others - without - done} == {REFUSE, UNKNOWN}
    assert jail(435) == UNKNOWN  # clone3: the C library then calls clone, whose flags can be read
    assert jail(425) == UNKNOWN  # io_uring_setup


def test_other_architectures_end_the_process(arch):
    code = jail_filter(arch)
    assert decide(code, ARCHES[ARCHES[0] == arch], 0) == KILL
    assert decide(code, 0x40000003, 20) == KILL  # 32-bit x86
    if arch == X86_64:
        assert decide(code, arch, 0x40000000 | 1) == KILL  # x32


@pytest.mark.parametrize(
    ("name", "args", "verdict"),
    [
        ("clone", (0x3D0F00,), ALLOW),  # a thread
        ("clone", (0x10000000 | 17,), REFUSE),  # a user namespace
        ("clone", (0x00020000,), REFUSE),  # a mount namespace
        ("fcntl", (3, 1), ALLOW),
        ("fcntl", (3, 1030), ALLOW),  # F_DUPFD_CLOEXEC
        ("fcntl", (3, 37), ALLOW),  # F_OFD_SETLK
        ("fcntl", (3, 8, 1), REFUSE),  # F_SETOWN
        ("fcntl", (3, 10, 9), REFUSE),  # F_SETSIG
        ("fcntl", (3, 15), REFUSE),  # F_SETOWN_EX
        ("fcntl", (3, 1024, 1), REFUSE),  # F_SETLEASE
        ("fcntl", (3, 1026, 1), REFUSE),  # F_NOTIFY
        ("fcntl", (3, 1031, 1 << 20), REFUSE),  # F_SETPIPE_SZ
        ("fcntl", (3, 1033, 15), REFUSE),  # F_ADD_SEALS
        ("fcntl", (3, 1036), REFUSE),  # F_SET_RW_HINT
        ("madvise", (0, 4096, 4), ALLOW),  # MADV_DONTNEED
        ("madvise", (0, 4096, 20), INVALID),  # MADV_COLD
        ("madvise", (0, 4096, 21), INVALID),  # MADV_PAGEOUT
        ("preadv2", (3, 0, 1, 0, 0, 2), ALLOW),  # RWF_DSYNC
        ("preadv2", (3, 0, 1, 0, 0, 8), UNSUPPORTED),  # RWF_NOWAIT
        ("pwritev2", (3, 0, 1, 0, 0, 0x80), UNSUPPORTED),  # RWF_DONTCACHE
        ("recvfrom", (3, 99, 1, 0x42), ALLOW),  # MSG_PEEK, MSG_DONTWAIT
        ("recvfrom", (3, 99, 1, 1), UNSUPPORTED),  # MSG_OOB
        ("recvmsg", (3, 99, 0x40000000), ALLOW),  # MSG_CMSG_CLOEXEC
        ("recvmsg", (3, 99, 0x40000001), UNSUPPORTED),
        ("sendmsg", (3, 99, 0x4000), ALLOW),  # MSG_NOSIGNAL
        ("sendmsg", (3, 99, 1), UNSUPPORTED),
        ("sendto", (3, 99, 1, 1, 0, 0), UNSUPPORTED),
        ("ioctl", (0, 0x5401), ALLOW),
        ("ioctl", (0, 0x5412), REFUSE),  # TIOCSTI
        ("prctl", (15,), ALLOW),
        ("prctl", (8,), REFUSE),  # PR_SET_KEEPCAPS
        ("prlimit64", (0, 7), ALLOW),
        ("prlimit64", (1, 7), REFUSE),
        ("sched_setaffinity", (1,), REFUSE),
        ("setpriority", (0, 0, 5), ALLOW),
        ("setpriority", (2, 0, 5), REFUSE),
        ("setpriority", (0, 1, 5), REFUSE),
        ("socketpair", (1, 1 | 0o2000000), ALLOW),
        ("socketpair", (1, 2), REFUSE),  # datagrams
        ("socketpair", (2, 1), REFUSE),
        ("sendto", (3, 99, 1, 0, 0, 0), ALLOW),
        ("sendto", (3, 99, 1, 0, 99, 16), REFUSE),
        ("sendto", (3, 99, 1, 0, 1 << 40, 16), REFUSE),
        ("execveat", (), REFUSE),
    ],
)
def test_calls_that_depend_on_their_arguments(jail, name, args, verdict):
    assert jail(name, *args) == verdict


def test_a_sample_starts_threads_and_signals_itself_only(arch):
    number = free(arch) | checked(arch)
    alone, crowd = (sample_filter(arch, 42, processes=processes) for processes in (False, True))
    for name in ("kill", "tgkill"):
        for code in (alone, crowd):
            assert [decide(code, arch, number[name], pid & (1 << 64) - 1) for pid in (42, 1, -1, 0, -42)] == [
                ALLOW,
                *[REFUSE] * 4,
            ]
    assert decide(alone, arch, number["clone"], 0x3D0F00) == ALLOW
    for name in ("clone", "fork", "vfork", "execve", "execveat"):
        if name in number:
            assert decide(alone, arch, number[name], 17) == REFUSE
            assert decide(crowd, arch, number[name], 17) == ALLOW


def test_modes_and_times_stay_where_the_program_owns_other_files(arch):
    number = free(arch)
    alone, among = (sample_filter(arch, 42, processes=False, alone=alone) for alone in (True, False))
    changes = [number[name] for name in METADATA if name in number]
    assert changes
    assert {decide(alone, arch, call) for call in changes} == {ALLOW}
    assert {decide(among, arch, call) for call in changes} == {PRETEND}
    assert decide(among, arch, number["openat"]) == ALLOW


READ, WRITE, BOTH, NEITHER, CREATE, CUT = 0, 1, 2, 3, 0o100, 0o1000


def test_a_file_is_cut_off_by_those_who_may_write_to_it_only(arch):
    number, code, covered = free(arch), jail_filter(arch, truncation=False), jail_filter(arch)
    assert decide(code, arch, number["truncate"]) == REFUSE
    assert decide(covered, arch, number["truncate"]) == ALLOW
    for name, before in (("open", (0,)), ("openat", (0, 0))):
        for flags in (READ, WRITE, BOTH, WRITE | CREATE | CUT, BOTH | CUT, READ | CUT, NEITHER | CUT):
            refused = flags in {READ | CUT, NEITHER | CUT}
            if name in number:
                assert decide(code, arch, number[name], *before, flags) == (REFUSE if refused else ALLOW)
                assert decide(covered, arch, number[name], *before, flags) == ALLOW


UNDER_LANDLOCK_2 = """
import os, sys
from truegrade.sandbox import confine
from truegrade.sandbox.confine import MACHINES, Filter, _prctl, jail_filter
confine.version = lambda: 2
_prctl(38, 1)
confine.restrict_files(["/"], ["."], execute=False)
if sys.argv[1] == "filtered":
    Filter(jail_filter(MACHINES[os.uname().machine], truncation=False)).install()
for number, cut in enumerate((
    lambda path: os.truncate(path, 0),
    lambda path: os.open(path, os.O_RDONLY | os.O_TRUNC),
    lambda path: os.open(path, os.O_ACCMODE | os.O_TRUNC),
)):
    try:
        cut(f"{sys.argv[2]}/{number}")
        print("cut")
    except PermissionError:
        print("kept")
open("mine", "w").write("x")
open("mine", "w").close()
print(os.path.getsize("mine"))
"""


@pytest.mark.skipif(confine.version() == 0, reason="the kernel offers no Landlock")
@pytest.mark.parametrize(("how", "said"), [("filtered", "kept"), ("bare", "cut")])
def test_files_are_not_emptied_where_landlock_does_not_see_it(tmp_path, how, said):
    (tmp_path / "own").mkdir()
    for number in range(3):
        (tmp_path / str(number)).write_text("content")
    command = [sys.executable, "-c", UNDER_LANDLOCK_2, how, str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path / "own", capture_output=True, text=True)
    assert done.stdout.split() == [said] * 3 + ["0"], done.stderr


@pytest.mark.parametrize(
    ("arch", "header", "pattern"),
    [
        (X86_64, "/usr/include/x86_64-linux-gnu/asm/unistd_64.h", r"#define __NR_(\w+)\s+(\d+)"),
        (AARCH64, "/usr/include/asm-generic/unistd.h", r"#define __NR(?:3264)?_(\w+)\s+(\d+)"),
    ],
    ids=["x86-64", "aarch64"],
)
def test_the_numbers_are_those_of_the_headers(arch, header, pattern):
    if not Path(header).exists():
        pytest.skip("the kernel's headers are not installed")
    numbers = {name: int(value) for name, value in re.findall(pattern, Path(header).read_text())}
    if arch == AARCH64:
        numbers["newfstatat"] = numbers.pop("fstatat", numbers.get("newfstatat"))
    table = free(arch) | checked(arch) | unsupported(arch) | advice(arch)
    assert {name: numbers.get(name) for name in table} == table
    dangerous = {"ptrace", "mount", "unshare", "setns", "bpf", "keyctl", "io_uring_setup", "process_vm_readv"}
    dangerous |= {
        "memfd_create",
        "socket",
        "connect",
        "bind",
        "shmget",
        "mq_open",
        "userfaultfd",
        "pidfd_getfd",
        "mincore",
    }
    assert dangerous.isdisjoint(table)
