"""Every kind of thing is found in the same four ways, and refused in the same words."""

import re
from importlib.metadata import EntryPoint

import pytest

from support.extend_page import offered
from truegrade.agents import REGISTRY as AGENTS
from truegrade.apps.evolve.searchers import REGISTRY as SEARCHERS
from truegrade.benchmarks import BENCHMARKS, find_benchmark, list_benchmarks
from truegrade.benchmarks import REGISTRY as BENCHMARK_REGISTRY
from truegrade.errors import BadRecord, UnknownName, UserError
from truegrade.models import open_model
from truegrade.models.providers import REGISTRY as PROVIDERS
from truegrade.profiles import PROFILES, Rule, find_profile
from truegrade.profiles import REGISTRY as PROFILE_REGISTRY
from truegrade.profiles.strict import Strict
from truegrade.registry import Origin
from truegrade.store.exporters import REGISTRY as EXPORTERS
from truegrade.store.importers import REGISTRY as IMPORTERS

EXAMPLES = {
    "benchmark": (BENCHMARK_REGISTRY, "doubling"),
    "profile": (PROFILE_REGISTRY, "fenced"),
    "provider": (PROVIDERS, "parrot"),
    "agent": (AGENTS, "politely"),
    "importer": (IMPORTERS, "csv_answers"),
    "exporter": (EXPORTERS, "verdict_table"),
    "searcher": (SEARCHERS, "sweep"),
}
KINDS = pytest.mark.parametrize("kind", EXAMPLES)


@pytest.fixture
def here(extend_page, tmp_path, monkeypatch):
    """A folder with the page's files, which is on the path."""
    extend_page.write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@KINDS
def test_an_object_a_file_and_a_module(here, kind):
    registry, stem = EXAMPLES[kind]
    file = registry.find(f"{stem}.py")
    assert file.origin.how == "file" and file.origin.place == str(here / f"{stem}.py") and file.origin.sha256
    assert registry.find(f"{stem}.py:{file.origin.name}").value is file.value
    assert registry.find(f"{stem}:{file.origin.name}").origin.how == "module"
    assert registry.find(file.value).origin.how == "object"


@KINDS
def test_a_built_in_name_is_nobody_else_s(here, kind):
    registry, stem = EXAMPLES[kind]
    name = next(iter(registry.built_in))
    offered(here, "taker", f"truegrade.{registry.kind}s", f"{name} = {stem}:NONE")
    assert registry.find(name).origin == Origin(how="built-in", name=name)
    assert [(e.name, e.fault) for e in registry.listed() if e.value is None] == [
        (name, "not used: the name is built in")
    ]


@KINDS
def test_two_packages_with_one_name_are_both_named(here, kind):
    registry, stem = EXAMPLES[kind]
    offered(here, "one", f"truegrade.{registry.kind}s", f"mine = {stem}:X")
    offered(here, "two", f"truegrade.{registry.kind}s", f"mine = {stem}:X")
    message = f"{kind} 'mine' is offered by one 1 and by two 1; uninstall one of them"
    with pytest.raises(UserError, match=message):
        registry.find("mine")


@KINDS
def test_a_package_that_cannot_be_loaded_is_named(here, kind):
    registry, _ = EXAMPLES[kind]
    offered(here, "broken", f"truegrade.{registry.kind}s", "mine = no_such_module:X")
    with pytest.raises(UserError, match=rf"{kind} 'mine' of broken 1 \(no_such_module:X\) cannot be"):
        registry.find("mine")
    assert [each.name for each in registry.listed() if each.value is None] == ["mine"]


@KINDS
@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("x = 1\nraise ValueError('late')\n", r"mine.py, line 2: raised ValueError: late; correct it$"),
        ("def f():\n    return 1 / 0\n\nf()\n", "mine.py, line 2: raised ZeroDivisionError"),
        ("x = 1\ndef", "mine.py, line 2: raised SyntaxError: invalid syntax"),
        ("import sys\nsys.exit(3)\n", "mine.py, line 2: raised SystemExit"),
        ("", r"mine.py: defines no {kind}; define one as {KIND}, or say which attribute is meant: .*mine.py:NAME"),
        ("{KIND} = 3", r"mine.py: {KIND} "),
    ],
)
def test_a_file_that_holds_none(tmp_path, kind, program, message):
    registry, _ = EXAMPLES[kind]
    path = tmp_path / "mine.py"
    path.write_text(program.replace("{KIND}", kind.upper()))
    with pytest.raises(UserError, match=message.replace("{kind}", kind).replace("{KIND}", kind.upper())):
        registry.find(str(path))


@KINDS
def test_a_file_that_holds_several_says_which_to_name(here, kind):
    registry, stem = EXAMPLES[kind]
    name = registry.find(f"{stem}.py").origin.name
    text = (here / f"{stem}.py").read_text().replace(f"{kind.upper()} =", "FIRST =")
    again = "Second = type('Second', (Sweep,), {'__module__': __name__})" if kind == "searcher" else ""
    again = again or f"SECOND = {'FIRST' if kind in ('benchmark', 'provider', 'importer', 'exporter') else name}"
    if "FIRST" in again:
        again = "import copy\nSECOND = copy.copy(FIRST)"
    elif kind in ("profile", "agent"):
        again = f"class Second({name}):\n    pass"
    (here / "both.py").write_text(f"{text}\n{again}\n")
    with pytest.raises(UserError, match=rf"both.py: defines 2 {kind}s, \w+, \w+; say which: both.py:\w+"):
        registry.find("both.py")


@KINDS
def test_unknown_names_offer_the_closest(kind):
    registry, _ = EXAMPLES[kind]
    name = next(iter(registry.built_in))
    with pytest.raises(
        UnknownName, match=rf"no {kind} '{name}x'; did you mean .*`truegrade list {kind}s` lists them"
    ):
        registry.find(f"{name}x")


@KINDS
def test_files_that_are_not_there(tmp_path, kind):
    registry, _ = EXAMPLES[kind]
    with pytest.raises(UserError, match=r"absent.py: no such file"):
        registry.find(str(tmp_path / "absent.py"))
    with pytest.raises(UserError, match=r"cannot be imported: ModuleNotFoundError.*is it installed"):
        registry.find("no_such_module_here:X")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ("    def extract(", "    def extracted("),
            "Fenced has extracted, which nothing calls; did you mean extract?",
        ),
        (
            ("    def judgement(", "    def judgment("),
            "Fenced has judgment, which nothing calls; did you mean judgement?",
        ),
        (('covers = ("function", "description")', "covers = ()"), "Fenced covers nothing; name kinds"),
        (
            ('covers = ("function", "description")', 'covers, ways = ("function",), {"contest": Way()}'),
            "Fenced has a way for contest, which its covers leaves out",
        ),
        (
            ('covers = ("function", "description")', 'ways = {"functions": Way()}'),
            "Fenced covers functions, which is no kind of problem; name kinds",
        ),
        (('"description")', '"mbpp")'), "Fenced covers mbpp, which is no kind of problem; name kinds"),
        (('"fenced", "1"', '"fen/ced", "1"'), "Fenced has the name 'fen/ced'; write letters"),
        (('"fenced", "1"', '"strict", "1"'), "fenced.py: .*which nothing can take over|defines no profile"),
    ],
)
def test_a_profile_says_what_it_lacks(here, change, message):
    source = (here / "fenced.py").read_text().replace(*change)
    (here / "fenced.py").write_text(f"from truegrade.profiles.base import Way\n{source}")
    with pytest.raises(UserError, match=message):
        find_profile("fenced.py")


def test_a_profile_names_its_own_helpers_as_it_likes(here):
    source = (
        (here / "fenced.py")
        .read_text()
        .replace("    def extract(", "    _extract = _judgment = None\n\n    def extract(")
    )
    (here / "fenced.py").write_text(source)
    assert find_profile("fenced.py").name == "fenced"


@pytest.fixture
def described(here, extend_page):
    """The file that the page shows beside ``fenced.py``, which leaves out what the file says."""
    (text,) = re.findall(r"```toml\n(summaries\..*?)```", extend_page.PAGE.read_text(), re.DOTALL)
    (here / "fenced.toml").write_text(text)
    lines = (here / "fenced.py").read_text().splitlines(keepends=True)
    (here / "fenced.py").write_text("".join(line for line in lines if not re.match("    (summary|rules) =", line)))
    return here / "fenced.toml"


def test_a_profile_is_described_by_the_file_beside_it(here, extend_page, described):
    found = find_profile("fenced.py").describe()
    assert found["defects"] == ("a block that shows an example of use is graded where it is the last",)
    assert found["rules"] == (Rule("extraction", "the last fenced block", "ours", id="last-fence"),)
    extend_page.write_files(here)  # a class that says all of it itself is not described by a file of its name
    described.write_text("name = 1")
    told = find_profile("fenced.py").describe()
    assert told["summary"] == found["summary"] and told["rules"] == found["rules"] and told["defects"] == ()


def test_what_no_file_describes_is_lacking(described):
    described.unlink()
    with pytest.raises(UserError, match=r"fenced.py: Fenced lacks summary, rules, which every profile has"):
        find_profile("fenced.py")


def test_a_profile_derived_from_another_has_its_rules(here):
    (here / "mine.py").write_text(
        "from truegrade.profiles.human_eval import HumanEval\n\n\nclass Mine(HumanEval):\n    name = 'mine'\n"
    )
    mine, other = find_profile("mine.py"), find_profile("human-eval")
    assert (mine.id, mine.rules, mine.defects) == ("mine@6d43fb9", other.rules, other.defects)
    (here / "mine.py").write_text((here / "mine.py").read_text() + "    rules = ()\n")
    mine = find_profile("mine.py")
    assert (mine.summary, mine.rules, mine.defects) == (other.summary, (), other.defects)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('step = "ext', 'step = "Ext'), ", line 6, field 'rules[0].step': Invalid enum value 'Extraction'"),
        (("text =", "words ="), ", line 7, field 'rules[0].words': no key 'words', known: text, source, id, step"),
        (
            ('"ours"', '"ours"\nprofiles = ["fence"]'),
            ", line 9, field 'rules[0].profiles': 'fence' has no",
        ),
        (("defects = [", "defects = [1, "), ", line 2, field 'defects[0]': Expected `str | object`, got `int`"),
        (("[[rules]]", "[[rules]"), ", line 4: is no TOML: Expected ']]' at the end of an array declaration"),
    ],
)
def test_a_broken_description_is_told_in_one_line(described, change, message):
    described.write_text(described.read_text().replace(*change))
    with pytest.raises(BadRecord) as raised:
        find_profile("fenced.py")
    said = str(raised.value)
    assert f"fenced.toml{message}" in said and said.endswith("; see docs/extend.md") and "\n" not in said, said


def test_a_model_says_what_it_lacks(here):
    (here / "parrot.py").write_text((here / "parrot.py").read_text().replace("async def close", "async def shut"))
    with pytest.raises(UserError, match="lacks close, which every model has"):
        open_model("parrot.py/grey")
    with pytest.raises(UserError, match=r"model 'parrot.py' lacks its name: write parrot.py/NAME"):
        open_model("parrot.py")


def test_a_built_in_object_is_the_built_in_thing():
    assert find_profile(Strict()).origin is None and find_profile(Strict, 5.0).id.endswith("+5s")
    assert BENCHMARK_REGISTRY.find(find_benchmark("humaneval")).origin.how == "built-in"


def test_the_group_of_a_kind_is_its_plural(monkeypatch):
    entry = EntryPoint("own", "no_such_module:X", "truegrade.benchmarks")
    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda *, group: [entry] if group == entry.group else []
    )
    assert [spec.name for spec in list_benchmarks()] == list(BENCHMARKS)  # what is broken is left out
    with pytest.raises(UserError, match=r"benchmark 'own' of an unknown package"):
        find_benchmark("own")


def test_packages_are_not_looked_at_for_built_in_names(monkeypatch):
    def looked(*, group):
        raise AssertionError(group)

    monkeypatch.setattr("importlib.metadata.entry_points", looked)
    for registry, _ in EXAMPLES.values():
        for name in registry.built_in:
            registry.find(name)
    assert find_profile(next(iter(PROFILES)))


def test_the_error_of_a_file_is_a_bad_record(tmp_path):
    (tmp_path / "mine.py").write_text("\n\nraise KeyError('x')")
    with pytest.raises(BadRecord) as caught:
        find_benchmark(str(tmp_path / "mine.py"))
    assert caught.value.line == 3
