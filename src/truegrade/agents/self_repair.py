"""`self-repair`: LiveCodeBench's second step, in which failing programs are shown to the model with their grading.

LiveCodeBench/LiveCodeBench@28fef95 ``lcb_runner/runner/base_runner.py`` ``run_main_repair``: the programs of an
``_eval_all.json`` that failed are asked about once, each with the metadata of its own grading; those that passed
keep the reply they came from. What comes out is graded like generated code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import msgspec

from truegrade.agents.session import AgentInfo, AgentRule, Session
from truegrade.agents.steps import SettledStep, VisibleProblem
from truegrade.errors import BadRecord, UnknownName, UserError
from truegrade.grading.executor import Executor
from truegrade.models.base import Reply
from truegrade.profiles.livecodebench_repair import REPAIR_STYLES, PublishedCrash, repair_prompt
from truegrade.records import Prompt
from truegrade.records.config import AgentConfig
from truegrade.store.importers.base import TasksOnce
from truegrade.store.importers.livecodebench import AnswerRow, read_rows
from truegrade.store.importers.reading import SourceFile, sha256_of

EXPORTED = "livecodebench_eval_all.json"
"""What `truegrade export RUN --format livecodebench-eval-all` leaves in a run's folder."""

ARGUMENTS = {
    "from": f"an _eval_all.json, LiveCodeBench's or exported from a run; or the folder that holds {EXPORTED}",
    "style": f"LiveCodeBench's model style, which words the question: {', '.join(REPAIR_STYLES)}",
    "crash": "where LiveCodeBench's own run ends for lack of words (error_code -5, failures before the first"
    " test): stop, or keep the program as it is",
    "sha256": "hash that the file must have; noted by the run itself",
}
_DEFAULTS: dict[str, object] = {"from": "(required)", "style": "OpenAIChat", "crash": "stop", "sha256": "-"}

_REPO = "LiveCodeBench/LiveCodeBench@28fef95 lcb_runner"
INFO = AgentInfo(
    name="self-repair",
    version="28fef95",
    summary="LiveCodeBench's self-repair: programs that failed go back to the model once, with their grading",
    covers=("livecodebench",),
    args=ARGUMENTS,
    defaults={"published": _DEFAULTS},
    rules=(
        AgentRule(
            "a program that passed keeps its reply and is not asked about; as many programs of each problem are"
            " taken as samples are asked for, and each failing one is asked about once",
            f"{_REPO}/runner/base_runner.py run_main_repair",
        ),
        AgentRule(
            "the question, the program and a sentence by the error_code of its metadata, inputs and expected"
            " outputs included; the Format is that of standard input and starter code is never shown",
            f"{_REPO}/prompts/self_repair.py",
        ),
        AgentRule(
            "the words are the problem's in the data set; upstream takes the file's copy of the same text", "ours"
        ),
        AgentRule(
            "one grading without words ends the whole run; here before anything is asked, and not with crash=keep",
            f"{_REPO}/prompts/self_repair.py get_check_prompt",
        ),
    ),
)


class SelfRepairSettings(msgspec.Struct, frozen=True, kw_only=True):
    """All of the agent's arguments."""

    source: str = msgspec.field(name="from")
    style: str = "OpenAIChat"
    crash: Literal["stop", "keep"] = "stop"
    sha256: str | None = None

    @property
    def path(self) -> Path:
        """The file of graded programs."""
        path = Path(self.source).expanduser()
        return path / EXPORTED if path.is_dir() else path


def read_settings(args: Mapping[str, Any]) -> SelfRepairSettings:
    """The arguments given, and defaults for the others; no file is read.

    Raises:
        UnknownName: there is no such argument or style.
        UserError: a value is missing or does not fit.
    """
    INFO.refuse_unknown_arguments(args)
    if args.get("from") is None:
        raise UserError(
            "`agent` self-repair needs graded programs: `truegrade grade RUN --as livecodebench`, `truegrade"
            " export RUN --format livecodebench-eval-all`, then `agent_args` from=RUN"
        )
    try:
        settings = msgspec.convert(args, SelfRepairSettings)
    except msgspec.ValidationError as error:
        sentence, _, place = str(error).partition(" - at `$.")
        raise UserError(f"`agent_args` {place.rstrip('`')}: {sentence[0].lower()}{sentence[1:]}") from None
    if settings.style not in REPAIR_STYLES:
        raise UnknownName("self-repair style", settings.style, REPAIR_STYLES)
    return settings


class SelfRepair:
    """The agent with its settings.

    Args:
        args: see `ARGUMENTS`.

    Raises:
        UserError: an argument is not known or does not fit.
    """

    info: ClassVar[AgentInfo] = INFO

    variant: str = "published"
    label: str = "self-repair: stored programs that failed, asked about once; not pass@1 of the model"
    scores_shots: tuple[str, ...] = ()

    def __init__(self, args: Mapping[str, Any]) -> None:
        self.settings = read_settings(args)

    @cached_property
    def config(self) -> AgentConfig:
        """Name, version and all arguments, the hash of the file among them: another file makes another run."""
        path = self.settings.path
        if not path.is_file():
            raise UserError(
                f"`agent_args` from={self.settings.source}: {path} is no file; `truegrade export` writes it"
            )
        digest = sha256_of(path)
        if self.settings.sha256 not in (None, digest):
            raise UserError(f"{path}: its hash is {digest}, not `agent_args` sha256={self.settings.sha256}")
        args = {**msgspec.to_builtins(self.settings), "sha256": digest}
        return AgentConfig(name=INFO.name, version=INFO.version, args=args)

    def render_prompt(self, problem: VisibleProblem, shown_tests: Sequence[str]) -> Prompt:
        """The question about the first of its programs that failed; without messages where all passed.

        Raises:
            UserError: the problem is of another kind or not in the file; or LiveCodeBench has no words for one of
                its failures, and ``crash`` is ``stop``.
        """
        row = self._row(problem)
        asked = [prompt for index in range(len(row.programs)) if (prompt := self._question(problem, row, index))]
        return asked[0] if asked else Prompt(messages=(), source="none: every stored program is kept")

    async def answer(self, session: Session, executor: Executor) -> Reply:
        """The reply to the question about one program; its old reply where there is no question."""
        row, index = self._row(session.problem), session.sample
        if index >= len(row.programs):
            raise UserError(
                f"{self.settings.path}: holds {len(row.programs)} programs of {session.problem.id}; pass"
                f" `n` {len(row.programs)}"
            )
        prompt = self._question(session.problem, row, index)
        if prompt is None:
            return _stored_reply(row, index, f"stored/{self.settings.path.name}")
        asked = await session.ask("programmer", 1, 0, prompt)
        if asked.reply.text is None:
            return session.give_up()
        return session.settle(SettledStep(accepted=True, round=1, index=0), asked)

    def _question(self, problem: VisibleProblem, row: AnswerRow, index: int) -> Prompt | None:
        """What is asked about one program; None if it is kept."""
        if row.graded_list[index]:
            return None
        try:
            return repair_prompt(
                problem.text, row.programs[index], row.decoded_metadata(index), self.settings.style
            )
        except PublishedCrash as crash:
            if self.settings.crash == "keep":
                return None
            raise UserError(
                f"{self.settings.path}: {problem.id}, program {index}: {crash}; `agent_args` crash=keep keeps such"
                " programs as they are"
            ) from None

    def _row(self, problem: VisibleProblem) -> AnswerRow:
        if problem.benchmark not in INFO.covers:
            raise INFO.no_words(problem)
        if problem.id not in self._rows:
            raise UserError(
                f"{self.settings.path}: holds no programs of {problem.id}; choose those it answers with `ids` or"
                " `limit`"
            )
        return self._rows[problem.id]

    @cached_property
    def _rows(self) -> dict[str, AnswerRow]:
        """The file's rows by problem.

        Raises:
            BadRecord: not such a file, without verdicts, or a problem stands there twice.
        """
        path, once = self.settings.path, TasksOnce(self.settings.path)
        rows = {}
        with SourceFile(path) as source:
            for place, row in read_rows(source):
                once.add(str(row.question_id), field=f"{place}.question_id")
                lengths = {len(row.programs), len(row.graded_list), len(row.metadata)}
                if len(lengths | ({len(row.replies)} if row.replies else set())) > 1:
                    problem = "code_list, output_list, graded_list and metadata must be of one length"
                    raise BadRecord(path, f"{problem}; give the _eval_all.json of graded programs", field=place)
                rows[str(row.question_id)] = row
        return rows


def _stored_reply(row: AnswerRow, index: int, model: str) -> Reply:
    """The stored reply of a program; the program itself where the file has no replies."""
    if row.replies:
        return Reply(text=row.replies[index], model=model)
    return Reply(text=row.programs[index], form="program", model=model)
