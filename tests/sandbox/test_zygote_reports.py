"""What a zygote reports of the processes that it forked."""

import pytest

from truegrade.sandbox import Limits, Sandbox


@pytest.mark.parametrize("processes", [0, 4])
def test_each_run_is_charged_its_own_time(processes):
    busy = "import time\nend = time.process_time() + 0.1\nwhile time.process_time() < end: pass"
    with Sandbox(Limits(cpu_s=5, processes=processes), workers=1, allow_unsafe=True) as sandbox:
        used = [sandbox.inside(source).cpu_s for source in (busy, "", busy, "")]
    assert [seconds >= 0.095 for seconds in used] == [True, False, True, False]


def test_what_a_program_started_is_charged_to_it():
    source = "import os, time\nif os.fork() == 0:\n    end = time.process_time() + 0.1\n"
    source += "    while time.process_time() < end: pass\n    os._exit(0)\n"
    with Sandbox(Limits(cpu_s=5, processes=4), workers=1, allow_unsafe=True) as sandbox:
        used = [sandbox.inside(source + "os.wait()").cpu_s, sandbox.inside("").cpu_s]
    assert [seconds >= 0.095 for seconds in used] == [True, False]


def test_details_hold_no_address():
    program = "class C: pass\ndef f(): raise KeyError(C(), [C()], '0x12')"
    with Sandbox(Limits(cpu_s=5), workers=1, allow_unsafe=True) as sandbox:
        errors = []
        sandbox.call(program, "f", [()], lambda _, result: errors.append(result.error) or True)
        judged = sandbox.judge(program, "f()", ["f"]).detail
    assert errors == ["KeyError: (<truegrade_candidate.C object>, [<truegrade_candidate.C object>], '0x12')"]
    assert "object at" not in judged
