"""A 32-bit program, whose calls have other numbers, ends at its first one: the kernel tells the filter so."""

import platform
import signal
import struct
import subprocess
import sys

import pytest

from truegrade.sandbox.seccomp import MACHINES

EXIT = 42
PROGRAMS = {
    # mov eax, 1 (exit); mov ebx, 42; int 0x80
    "x86_64": (3, 0, bytes.fromhex("b801000000 bb2a000000 cd80")),
    # mov r7, #1 (exit); mov r0, #42; svc #0
    "aarch64": (40, 0x05000000, bytes.fromhex("0170a0e3 2a00a0e3 000000ef")),
}
"""Number of the machine, flags and code, as ELF has them."""
CONFINED = """
import ctypes, os, sys
from truegrade.sandbox.seccomp import Filter, jail_filter
from truegrade.sandbox.seccomp import MACHINES
assert ctypes.CDLL(None).prctl(38, 1, 0, 0, 0) == 0
Filter(jail_filter(MACHINES[os.uname().machine])).install()
os.execv(sys.argv[1], sys.argv[1:])
"""


def elf(machine, flags, code):
    """A file with one segment, from its first byte to its last."""
    base, header, segment = 0x10000, 52, 32
    size = header + segment + len(code)
    identity = b"\x7fELF\1\1\1".ljust(16, b"\0")
    numbers = (2, machine, 1, base + header + segment, header, 0, flags, header, segment, 1, 0, 0, 0)
    return (
        identity
        + struct.pack("<HHIIIIIHHHHHH", *numbers)
        + struct.pack("<8I", 1, 0, base, base, size, size, 5, 0x1000)
        + code
    )


@pytest.fixture
def small_program(tmp_path):
    if platform.machine() not in PROGRAMS:
        pytest.skip("there is no filter for this machine")
    path = tmp_path / "small"
    path.write_bytes(elf(*PROGRAMS[platform.machine()]))
    path.chmod(0o755)
    try:
        code = subprocess.run([path]).returncode
    except OSError as error:
        pytest.skip(f"this kernel runs no 32-bit programs: {error}")
    assert code == EXIT
    return path


def test_a_32_bit_program_is_killed_at_its_first_call(small_program):
    done = subprocess.run([sys.executable, "-c", CONFINED, small_program], capture_output=True)
    assert done.returncode == -signal.SIGSYS, done


def test_there_is_a_program_for_every_filter():
    assert set(PROGRAMS) == set(MACHINES)
