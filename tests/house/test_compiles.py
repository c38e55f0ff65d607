"""`make check` refuses what a Python that is here, or a newer one, does not compile."""

import platform

import pytest

from tools import compiles

SURROGATE = '"""A text with \\ud800 is no text."""\n'
REFUSED = {
    "a surrogate in the docstring of a module": (SURROGATE, "lone surrogate"),
    "of a function": (f"class A:\n    def f(self):\n        {SURROGATE}", "lone surrogate"),
    "an invalid escape": ('PATTERN = "\\d"\n', "invalid escape sequence"),
    "no Python": ("def f(:\n", "invalid syntax"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refused(kind, tmp_path, capsys):
    text, told = REFUSED[kind]
    (tmp_path / "own.py").write_text(text)
    with pytest.raises(SystemExit) as ended:
        compiles.main(tmp_path)
    said = capsys.readouterr().out
    assert ended.value.code == 1 and "own.py, line" in said and told in said


def test_accepted(tmp_path, capsys):
    (tmp_path / "own.py").write_text(f'r{SURROGATE}TEXT = "\\ud800"\n')
    with pytest.raises(SystemExit) as ended:
        compiles.main(tmp_path)
    assert ended.value.code == 0 and platform.python_version() in capsys.readouterr().out
