"""The filters of system calls, run in a small emulator for both architectures, and compared with the headers."""

import re
from pathlib import Path

import pytest

from truegrade.sandbox.seccomp import (
    ALLOW,
    AND,
    ARCH,
    IF_ANY_BIT,
    IF_AT_LEAST,
    IF_EQUAL,
    KILL,
    LOAD,
    NUMBER,
    REFUSE,
    RETURN,
    UNKNOWN,
    UNSUPPORTED,
    jail_filter,
    sample_filter,
)
from truegrade.sandbox.syscalls import AARCH64, X86_64, checked, free, unsupported

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
    without = set(unsupported(arch).values())
    assert {jail(number) for number in without} == {UNSUPPORTED}
    assert {jail(number) for number in others - without} == {REFUSE, UNKNOWN}
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
        ("fcntl", (3, 8, 1), REFUSE),  # F_SETOWN
        ("fcntl", (3, 10, 9), REFUSE),  # F_SETSIG
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
    table = free(arch) | checked(arch) | unsupported(arch)
    assert {name: numbers.get(name) for name in table} == table
    dangerous = {"ptrace", "mount", "unshare", "setns", "bpf", "keyctl", "io_uring_setup", "process_vm_readv"}
    dangerous |= {"memfd_create", "socket", "connect", "bind", "shmget", "mq_open", "userfaultfd", "pidfd_getfd"}
    assert dangerous.isdisjoint(table)
