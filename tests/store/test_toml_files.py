"""TOML files of the package: read when they are asked for, and faults told in one line with what to do."""

import subprocess
import sys
from pathlib import Path

import pytest

import truegrade
from truegrade.datasets.download import PinnedFile
from truegrade.errors import BadRecord
from truegrade.files.json_text import TomlTables, read_toml
from truegrade.models.providers import Preset
from truegrade.prompts import PromptEntry

FOLDER = Path(truegrade.__file__).parent
AGAIN = "; the file is truegrade's own: install truegrade again"
BROKEN = {
    "prompts without a source": (
        "prompts/index.toml", PromptEntry, ('source = "ours"\n', ""),
        ", line 11, field 'agentcoder.mbpp.named_task.source': the field is missing",
    ),
    "prompts with a key too many": (
        "prompts/index.toml", PromptEntry, ("placeholders.lg", "placeholder.lg"),
        ", line 6, field 'agentcoder.fix_bug.user.placeholder': no key 'placeholder', did you mean",
    ),
    "a source of data whose numbers are no text": (
        "datasets/sources.toml", PinnedFile, ('id_numbers = "0-163"', "id_numbers = 163"),
        ", line 11, field 'humaneval.id_numbers': Expected `str`, got `int`",
    ),
    "a data set that users bring, told by no text": (
        "datasets/unpinned.toml", str, ('livecodebench = """', 'livecodebench = 1 #'),
        ", line 5: is no TOML: Expected '=' after a key",
    ),
    "a price in words": (
        "models/presets.toml", Preset, ("input_usd = 0.15", 'input_usd = "0.15"'),
        ", line 10, field 'gpt-4o-mini.price.input_usd': Expected `float`, got `str`",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_told_in_one_line(tmp_path, name):
    file, kind, (old, new), said = BROKEN[name]
    text = (FOLDER / file).read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / Path(file).name
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    tables = TomlTables(path, kind)
    with pytest.raises(BadRecord) as raised:
        list(tables)
    assert str(raised.value).startswith(f"{path}{said}") and str(raised.value).endswith(AGAIN)
    assert "\n" not in str(raised.value)


def test_a_missing_file_is_told_when_the_first_table_is_asked_for(tmp_path):
    tables = TomlTables(tmp_path / "none.toml", Preset)
    with pytest.raises(BadRecord, match=f"none.toml: no such file{AGAIN}$"):
        tables["gpt-4o"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[a\n", "x.toml, line 1: is no TOML: Expected ']' at the end of a table declaration; correct it"),
        ("a = " + "[" * 2000, "x.toml: cannot be read: .*; correct it"),
        ("a = " + "1" * 5000, "x.toml: cannot be read: .*; correct it"),
    ],
)
def test_what_no_toml_is_names_the_line_where_there_is_one(tmp_path, text, said):
    path = tmp_path / "x.toml"
    path.write_text(text)
    with pytest.raises(BadRecord, match=said):
        read_toml(path, dict, "correct it")


def test_help_and_listing_names_read_no_toml():
    script = (
        "import sys, pathlib, truegrade.cli, truegrade.prompts, truegrade.profiles, truegrade.models.providers\n"
        "read = pathlib.Path.read_text\n"
        "def refuse(path, *given, **named):\n"
        "    assert path.suffix != '.toml', path\n"
        "    return read(path, *given, **named)\n"
        "pathlib.Path.read_text = refuse\n"
        "try:\n"
        "    truegrade.cli.main(['grade', '--help'])\n"
        "except SystemExit as ended:\n"
        "    assert ended.code == 0\n"
        "assert truegrade.profiles.REGISTRY.names()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
