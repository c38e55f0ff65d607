"""From a file of rows to one with mutants: generate, run in the jail, choose; resumed where it stopped."""

from __future__ import annotations

import ast
import cmath
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import msgspec

from truegrade.builders.leetcode import imports_of, with_imports
from truegrade.builders.mutation.mutants import (
    Mutant,
    MutationOptions,
    NotAProgram,
    calls_of,
    flaw_of,
    like,
    mutants_of,
    normalised,
    parse,
    texts,
)
from truegrade.builders.mutation.observing import (
    Observation,
    ObservedCase,
    Observer,
    Traced,
    has_one_line,
    lines_of_code,
    loop_depth,
    similarity,
)
from truegrade.builders.mutation.preserving import REWRITINGS
from truegrade.datasets.download import parse_json, read_content, sha256
from truegrade.datasets.executions import (
    ExecutionRow,
    MutationInfo,
    Preserved,
    RecordedCase,
    as_execution_row,
    run_cases,
    write_rows,
)
from truegrade.datasets.identity import free_names
from truegrade.datasets.rows import parse_rows
from truegrade.errors import BadRecord, UserError
from truegrade.extraction.equalities import parse_arguments
from truegrade.extraction.parsing import Literal, parse_literal, unix_newlines
from truegrade.files import syntax
from truegrade.files.threads import in_order
from truegrade.grading.executor import Executor
from truegrade.grading.literals import compare
from truegrade.records import sha256_json
from truegrade.store.journal import Journal, Notice, ignore, read_journal

# ---------------------------- From a row to its mutant: generate, run in the jail, keep what is valid, choose.
# The procedure is Algorithm 1 of arXiv 2504.05518 as quoted by akshsgaur/code-reasoning-repro@6c43fa8: all
# programs that differ by one operator; of those, the ones that run on the inputs and return something else; of
# those, the one whose coverage is most similar to the original's.

# ----------------------------------------------------------- Which of the valid mutants of a program is taken.


@dataclass(frozen=True, kw_only=True)
class Valid:
    """A mutant that ends, returns literals, and is told from the original by some case."""

    mutant: Mutant
    seen: Observation
    discriminating: tuple[int, ...]
    """Cases on which the outputs differ."""
    lines: float
    """Similarity of the places visited."""
    arcs: float
    """Similarity of the steps between them."""


def ranked(valid: Sequence[Valid], row_id: str | int, options: MutationOptions) -> list[Valid]:
    """The candidates, best first.

    ``coverage``: the most similar lines, then arcs (arXiv 2504.05518, Algorithm 1). Among equals each operator has
    the same chance whatever the number of its mutants, so that the many arithmetic ones do not crowd out the rest.
    A hash of seed, row and name decides, so neither other rows nor the order of work play a part.
    ``first`` and ``all``: the order in which operators were tried.
    """
    if options.select != "coverage":
        return list(valid)

    def drawn(name: str) -> str:
        return sha256_json([options.seed, row_id, name])

    return sorted(
        valid,
        key=lambda one: (-one.lines, -one.arcs, drawn(one.mutant.operator), drawn(one.mutant.id)),
    )


# ----------------------------------------------------------------------------------------------------------------
# Which mutants can be asked about: they end, return literals, and return something else than the original.


def judged(original: Observation, mutant: Mutant, seen: Observation, options: MutationOptions) -> Valid | str:
    """The mutant with what was measured, or the kind of reason against it.

    Outputs differ if Python's ``==`` says so: ``1`` for ``True`` is no difference, since a grader may not see it.
    """
    if seen.failure is not None:
        return seen.failure.kind
    if not all(is_askable(text) for text in seen.outputs):
        return "no literal"
    pairs = zip(original.outputs, seen.outputs, strict=True)
    differing = tuple(case for case, pair in enumerate(pairs) if not compare(*pair).python_eq)
    if len(differing) < (len(seen.outputs) if options.differ == "all" else 1):
        return "same output"
    lines, arcs = similarity(original, seen, mutant)
    return Valid(mutant=mutant, seen=seen, discriminating=differing, lines=lines, arcs=arcs)


def is_askable(text: str) -> bool:
    """Whether an output is a literal that a model can be asked for: no nan and no infinity anywhere in it."""
    literal = parse_literal(text)
    return isinstance(literal, Literal) and _is_finite(literal.value)


def _is_finite(value: Any) -> bool:
    match value:
        case float() | complex():
            return cmath.isfinite(value)
        case list() | tuple() | set() | frozenset():
            return all(_is_finite(item) for item in value)
        case dict():
            return all(_is_finite(item) for pair in value.items() for item in pair)
    return True


_DIGITS = 4
"""Of a similarity, in a row."""


def mutate_row(
    row: ExecutionRow, options: MutationOptions, executor: Executor, witness: Executor | None = None
) -> tuple[ExecutionRow, ...]:
    """What becomes of one row: itself with a mutant or a reason, or itself once per mutant.

    Args:
        row: an original.
        options: what to make and what to keep.
        executor: the jail.
        witness: where outputs have to repeat, such as a jail with another hash seed; None for the same jail.
    """
    flaw = flaw_of(row)
    if flaw is not None:
        return (_without_mutant(row, options, f"{flaw.field}: {flaw.problem}"),)
    try:
        return _Work(row, options, executor, witness or executor).rows()
    except (_NoMutant, NotAProgram) as reason:
        return (_without_mutant(row, options, str(reason)),)
    except RecursionError:
        return (_without_mutant(row, options, "the program is nested too deeply to be rewritten"),)


class _NoMutant(Exception):
    """A row cannot have a mutant; the message says why."""


class _Work:
    """All that is done for one row."""

    def __init__(self, row: ExecutionRow, options: MutationOptions, executor: Executor, witness: Executor) -> None:
        self.options = options
        code = unix_newlines(row.code) if options.raw else normalised(row.code)
        # What a row asked inside its calls belonged to another text of the program, and another mutant.
        self.row = msgspec.structs.replace(row, code=code, states=())
        self.imports = imports_of(code)
        preamble = msgspec.structs.replace(options, preamble=f"{self.imports}{options.preamble}")
        self.observer = Observer(executor, calls_of(row), preamble)
        self.witness = Observer(witness, calls_of(row), preamble)
        # One line is always covered: what can differ is the way through its expressions.
        self.traced: Traced = "expressions" if has_one_line(parse(code)) else "lines"
        self.original = self._observe_original()
        self.found: Counter[str] = Counter()

    def rows(self) -> tuple[ExecutionRow, ...]:
        """The row with what the options ask for."""
        base = self._with_covariates(self._with_preserved())
        best = ranked(self._valid(), self.row.id, self.options)
        made = []
        for one in best:
            if not self._repeats(one.mutant.code, one.seen):
                self.found["not reproducible"] += 1
                continue
            made.append(self._row_with(base, one))
            if self.options.select != "all":
                break
        if not made:
            return (_without_mutant(base, self.options, self._why_none(), self.found),)
        return tuple(msgspec.structs.replace(each, metadata=self._metadata(each)) for each in made)

    def _observe_original(self) -> Observation:
        """What the program does, if it does it again and it is what the row says.

        Raises:
            _NoMutant: otherwise.
        """
        seen = self.observer.alone(self.row.code, self.traced)
        if seen.failure is not None:
            raise _NoMutant(self._why_no_value(seen.failure))
        for case, returned in enumerate(seen.outputs):
            if not is_askable(returned):
                raise _NoMutant(f"case {case}: the original returns no finite literal")
        if not self._repeats(self.row.code, seen):
            raise _NoMutant("the original returns something else every time")
        for case, (recorded, returned) in enumerate(zip(texts(self.row.output), seen.outputs, strict=True)):
            if not compare(recorded, returned).python_eq:
                raise _NoMutant(f"case {case}: the program returns {returned}, not the recorded {recorded}")
        if self.traced == "lines" and len(frozenset[Any]().union(*(case.places for case in seen.cases))) <= 1:
            self.traced = "expressions"
            seen = self.observer.alone(self.row.code, self.traced)
            if seen.failure is not None:
                raise _NoMutant(self._why_no_value(seen.failure))
        return seen

    def _repeats(self, code: str, seen: Observation) -> bool:
        """Whether a program returns the same again; sets are written in another order under another hash seed."""
        again = self.witness.alone(code).outputs
        return len(again) == len(seen.outputs) and all(
            one == other or compare(one, other).strict_typed
            for one, other in zip(seen.outputs, again, strict=True)
        )

    def _why_no_value(self, failure: ObservedCase) -> str:
        """What happened to the original; for a name that nothing defines, what to do."""
        why = f"the original gives no value: {failure.kind}, {failure.text}"
        if failure.text != "NameError":
            return why
        names = ", ".join(free_names(self.imports + self.row.code)) or "a name before it is bound"
        return f"{why}: the program reads {names}; give a file of imports with `preamble`"

    def _valid(self) -> list[Valid]:
        """The mutants that can be asked about."""
        mutants = mutants_of(self.row.code, self.options)
        codes = [mutant.code for mutant in mutants]
        valid = []
        observed = self.observer.together(self.original, self.row.code, codes, self.traced)
        for mutant, seen in zip(mutants, observed, strict=True):
            verdict = judged(self.original, mutant, seen, self.options)
            self.found["valid" if isinstance(verdict, Valid) else verdict] += 1
            if isinstance(verdict, Valid):
                valid.append(verdict)
        return valid

    def _with_preserved(self) -> ExecutionRow:
        """The row with the variants that mean the same, as far as its cases can tell."""
        variants = {}
        for name in self.options.preserve:
            code = ast.unparse(ast.fix_missing_locations(REWRITINGS[name](parse(self.row.code))))
            if normalised(code) != normalised(self.row.code):
                variants[name] = normalised(code)
        observed = self.observer.together(self.original, self.row.code, list(variants.values()), self.traced)
        kept = [
            Preserved(rewriting=name, code=code)
            for (name, code), seen in zip(variants.items(), observed, strict=True)
            if seen.outputs == self.original.outputs
        ]
        return msgspec.structs.replace(self.row, preserved=tuple(kept))

    def _with_covariates(self, row: ExecutionRow) -> ExecutionRow:
        steps = [case.steps for case in self.original.cases]
        covariates = {
            "loc": lines_of_code(row.code),
            "steps": steps[0] if isinstance(row.input, str) else steps,
            "loop_depth": loop_depth(parse(row.code)),
        }
        return msgspec.structs.replace(row, metrics={**(row.metrics or {}), **covariates})

    def _row_with(self, base: ExecutionRow, one: Valid) -> ExecutionRow:
        mutant = one.mutant
        info = MutationInfo(
            mutation_type=mutant.operator,
            mutation_id=mutant.id,
            coverage_similarity=round(one.lines, _DIGITS),
            arc_similarity=round(one.arcs, _DIGITS),
            discriminating=one.discriminating,
            span=mutant.span,
            change=f"{mutant.before} -> {mutant.after}",
        )
        return msgspec.structs.replace(
            base,
            id=f"{base.id}/{mutant.id}" if self.options.select == "all" else base.id,
            mutated_code=mutant.code,
            mutated_output=like(base.output, one.seen.outputs),
            has_mutation=True,
            mutation_info=info,
        )

    def _metadata(self, row: ExecutionRow) -> dict[str, Any]:
        facts: dict[str, Any] = {"mutants": dict(sorted(self.found.items()))}
        if self.imports:
            facts["imports"] = self.imports.splitlines()
        return _metadata_of(row, self.options, facts)

    def _why_none(self) -> str:
        if not self.found:
            return "no operator applies"
        counts = ", ".join(f"{name} {count}" for name, count in sorted(self.found.items()))
        return f"no mutant is valid: {counts}"


def _without_mutant(
    row: ExecutionRow, options: MutationOptions, reason: str, found: Counter[str] | None = None
) -> ExecutionRow:
    facts: dict[str, Any] = {"reason": reason}
    if found:
        facts["mutants"] = dict(sorted(found.items()))
    return msgspec.structs.replace(
        row,
        mutated_code=None,
        mutated_output=None,
        mutation_info=None,
        has_mutation=False,
        metadata=_metadata_of(row, options, facts),
    )


def _metadata_of(row: ExecutionRow, options: MutationOptions, facts: dict[str, Any]) -> dict[str, Any]:
    """The row's metadata with how its mutant was sought and what was found."""
    asked = {name: getattr(options, name) for name in ("select", "differ", "raw", "seed")}
    return {**(row.metadata or {}), "mutation": {**asked, **facts}}


# --------------- Rows in, rows with mutants out: in order, on several threads, the same whatever their number.


def mutate_rows(
    rows: Iterable[ExecutionRow], options: MutationOptions, executor: Executor, *, workers: int = 1
) -> Iterator[ExecutionRow]:
    """Each row with its mutant, in order; what comes out hangs on row and options alone.

    A row without a valid mutant comes back with ``has_mutation=False`` and the reason in ``metadata``; so does one
    that cannot be run or whose recorded output is not what its program returns. With ``select="all"`` a row comes
    back once per mutant, its id followed by ``/`` and the mutant's.

    Args:
        rows: originals; a mutant they carry already is replaced.
        options: what to make and what to keep.
        executor: the jail.
        workers: rows under way at once.

    Raises:
        SandboxError: the machinery that runs programs failed.
    """
    for made in mutate_each(rows, options, executor, workers=workers):
        yield from made


def mutate_each(
    rows: Iterable[ExecutionRow], options: MutationOptions, executor: Executor, *, workers: int = 1
) -> Iterator[tuple[ExecutionRow, ...]]:
    """As `mutate_rows`, with what became of each row kept together."""
    if workers == 1:
        yield from (mutate_row(row, options, executor) for row in rows)
        return
    yield from in_order(rows, lambda row: mutate_row(row, options, executor), workers=workers)


_KEY_CHARS = 12


class Watch(Protocol):
    """Is told how far the work is."""

    def start(self, stage: str, total: int, done: int) -> None:
        """A stage begins."""

    def advance(self, *, failed: bool = False) -> None:
        """One more row is finished; ``failed`` if it has no mutant."""

    def finish(self) -> None:
        """The stage is over."""


class _Unwatched:
    """Tells nobody."""

    def start(self, stage: str, total: int, done: int) -> None:
        """Say nothing."""

    def advance(self, *, failed: bool = False) -> None:
        """Say nothing."""

    def finish(self) -> None:
        """Say nothing."""


class Mutated(msgspec.Struct, frozen=True, kw_only=True):
    """What a file has come to."""

    rows: int
    """Rows read."""
    mutants: int
    """Rows written that have a mutant."""
    operators: dict[str, int]
    """Mutants by operator."""
    without: dict[str, str]
    """Why a row has none, by its id."""
    sha256: str
    """Of the file written."""


class _Made(msgspec.Struct, frozen=True):
    """A line of the journal: what became of one row."""

    rows: tuple[ExecutionRow, ...]


def mutate_file(
    path: Path,
    out: Path,
    options: MutationOptions,
    executor: Executor,
    *,
    workers: int = 1,
    watch: Watch | None = None,
    notice: Notice = ignore,
) -> Mutated:
    """Mutate every row of a file. Equal rows and options give equal bytes, in one go or in several.

    Until all rows are done they stand in ``<out>.<key>.part``, where the key is that of rows and options.

    Raises:
        BadRecord: a row is not of the schema, or its program or calls cannot be run; names file, line and field.
        UserError: a file cannot be read or written.
    """
    content = read_content(path)
    rows = _checked(path, content)
    if out.resolve() == path.resolve():
        raise UserError(f"{out} is the file that is read; choose another `out`")
    part = _part(out, content, options)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        made = _finish_rows(part, rows, options, executor, workers, watch or _Unwatched(), notice)
        written = write_rows(out, made)
        part.unlink()
    except OSError as error:
        raise UserError(f"{out}: cannot be written: {error.strerror or error}; choose another `out`") from None
    return _summary(len(rows), made, written)


def _part(out: Path, content: bytes, options: MutationOptions) -> Path:
    """Where rows stand until all are done; other rows, options or versions have another place."""
    makers = [version("truegrade"), *sys.version_info[:2]]
    key = sha256_json([makers, sha256(content), msgspec.to_builtins(options)])
    return out.with_name(f"{out.name}.{key[:_KEY_CHARS]}.part")


def _finish_rows(
    part: Path,
    rows: tuple[ExecutionRow, ...],
    options: MutationOptions,
    executor: Executor,
    workers: int,
    watch: Watch,
    notice: Notice,
) -> list[ExecutionRow]:
    """What has become of every row, by an earlier command or now."""
    done = [made.rows for made in read_journal(part, _Made, notice=notice)]
    watch.start("mutate", len(rows), len(done))
    try:
        with Journal[_Made](part, notice=notice) as journal:
            for made in mutate_each(rows[len(done) :], options, executor, workers=workers):
                journal.append(_Made(made))
                done.append(made)
                watch.advance(failed=not made[0].has_mutation)
    finally:
        watch.finish()
    return [row for made in done for row in made]


def _checked(path: Path, content: bytes) -> tuple[ExecutionRow, ...]:
    """The rows of a file, each of which can be run."""
    rows = parse_rows(path, content, ExecutionRow, as_execution_row)
    for (line, _), row in zip(parse_json(path, content), rows, strict=True):
        flaw = flaw_of(row)
        if flaw is not None:
            raise BadRecord(path, f"row {row.id!r}: {flaw.problem}", line=line, field=flaw.field)
    return rows


def _summary(read: int, rows: list[ExecutionRow], written: str) -> Mutated:
    kinds = Counter(row.mutation_info.mutation_type for row in rows if row.mutation_info is not None)
    failed = [row for row in rows if not row.has_mutation]
    return Mutated(
        rows=read,
        mutants=kinds.total(),
        operators=dict(kinds.most_common()),
        without={str(row.id): row.metadata["mutation"]["reason"] for row in failed if row.metadata},
        sha256=written,
    )


# ---------- A file looked at again: every program runs, and outputs that are not what the file says are named.

_ANY_LENGTH = 1 << 20


class OutputDifference(msgspec.Struct, frozen=True, kw_only=True):
    """An output that re-executing did not give again."""

    id: str
    program: str
    """``original``, ``mutant`` or ``preserved: NAME``."""
    case: int
    """0-based."""
    recorded: str
    found: str
    """A literal, or what happened instead."""


class CheckedRow(msgspec.Struct, frozen=True, kw_only=True):
    """How many outputs of a row were computed anew, and those that differ."""

    outputs: int
    differences: tuple[OutputDifference, ...]


def check_rows(
    path: Path, rows: Sequence[ExecutionRow], executor: Executor, *, workers: int = 1
) -> Iterator[CheckedRow]:
    """Re-execute originals, mutants and rewritings; one result per row, in order.

    Args:
        path: named in errors.
        rows: the file's rows.
        executor: runs the programs.
        workers: rows at once.

    Raises:
        BadRecord: a row contradicts itself, or its calls have other arguments than literals.
    """
    yield from in_order(rows, lambda row: _check(path, row, executor), workers=workers)


def _check(path: Path, row: ExecutionRow, executor: Executor) -> CheckedRow:
    cases = [_case(path, row, call) for call in texts(row.input)]
    outputs = texts(row.output)
    programs = [("original", row.code, outputs)]
    if row.mutated_code:
        programs.append(("mutant", row.mutated_code, texts(row.mutated_output or ())))
    programs += [(f"preserved: {kept.rewriting}", kept.code, outputs) for kept in row.preserved]
    differences: list[OutputDifference] = []
    for name, program, recorded in programs:
        if len(recorded) != len(cases):
            raise BadRecord(path, f"row {row.id!r} has {len(cases)} inputs but {len(recorded)} outputs of {name}")
        returned = run_cases(executor, _standing_alone(program), _function(row, program), cases, _ANY_LENGTH)
        differences += [
            OutputDifference(id=str(row.id), program=name, case=case, recorded=text, found=found.text or found.why)
            for case, (text, found) in enumerate(zip(recorded, returned, strict=True))
            if found.text is None or not compare(text, found.text).strict_typed
        ]
    return CheckedRow(outputs=len(programs) * len(cases), differences=tuple(differences))


def _standing_alone(program: str) -> str:
    """The program with the imports that LeetCode makes unseen, as far as it reads their names."""
    try:
        return with_imports(program)
    except SyntaxError:
        return program


def _function(row: ExecutionRow, program: str) -> str:
    """The function to call: the row's, unless a rewriting has renamed the only one there is."""
    try:
        names = [node.name for node in syntax.parse(program).body if isinstance(node, ast.FunctionDef)]
    except SyntaxError:
        return row.function_name
    return names[0] if len(names) == 1 else row.function_name


def _case(path: Path, row: ExecutionRow, call: str) -> RecordedCase:
    inside = call[len(row.function_name) + 1 : -1] if call.startswith(f"{row.function_name}(") else call
    arguments = parse_arguments(inside)
    if arguments is None:
        raise BadRecord(path, f"row {row.id!r}: the arguments of {call!r} are no literals", field="input")
    return RecordedCase(*arguments)
