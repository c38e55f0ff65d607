"""The settings of a run, each declared once.

A field of `RunSettings` says type, default, help, section of the help, and how it is given on the command line
(`truegrade.records.config.Option`). From it come the options of ``run`` and ``grade``
(`truegrade.cli.options`), the keywords of the functions (`keywords_of`), the keys of suites, and the reference.
Sampling and the policy of requests are structs of their own, since completions and services are given them alone.
"""

import inspect
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import wraps
from pathlib import Path
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Concatenate,
    ForwardRef,
    NamedTuple,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

import msgspec

from truegrade.errors import UserError
from truegrade.records.config import REQUESTS, SAMPLING, Option, RequestPolicy, Sampling

if TYPE_CHECKING:
    from truegrade.agents import Agent
    from truegrade.benchmarks.base import BenchmarkSpec
    from truegrade.models.base import Model
    from truegrade.pipeline.loading import Limit
    from truegrade.pipeline.verdicts import Progress
    from truegrade.profiles import AnyProfile
    from truegrade.store.importers import Importer
    from truegrade.store.journal import Notice

DEFAULT_MODEL = "embedded/truegrade-micro"
"""Answers where no model is named: it needs no key and no network."""

MODEL, PROBLEMS, GRADING, OTHER = "Model", "Problems and rules", "Grading", "Other"
SECTIONS = (MODEL, PROBLEMS, SAMPLING, REQUESTS, GRADING, OTHER)
"""Of the help, in their order."""

Json = Mapping[str, Any]
"""Arguments whose values are JSON on the command line."""


class Silent:
    """The progress that shows nothing."""

    def beside(self) -> "Silent":
        """Show nothing either."""
        return self

    def start(self, stage: str, total: int, done: int) -> None:
        """Show nothing."""

    def advance(self, *, cost_usd: float | None = None, failed: bool = False) -> None:
        """Show nothing."""

    def finish(self) -> None:
        """Show nothing."""


def unheard(_: str) -> None:
    """The notice that nobody is told."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What running and grading have in common."""

    data: Annotated[str | Path | None, Option(
        "--data", "Local data file, or a folder that holds it.", PROBLEMS, basic=True,
    )] = None  # fmt: skip
    task_args: Annotated[Mapping[str, str], Option(
        "-T", "Task argument, e.g. -T split=test or -T prompt=base.", PROBLEMS,
    )] = {}  # fmt: skip
    profiles: Annotated[Sequence["AnyProfile"], Option(
        "--as", "Profile to grade under; the first also words the prompts.", PROBLEMS, metavar="PROFILE",
        suite=True, basic=True,
    )] = ("strict",)  # fmt: skip
    exclude_seen: Annotated[bool, Option(
        "--exclude-seen", "Leave out the problems that the adapter learned from, instead of refusing them.",
        PROBLEMS,
    )] = False  # fmt: skip
    ks: Annotated[Sequence[int], Option(
        "-k", "Report pass@K. [default: 1, 5, 10, 25, 50, 100 as far as there are samples]", GRADING, least=1,
    )] = ()  # fmt: skip
    workers: Annotated[int | None, Option(
        "--workers", "Programs run at once. [default: one per core]", GRADING, least=1, basic=True,
    )] = None  # fmt: skip
    cutoff: Annotated[str | None, Option(
        "--cutoff", "Training cut-off of the model, YYYY-MM-DD: splits contest problems by date.", GRADING,
        metavar="DATE", suite=True,
    )] = None  # fmt: skip
    packages: Annotated[Sequence[str], Option(
        "--packages", "Installed packages that programs may import in addition to the profile's, as a,b,c.",
        GRADING, metavar="NAMES", reads="commas",
    )] = ()  # fmt: skip
    executor: Annotated[str, Option(
        "--executor", "Where programs run: local; ray (a cluster of this machine's cores); ray:auto;"
        " ray://HOST:PORT.", GRADING, metavar="NAME[:ADDRESS]",
    )] = "local"  # fmt: skip
    log_to: Annotated[Sequence[str], Option(
        "--log-to", "Also log the results to mlflow[:URI], wandb[:PROJECT] or tensorboard:FOLDER.", GRADING,
        metavar="TRACKER",
    )] = ()  # fmt: skip
    allow_unsafe: Annotated[bool | None, Option(
        "--allow-unsafe", "Run programs even where only resource limits protect this machine (level 1).", OTHER,
        variable="TRUEGRADE_ALLOW_UNSAFE",
    )] = None  # fmt: skip
    progress: Annotated["Progress", Option("", "Watches the stages.")] = Silent()
    notice: Annotated["Notice", Option("", "Told what a person should know.")] = unheard


class RunSettings(Settings, frozen=True, kw_only=True):
    """How a model is asked and graded: the settings of `truegrade.run`."""

    model: Annotated["str | Model", Option(
        "--model -m", "provider/name, preset, embedded/NAME, hf/NAME, replay:FILE, baseline/NAME;"
        " without it the small included model.", MODEL,
        basic=True,
    )] = DEFAULT_MODEL  # fmt: skip
    adapter: Annotated[str | Path | None, Option(
        "--adapter", "LoRA or DoRA adapter in PEFT format; for embedded/NAME and hf/NAME (-M adapter=FOLDER).",
        MODEL, metavar="FOLDER",
    )] = None  # fmt: skip
    agent: Annotated["str | Agent | None", Option(
        "--agent", "Agent that calls the model in several steps: agentcoder, self-repair.", MODEL, metavar="NAME",
        basic=True,
    )] = None  # fmt: skip
    agent_args: Annotated[Json, Option(
        "-A", "Agent argument, e.g. -A variant=repaired (truegrade list agents).", MODEL,
    )] = {}  # fmt: skip
    base_url: Annotated[str | None, Option(
        "--base-url", "Address of an OpenAI-compatible service.", MODEL, basic=True,
    )] = None  # fmt: skip
    model_args: Annotated[Json, Option("-M", "Model argument, passed on to the service.", MODEL)] = {}
    n: Annotated[int, Option(
        "-n --epochs", "Samples per problem.", SAMPLING, least=1, suite=True, basic=True,
    )] = 1  # fmt: skip
    limit: Annotated["Limit", Option(
        "--limit", "The first N problems, or a 1-based range; counts programs where several problems share one.",
        PROBLEMS, metavar="N|A-B", reads="part", suite=True, basic=True,
    )] = None  # fmt: skip
    ids: Annotated[Sequence[str], Option("--id", "One problem, by its id.", PROBLEMS)] = ()
    sampling: Annotated[Sampling, Option("", "Parameters of generation.")] = Sampling()
    request_policy: Annotated[RequestPolicy, Option(
        "", "How hard the service is tried, and what it may cost.",
    )] = RequestPolicy()  # fmt: skip
    reuse: Annotated[str | Path | None, Option(
        "--reuse", "File of completion lists; rows with need_reproduce false are not requested again.", REQUESTS,
    )] = None  # fmt: skip
    cache: Annotated[bool | None, Option(
        "--cache/--no-cache", "Answer repeated requests from the response cache. [default: on for providers'"
        " own addresses]", REQUESTS,
    )] = None  # fmt: skip
    probe: Annotated[bool, Option(
        "--probe", "Probe first which parameters the server honours; the manifest records the result.", REQUESTS,
    )] = False  # fmt: skip
    batch: Annotated[bool, Option(
        "--batch", "Ask through the service's batches: half the price, answered within a day (openai/)."
        " The same command collects them.", REQUESTS,
    )] = False  # fmt: skip
    out: Annotated[str | Path | None, Option(
        "--out", "Folder of the run; with several runs, the folder that holds theirs. [default: runs/<name>]",
        OTHER, basic=True,
    )] = None  # fmt: skip

    @property
    def arguments_of_model(self) -> dict[str, Any]:
        """The arguments of the model, the adapter among them.

        Raises:
            UserError: there are two adapters.
        """
        return with_adapter(self.model_args, self.adapter)


def with_adapter(model_args: Json, adapter: str | Path | None) -> dict[str, Any]:
    """Arguments of a model, with the adapter where there is one.

    Raises:
        UserError: they name one already.
    """
    if adapter is not None and "adapter" in model_args:
        raise UserError("`adapter` and `model_args` adapter are the same: give one of them")
    return {**model_args} if adapter is None else {**model_args, "adapter": str(adapter)}


class PairsSettings(RunSettings, frozen=True, kw_only=True):
    """The settings of several runs: every model on every benchmark."""

    models: Annotated[Sequence["str | Model"], Option(
        "", "As `model`; none for those of the suites, or the default one.",
    )] = ()  # fmt: skip
    skip_missing: Annotated[bool, Option(
        "--skip-missing", "Of several benchmarks or a suite: leave out those whose data are not on this machine;"
        " the page names them.", OTHER,
    )] = False  # fmt: skip


class GradeSettings(Settings, frozen=True, kw_only=True):
    """How a run, or a file of completions, is graded: the settings of `truegrade.grade`."""

    benchmark: Annotated["str | BenchmarkSpec | None", Option(
        "--benchmark -b", "Benchmark that the completions of a file answer; runs and Inspect logs record it.",
        PROBLEMS, basic=True,
    )] = None  # fmt: skip
    file_format: Annotated["str | Importer | None", Option(
        "--format", "Format of the file. [default: detected]", PROBLEMS, basic=True,
    )] = None  # fmt: skip
    limit: Annotated["Limit", Option(
        "--limit", "Problems that a file answers: the first N, or a 1-based range.", PROBLEMS, metavar="N|A-B",
        reads="part", basic=True,
    )] = None  # fmt: skip
    model_name: Annotated[str | None, Option(
        "--model-name", "Model that a file's completions come from. [default: the field model of its rows, else"
        " the file's name]", PROBLEMS, metavar="NAME", basic=True,
    )] = None  # fmt: skip
    timeout_s: Annotated[float | None, Option(
        "--timeout", "CPU seconds of a program, call or test, instead of the profiles' own limits: settles"
        " verdicts at or near a time limit.", GRADING, metavar="SECONDS", basic=True,
    )] = None  # fmt: skip
    adapter: Annotated[str | Path | None, Option(
        "--adapter", "Adapter that the completions were made with: problems that it learned from are refused.",
        MODEL, metavar="FOLDER",
    )] = None  # fmt: skip
    out: Annotated[str | Path | None, Option(
        "--out", "Folder of the run that is made from a file.", OTHER, basic=True,
    )] = None  # fmt: skip


# ----------------------------------------------------------------------------------------------------------------
# What is read off the fields.


class Setting(NamedTuple):
    """A field of settings."""

    name: str
    kind: Any
    """Its type, without None."""
    spelled: str
    """Its type, as one writes it."""
    default: Any
    option: Option
    within: str | None
    """The field of the struct that it is a part of, such as ``sampling``."""


def settings_of(kind: type[msgspec.Struct], but: Container[str] = ()) -> Iterator[Setting]:
    """The settings of a struct in the order of its help, without those named; of sampling and request policy each
    parameter as well."""
    found = list(_fields(kind(), None))
    order = {heading: place for place, heading in enumerate((*SECTIONS, ""))}
    yield from sorted(
        (each for each in found if each.name not in but), key=lambda each: order[each.option.section]
    )


def _fields(of: msgspec.Struct, within: str | None) -> Iterator[Setting]:
    annotations: dict[str, Any] = {}
    for base in reversed(type(of).__mro__):
        annotations |= inspect.get_annotations(base)
    for name, annotation in annotations.items():
        if get_origin(annotation) is not Annotated:
            continue
        declared, option = get_args(annotation)
        default = getattr(of, name)
        yield Setting(name, _without_none(declared), _spelled(declared), default, option, within)
        if isinstance(default, Sampling | RequestPolicy):
            yield from _fields(default, name)


def _without_none(declared: Any) -> Any:
    """The type of what is given; text where it may be one of several."""
    if isinstance(declared, ForwardRef):
        return str
    if get_origin(declared) not in (Union, UnionType):
        return declared
    left = [each for each in get_args(declared) if each not in (type(None), msgspec.UnsetType)]
    return Path if Path in left else left[0]


def _spelled(declared: Any) -> str:
    if isinstance(declared, ForwardRef):
        return declared.__forward_arg__
    text = declared.__name__ if isinstance(declared, type) and not get_args(declared) else str(declared)
    return re.sub(r"[a-z_]\w*\.|ForwardRef\(|['\)]", "", text)


GRADING_ONLY = tuple(each.name for each in settings_of(RunSettings) if each.option.section == GRADING)
"""What `truegrade.generate` has no use for."""

COMMANDS: Mapping[str, tuple[type[msgspec.Struct], Container[str]]] = {
    "run": (PairsSettings, ()),
    "grade": (GradeSettings, ()),
}
"""Whose options are settings: of which struct, without which of its fields."""

Given = TypeVar("Given")
Made = TypeVar("Made")
Fields = ParamSpec("Fields")


def keywords_of(
    kind: Callable[Fields, msgspec.Struct], but: Container[str] = ()
) -> Callable[[Callable[[Given, dict[str, Any]], Made]], Callable[Concatenate[Given, Fields], Made]]:
    """Give a function the fields of a struct as keywords, without those named.

    The function is handed those that the caller gave, None being as good as nothing: what is not said can be a
    suite's to say. Type checkers and editors see the constructor of the struct, `inspect.signature` and
    `help` what is taken.
    """
    assert isinstance(kind, type)
    settings = [each for each in settings_of(kind, but) if each.within is None]

    def decorate(function: Callable[[Given, dict[str, Any]], Made]) -> Callable[Concatenate[Given, Fields], Made]:
        first = next(iter(inspect.signature(function).parameters.values()))
        keyword = inspect.Parameter.KEYWORD_ONLY
        taken = [inspect.Parameter(s.name, keyword, default=s.default, annotation=s.spelled) for s in settings]
        signature = inspect.signature(function).replace(parameters=[first, *taken])

        @wraps(function)
        def call(*args: Any, **given: Any) -> Made:
            try:
                arguments = signature.bind(*args, **given).arguments
            except TypeError as error:
                raise TypeError(f"{function.__name__}() {error}") from None
            said = {name: value for name, value in arguments.items() if value is not None}
            return function(said.pop(first.name), said)

        call.__signature__ = signature  # type: ignore[attr-defined]
        texts = "".join(f"\n        {each.name}: {each.option.text}" for each in settings)
        call.__doc__ = _with_arguments(str(function.__doc__), texts)
        return call

    return decorate


def _with_arguments(text: str, more: str) -> str:
    """A docstring with further arguments below its last one."""
    start = text.index("Args:")
    end = text.index("\n\n", start)
    return f"{text[:end]}{more}{text[end:]}"
