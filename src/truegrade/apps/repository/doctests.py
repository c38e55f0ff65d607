"""The doctests of a tree: which of them pytest is asked for, and the same as a module of tests."""

from __future__ import annotations

import ast
import doctest
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from fnmatch import fnmatch
from textwrap import indent

from truegrade.apps.repository.source import (
    RepositoryFile,
    SourceTree,
    configured,
    options_of_pytest,
    suite_files,
)
from truegrade.extraction.parsing import unix_newlines
from truegrade.files import syntax

_BY_HAND = re.compile(rb"\bdoctest\.(?:testmod|DocTestSuite)\b|\bimport\s+.*\b(?:testmod|DocTestSuite)\b")
"""In tests that run the examples of modules themselves."""
_OTHER_GLOB = "test*.txt"
"""Text files that pytest takes for doctests where it is told of no others."""
_OPTION_FLAGS = frozenset(doctest.OPTIONFLAGS_BY_NAME)
_RUN = """\
import doctest

def run_doctest(text, place, names):
    test = doctest.DocTestParser().get_doctest(text, names, place, place, 0)
    said = []
    doctest.DocTestRunner(optionflags={flags}, verbose=False).run(test, out=said.append)
    assert not said, "".join(said).strip("*\\n")
"""
_TEST = """
def {name}(request, doctest_namespace):
{imports}
    given = {{"getfixture": request.getfixturevalue, **doctest_namespace}}
    run_doctest({text!r}, {place!r}, {{**{names}, **given}})
"""


def doctest_arguments(tree: SourceTree, modules: Iterable[RepositoryFile]) -> list[str]:
    """What has pytest run the doctests of `doctest_files`; empty without any."""
    paths = doctest_files(tree, modules)
    globs = [f"--doctest-glob={each}" for each in _globs(tree)]
    return ["--doctest-modules", "--doctest-continue-on-failure", *globs, *paths] if paths else []


def doctest_files(tree: SourceTree, modules: Iterable[RepositoryFile]) -> list[str]:
    """Paths of the modules and text files whose examples belong to the suite.

    Those of modules do where the configuration, that of tox included, says ``--doctest-modules``, and where there
    are no other tests, or tests run them; text files where they have the names that ``--doctest-glob`` gives.
    """
    suites = suite_files(tree)
    asked = not suites or bool(options_of_pytest(tree, "--doctest-modules"))
    asked = asked or any(_BY_HAND.search(tree.files[path]) for path in suites)
    folders = tuple(f"{folder.removeprefix('./').rstrip('/')}/" for folder in configured(tree, "testpaths"))
    folders = () if {"/", "./"} & {*folders} else folders  # the root
    globs = _globs(tree)
    own = {module.path for module in modules if asked and ">>>" in module.text}
    texts = {
        path
        for path, content in tree.files.items()
        if not path.endswith(".py") and b">>>" in content
        if any(fnmatch(path if "/" in each else path.rpartition("/")[2], each) for each in globs)
    }
    return sorted(path for path in own | texts if not folders or f"{path}/".startswith(folders))


def _globs(tree: SourceTree) -> list[str]:
    return options_of_pytest(tree, "--doctest-glob") or [_OTHER_GLOB]


def doctest_test(name: str) -> str:
    """The name of the test that `doctest_suite` has for a doctest that pytest calls so."""
    return "test_doctest_" + re.sub(r"\W", "_", name)


def doctest_suite(tree: SourceTree, path: str, module: RepositoryFile | None) -> str:
    """A module with one test for each text of a file that has examples.

    Args:
        tree: the repository.
        path: of the file.
        module: that it is; None for a text file.
    """
    if module is None:
        content = unix_newlines(tree.files[path].decode("utf-8-sig", "replace"))
        texts, names, head = {path.rpartition("/")[2]: content}, "{'__name__': '__main__'}", []
    else:
        texts = dict(_documented(syntax.parse(module.text), _named_by_pytest(tree, module)))
        names, head = "vars(doctest_module)", [f"import {module.dotted} as doctest_module"]
    flags = " | ".join(
        f"doctest.{each}" for each in configured(tree, "doctest_optionflags") if each in _OPTION_FLAGS
    )
    tests = [
        _TEST.format(
            name=doctest_test(name),
            imports=indent("\n".join([*_imports_of(text), *head]), "    "),
            text=text,
            place=name,
            names=names,
        )
        for name, text in texts.items()
        if ">>>" in text
    ]
    return "".join([_RUN.format(flags=flags or 0), *tests])


def _named_by_pytest(tree: SourceTree, module: RepositoryFile) -> str:
    """A module's name in pytest's names of its examples: from the last folder on that is a package."""
    parts = module.dotted.split(".")
    folder, kept = module.path.rpartition("/")[0], 0 if module.is_package else 1
    while f"{folder}/__init__.py" in tree.files:
        folder, kept = folder.rpartition("/")[0], kept + 1
    return ".".join(parts[-kept:])


def _documented(
    node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, name: str
) -> Iterator[tuple[str, str]]:
    """The docstrings of a module, its classes and functions, and texts of ``__test__``, by dotted name."""
    if text := ast.get_docstring(node, clean=False):  # a property's setter has none
        yield name, text
    if not isinstance(node, ast.Module | ast.ClassDef):
        return
    waiting: list[ast.AST] = [*node.body]
    while waiting:
        part = waiting.pop(0)
        if isinstance(part, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _documented(part, f"{name}.{part.name}")
        elif isinstance(part, ast.If | ast.Try | ast.ExceptHandler):
            waiting += ast.iter_child_nodes(part)
        elif isinstance(part, ast.Assign) and [ast.unparse(one) for one in part.targets] == ["__test__"]:
            texts = part.value if isinstance(part.value, ast.Dict) else ast.Dict([], [])
            for key, value in zip(texts.keys, texts.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(value, ast.Constant) and type(value.value) is str:
                    yield f"{name}.__test__.{key.value!s}", value.value


def examples_in(text: str) -> list[str]:
    """The code of the doctest examples in any text."""
    try:
        return [example.source for example in doctest.DocTestParser().get_examples(text)]
    except ValueError:  # an indentation that it takes for an error: line by line then
        lines = [line.strip() for line in text.splitlines()]
        return [line.removeprefix(">>>").strip() for line in lines if line.startswith(">>>")]


def _imports_of(text: str) -> list[str]:
    """The imports of the examples in a text, so that a reader of the test finds which modules they need."""
    found: dict[str, None] = {}
    for source in examples_in(text):
        with suppress(SyntaxError, ValueError, RecursionError):
            for node in ast.walk(syntax.parse(source)):
                if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
                    found[f"import {node.module}"] = None
                elif isinstance(node, ast.Import | ast.ImportFrom) and getattr(node, "module", "") != "__future__":
                    found[ast.unparse(node)] = None
    return [*found]
