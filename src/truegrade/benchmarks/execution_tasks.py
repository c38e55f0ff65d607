"""Execution prediction and choice from the user's own file or from DSL-List, and the cases of all such sets."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from truegrade.benchmarks.base import Benchmark, BenchmarkSpec, check_arguments, choice
from truegrade.datasets import Rows
from truegrade.datasets.executions import ExecutionRow, Texts, built_path, built_variants, read_executions
from truegrade.datasets.identity import Familiar, shape
from truegrade.errors import BadRecord, DataMissing, UnknownName, UserError
from truegrade.extraction.parsing import quietly
from truegrade.files import syntax
from truegrade.grading.literals import compare
from truegrade.records import AskedState, ChoiceTask, Covariates, OutputTask, Pairing, Problem

# ----------------------------------------------------------------------------------------------------------------
# Execution prediction and choice from the user's own file, and the cases that all execution benchmarks share.

# --------- What the execution benchmarks share: the cases of a row, checked, and the names their problems get.

ARGUMENTS = {
    "arguments": "how LLM-List inputs are written into the call: stored (default) or repr",
}
"""Task argument of every benchmark that reads execution rows."""

_TAGS = ("question_id", "difficulty", "contest_id", "dsl", "depth", "has_mutation")


class ExecutionCase(msgspec.Struct, frozen=True, kw_only=True):
    """One call of one row's program."""

    id: str
    """``ROW``, or ``ROW/caseK`` where the row has several; ``ROW/stateK`` for a value inside a call."""
    number: int
    """Among the calls of the row, or the values inside them."""
    call: int
    arguments: str
    """Text between the parentheses."""
    expected: str
    """What the original returns."""
    mutated: str | None
    """What the mutant returns; None where the row has no mutant."""
    state: AskedState | msgspec.UnsetType = msgspec.UNSET
    """Set where a value inside the call is asked for; ``expected`` and ``mutated`` are then that value."""


def read_rows(benchmark: str, data: Path | None, args: Mapping[str, str]) -> Rows[ExecutionRow]:
    """The rows of the user's file.

    Raises:
        UserError: no file is given, or it cannot be read.
        BadRecord: a row is not of the schema, or two share an id.
    """
    if data is None:
        raise DataMissing(
            f"{benchmark} reads your own file: give its path with `data` (JSON Lines; see docs/formats.md)"
        )
    rendering = choice(args, "arguments", ("stored", "repr"))
    rows = read_executions(data, "repr" if rendering == "repr" else "stored")
    refuse_repeated(data, (str(row.id) for row in rows.rows), "row")
    return rows


def benchmark_of(
    name: str,
    rows: Rows[ExecutionRow],
    problems: tuple[Problem, ...],
    args: Mapping[str, str],
    *,
    what: str,
    lacks: str,
) -> Benchmark:
    """The benchmark of a file's problems.

    Args:
        name: of the benchmark.
        rows: the file, read.
        problems: what it gave.
        args: task arguments in force.
        what: a problem stands for one of these.
        lacks: what a file that gives no problem holds none of, and how to get it.

    Raises:
        BadRecord: two problems share an id.
        UserError: there are none.
    """
    path = Path(rows.source)
    refuse_repeated(path, (problem.id for problem in problems), what)
    if not problems:
        raise UserError(f"{path}: gives no problem to {name}: it holds no {lacks}")
    return Benchmark(
        name=name,
        problems=problems,
        dataset_sha256=rows.dataset_sha256,
        source=rows.source,
        args=dict(args),
    )


def refuse_repeated(path: Path, ids: Iterable[str], what: str) -> None:
    """Raise BadRecord where an id occurs twice."""
    repeated = [name for name, count in Counter(ids).items() if count > 1]
    if repeated:
        raise BadRecord(path, f"{repeated[0]!r} names more than one {what}; ids must be unique", field="id")


def cases_of(path: Path, row: ExecutionRow) -> Iterator[ExecutionCase]:
    """The calls of a row, in order.

    Raises:
        BadRecord: numbers of inputs, outputs and conditions differ, or a condition says something else.
    """
    inputs, outputs = _as_tuple(row.input), _as_tuple(row.output)
    conditions, mutated = _as_tuple(row.correct_condition), _as_tuple(row.mutated_output)
    _check_count(path, row, len(outputs), "outputs", "output")
    if row.correct_condition is not None:
        _check_count(path, row, len(conditions), "conditions", "correct_condition")
    if has_mutant(row):
        _check_count(path, row, len(mutated), "outputs of the mutant", "mutated_output")
    for number, (call, output) in enumerate(zip(inputs, outputs, strict=True)):
        arguments = arguments_of(row.function_name, call)
        if conditions and not _same_source(conditions[number], f"{row.function_name}({arguments}) == {output}"):
            problem = (
                f"row {row.id!r}, case {number}: {conditions[number]!r} does not say what input and output say"
            )
            raise BadRecord(path, problem, field="correct_condition")
        yield ExecutionCase(
            id=str(row.id) if len(inputs) == 1 else f"{row.id}/case{number}",
            number=number,
            call=number,
            arguments=arguments,
            expected=output.strip(),
            mutated=mutated[number].strip() if has_mutant(row) else None,
        )


def has_mutant(row: ExecutionRow) -> bool:
    """Whether the row holds a mutant together with what it returns."""
    return row.mutated_code is not None and row.mutated_output is not None and row.has_mutation is not False


def arguments_of(function: str, call: str) -> str:
    """The text between the parentheses of ``function(...)``; any other text is taken whole.

    The rule is that of akshsgaur/code-reasoning-repro@6c43fa8 src/models/inference.py.
    """
    if call.startswith(f"{function}(") and call.endswith(")"):
        return call[len(function) + 1 : -1]
    return call


def cluster_of(row: ExecutionRow) -> str:
    """Rows that share a question are one cluster."""
    return str(row.id if row.question_id is None else row.question_id)


def operator_of(row: ExecutionRow) -> str:
    """The operator that made the row's mutant; empty where that is not said."""
    return row.mutation_info.mutation_type if row.mutation_info is not None else ""


def steps_of(row: ExecutionRow, case: ExecutionCase) -> int | None:
    """Lines that the original executes on a call; None where the row does not say."""
    steps = (row.metrics or {}).get("steps")
    found = steps[case.call] if isinstance(steps, list) and case.call < len(steps) else steps
    return found if isinstance(found, int) else None


def tags_of(row: ExecutionRow, **more: str) -> dict[str, str]:
    """Facts of a row to group reports by; empty ones are left out."""
    tags = {name: str(value) for name in _TAGS if (value := getattr(row, name)) is not None}
    return tags | {name: value for name, value in more.items() if value}


def _check_count(path: Path, row: ExecutionRow, count: int, what: str, field: str) -> None:
    inputs = len(_as_tuple(row.input))
    if count != inputs:
        raise BadRecord(
            path, f"row {row.id!r} has {inputs} inputs but {count} {what}; give one per input", field=field
        )


def _as_tuple(texts: Texts | None) -> tuple[str, ...]:
    if texts is None:
        return ()
    return (texts,) if isinstance(texts, str) else texts


def _same_source(one: str, other: str) -> bool:
    """Whether two expressions are the same but for layout and quotes."""
    if one.strip() == other.strip():
        return True
    try:
        with quietly():
            trees = [syntax.parse(text.strip(), mode="eval") for text in (one, other)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return ast.dump(trees[0]) == ast.dump(trees[1])


# ----------- Execution choice from the user's own file: a program and its mutant side by side, in both orders.
# The model names the program that it is surer of and predicts what that one returns (arXiv:2504.05518). Every
# pair is asked twice, with A and B swapped, so that a preference for a program can be told from one for a letter.

CHOICE = "execution-choice"

CHOICE_ARGS = {
    "cases": "differing (default): only calls on which the two programs return different values; or all",
    **ARGUMENTS,
}


def load_choice(data: Path | None, args: Mapping[str, str], name: str = CHOICE) -> Benchmark:
    """Read the user's file; ids are ``ROW~AB`` (the original is A) and ``ROW~BA``, or ``ROW/caseK~AB``.

    Raises:
        UserError: no file is given, an argument is not known, or the file has no such pairs.
        BadRecord: a row is not of the schema, contradicts itself, or shares its id with another.
    """
    check_arguments(name, args, CHOICE_ARGS)
    wanted = choice(args, "cases", ("differing", "all"))
    rows = read_rows(name, data, args)
    path = Path(rows.source)
    problems = tuple(
        problem
        for row in rows.rows
        for case in cases_of(path, row)
        if case.mutated is not None and (wanted == "all" or not compare(case.expected, case.mutated).python_eq)
        for problem in _both_orders(row, case, name, rows.dataset_sha256)
    )
    return benchmark_of(
        name, rows, problems, args, what="pair",
        lacks="mutants that return another value; `truegrade data mutate` makes them",
    )  # fmt: skip


def _both_orders(row: ExecutionRow, case: ExecutionCase, name: str, digest: str) -> Iterator[Problem]:
    original, mutant = (row.code, case.expected), (row.mutated_code or "", case.mutated or "")
    orders: tuple[tuple[str, Literal["A", "B"]], ...] = (("AB", "A"), ("BA", "B"))
    for order, letter in orders:
        first, second = (original, mutant) if letter == "A" else (mutant, original)
        yield Problem(
            id=f"{case.id}~{order}",
            benchmark=name,
            dataset_sha256=digest,
            cluster=cluster_of(row),
            task=ChoiceTask(
                programs=(first[0], second[0]),
                function=row.function_name,
                arguments=case.arguments,
                expected=(first[1], second[1]),
                original=letter,
                item=str(row.id),
                case=case.number,
                mutation=operator_of(row),
            ),
            tags=tags_of(row, order=order, mutation=operator_of(row)),
        )


EXECUTION_CHOICE = BenchmarkSpec(
    name=CHOICE,
    summary="Read a program and its mutant; name the one you are surer of and predict what it returns.",
    tasks="execution_choice",
    size=None,
    licence="yours",
    citation="arXiv:2504.05518 (the task); your own file (the data)",
    load=load_choice,
    args=CHOICE_ARGS,
)


# ------------------ Execution prediction from the user's own file: programs, calls and the values they return.
# The schema is that of the published DSL-List and LeetCode sets (akshsgaur/code-reasoning-repro@6c43fa8): ``id,
# function_name, code, input, output``, as JSON Lines, a JSON array or objects printed one after the other.
# ``input`` and ``output`` are texts, or lists of texts of equal length, one case each. A row may bring a mutant
# (``mutated_code, mutated_output``) and rewritings that mean the same (``preserved``): each is a program of its
# own.

PREDICTION = "execution-prediction"
PROGRAMS = ("all", "original", "mutant", "preserved")

PREDICTION_ARGS = {
    "programs": "which programs are asked: all that the file has (default), original, mutant, preserved",
    "asks": "what is asked: outputs (default), what calls return; or states, values inside the calls",
    **ARGUMENTS,
}


def load_prediction(data: Path | None, args: Mapping[str, str], name: str = PREDICTION) -> Benchmark:
    """Read the user's file; the order of rows and cases is kept.

    Raises:
        UserError: no file is given, an argument is not known, or the file has no such programs.
        BadRecord: a row is not of the schema, contradicts itself, or shares its id with another.
    """
    check_arguments(name, args, PREDICTION_ARGS)
    wanted, asks = choice(args, "programs", PROGRAMS), choice(args, "asks", ("outputs", "states"))
    rows = read_rows(name, data, args)
    path = Path(rows.source)
    measured = _measure(dict.fromkeys(row.code for row in rows.rows))
    find = _states_of if asks == "states" else cases_of
    problems = tuple(
        problem
        for row in rows.rows
        for case in find(path, row)
        for problem in _problems(row, case, name, rows.dataset_sha256, measured)
        if wanted in ("all", problem.tags["shown"])
    )
    of = "states in " if asks == "states" else ""
    return benchmark_of(
        name, rows, problems, args, what="program",
        lacks=f"{of}{wanted} programs; `truegrade data mutate` makes mutants",
    )  # fmt: skip


def _states_of(path: Path, row: ExecutionRow) -> Iterator[ExecutionCase]:
    """The values inside the calls of a row, each a case of its own.

    Raises:
        BadRecord: as `cases_of`; or there is no such call or line, or what is called a variable is no name.
    """
    cases = list(cases_of(path, row))
    for number, state in enumerate(row.states):
        said = f"row {row.id!r}, state {number}:"
        if state.case >= len(cases):
            raise BadRecord(path, f"{said} there are {len(cases)} calls", field="states")
        if state.line > min(map(len, _sources(row))):
            raise BadRecord(path, f"{said} the program has no line {state.line}", field="states")
        if state.variable and not state.variable.isidentifier():
            raise BadRecord(path, f"{said} {state.variable!r} is no name of a variable", field="states")
        yield msgspec.structs.replace(
            cases[state.case],
            id=f"{row.id}/state{number}",
            number=number,
            call=state.case,
            expected=state.value.strip(),
            mutated=state.mutated.strip() if has_mutant(row) and state.mutated is not None else None,
            state=AskedState(line=state.line, variable=state.variable, time=state.time),
        )


def _sources(row: ExecutionRow) -> Iterator[list[str]]:
    """The lines of the program, and of its mutant."""
    return (code.split("\n") for code in (row.code, row.mutated_code) if code is not None)


_Measure = Callable[[str], Covariates | None]


def _measure(originals: Iterable[str]) -> _Measure:
    """What counts the covariates of a program, given the originals of its data set."""
    familiar = Familiar(originals)

    @cache
    def measured(code: str) -> Covariates | None:
        found = shape(code)
        if found is None:
            return None
        return Covariates(unfamiliar=familiar.lacks(found), length=found.length, depth=found.depth)

    return measured


def _problems(
    row: ExecutionRow, case: ExecutionCase, name: str, digest: str, measured: _Measure
) -> Iterator[Problem]:
    """One problem per program of the row: the original, its mutant, its rewritings."""
    steps = steps_of(row, case)
    for suffix, program, expected, place in _programs(row, case):
        counted = measured(program)
        if counted is not None:
            counted = msgspec.structs.replace(counted, steps=steps)
        pairing = msgspec.structs.replace(place, covariates=counted)
        yield Problem(
            id=f"{case.id}{suffix}",
            benchmark=name,
            dataset_sha256=digest,
            cluster=cluster_of(row),
            task=OutputTask(
                program=program,
                function=row.function_name,
                arguments=case.arguments,
                expected=expected,
                pairing=pairing,
                state=case.state,
            ),
            tags=tags_of(row, shown=pairing.shown, mutation=pairing.mutation),
        )


def _programs(row: ExecutionRow, case: ExecutionCase) -> Iterator[tuple[str, str, str, Pairing]]:
    """Id suffix, source, value on this case, and place among the variants."""
    item, operator = str(row.id), operator_of(row)
    original = Pairing(item=item, case=case.number, shown="original", other=case.mutated, mutation=operator)
    yield "", row.code, case.expected, original
    if row.mutated_code is not None and case.mutated is not None:
        mutant = Pairing(item=item, case=case.number, shown="mutant", other=case.expected, mutation=operator)
        yield "~mutant", row.mutated_code, case.mutated, mutant
    for variant in () if case.state else row.preserved:  # whose lines are others
        same = Pairing(item=item, case=case.number, shown="preserved", mutation=variant.rewriting)
        yield f"~{variant.rewriting}", variant.code, case.expected, same


EXECUTION_PREDICTION = BenchmarkSpec(
    name=PREDICTION,
    summary="Read programs of your own, or their mutants, and calls; predict what they return.",
    tasks="output_prediction",
    size=None,
    licence="yours",
    citation="arXiv:2504.05518 (the task); your own file (the data)",
    load=load_prediction,
    args=PREDICTION_ARGS,
)


def prediction_of_file(path: Path, name: str) -> BenchmarkSpec:
    """`EXECUTION_PREDICTION` on a file of the user, under a name of its own."""

    def load(data: Path | None, args: Mapping[str, str]) -> Benchmark:
        return load_prediction(data or path, args, name)

    return msgspec.structs.replace(EXECUTION_PREDICTION, name=name, load=load)


# ------------------- DSL-List: list functions drawn from a typed grammar, built on this machine, with mutants.
# The set is made, not downloaded: ``truegrade data build dsl-list`` writes it, and this benchmark looks for it in
# the cache. It follows arXiv:2504.05518 and akshsgaur/code-reasoning-repro@6c43fa8 src/datasets/dsl.

DSL = "dsl-list"


def load_dsl_list(data: Path | None, args: Mapping[str, str]) -> Benchmark:
    """Read the built set, or the file given, as either task.

    Raises:
        UserError: the set was not built yet, ``built`` stands beside a file, or an argument is not known to the
            task.
        BadRecord: the file is damaged.
    """
    task = choice(args, "task", ("prediction", "choice"))
    read, known = (load_choice, CHOICE_ARGS) if task == "choice" else (load_prediction, PREDICTION_ARGS)
    check_arguments(DSL, args, {"task": "", "built": "", **known})
    if data is not None and "built" in args:
        raise UserError(f"`data` and `task_args` built={args['built']} both choose the file: give one of them")
    path = data or _built(args.get("built"))
    if data is None and not path.is_file():
        raise DataMissing(
            f"{DSL} was not built on this machine yet: run `truegrade data build dsl-list` (half a minute),"
            " or give a file with `data`"
        )
    others = {name: value for name, value in args.items() if name not in ("task", "built")}
    loaded: Benchmark = read(path, others, DSL)
    return msgspec.structs.replace(loaded, args=dict(args))


def _built(variant: str | None) -> Path:
    """The built file of the default arguments, or of others.

    Raises:
        UnknownName: none was built with these.
    """
    if variant is None:
        return built_path(DSL)
    known = built_variants(DSL)
    if variant not in known:
        raise UnknownName(f"{DSL} built with", variant, known, "built by `truegrade data build dsl-list`")
    return built_path(DSL, variant)


DSL_LIST = BenchmarkSpec(
    name=DSL,
    summary="Read list functions drawn from a grammar, and their mutants; predict what they return.",
    tasks="output_prediction or execution_choice",
    size=None,
    licence="built on your machine",
    citation="arXiv:2504.05518; akshsgaur/code-reasoning-repro@6c43fa8 src/datasets/dsl",
    load=load_dsl_list,
    args={
        "task": "prediction (default) or choice",
        "built": "which file of `truegrade data build dsl-list`: its arguments, such as size-20 (default: none)",
        **PREDICTION_ARGS,
        **CHOICE_ARGS,
    },
)
