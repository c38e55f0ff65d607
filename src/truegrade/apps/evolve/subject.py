"""The model under evolution, loaded once, and the plain data that a worker process is sent to evaluate with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Any, Protocol

import msgspec

from truegrade.apps.evolve.roles import BENCHMARK as MICRO_REPAIR
from truegrade.apps.evolve.roles import MicroSizes, Roles, micro_roles, quixbugs_roles
from truegrade.apps.evolve.settings import EvolutionSettings
from truegrade.apps.evolve.training.lessons import Lesson, Trainer, coralx_lessons, lessons_of
from truegrade.benchmarks import load_benchmark
from truegrade.datasets.learned import past_of
from truegrade.errors import UserError
from truegrade.grading.static_findings import require_linters
from truegrade.models.local import ARGUMENT, Engine, Generated
from truegrade.profiles import find_profile, open_profile
from truegrade.records import Problem, Prompt
from truegrade.records.config import Sampling
from truegrade.sandbox import Sandbox

# ----------------- The model under evolution: its base is loaded once; adapters are trained for it and merged.


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """One reply to ask for."""

    prompt: Prompt
    sampling: Sampling
    sample: int


class Subject(Protocol):
    """A base model in this process."""

    @property
    def trainer(self) -> Trainer:
        """What trains adapters of it."""

    def answer(self, adapter: Path | None, asks: Sequence[Ask]) -> list[Generated]:
        """Replies of the model with an adapter on, or of the bare one; in the order asked for.

        Raises:
            UserError: the adapter is missing, damaged, or made for another model.
        """

    def close(self) -> None:
        """Release memory."""


class EmbeddedSubject:
    """A small Llama in numpy; an adapter is merged into a fresh copy of its weights."""

    def __init__(self, model: str) -> None:
        from truegrade.apps.evolve.training.micro_trainer import EmbeddedTrainer
        from truegrade.models.embedded import SHIPPED, embedded_folder

        self._trainer = EmbeddedTrainer(model)
        name = model.partition("/")[2]
        self._folder, self._name = embedded_folder(name), SHIPPED if name == SHIPPED else None

    @property
    def trainer(self) -> Trainer:
        """In numpy."""
        return self._trainer

    def answer(self, adapter: Path | None, asks: Sequence[Ask]) -> list[Generated]:
        """See `Subject`."""
        from truegrade.models.embedded import EmbeddedEngine
        from truegrade.models.micro.llama import ROWS

        engine = EmbeddedEngine(self._folder, self._name, adapter)
        return answered(engine, asks, ROWS)  # so many keep it on one thread: processes share the cores

    def close(self) -> None:
        """Release the weights."""
        self._trainer.close()


class TransformersSubject:
    """A model of transformers. Trainer and engine share its weights, so adapters come off after every use."""

    def __init__(self, model: str, args: Mapping[str, Any]) -> None:
        from truegrade.apps.evolve.training.cache import adapters_folder
        from truegrade.apps.evolve.training.peft_trainer import PeftTrainer
        from truegrade.models.transformers_local import TransformersEngine, load, read_options

        name, options = model.partition("/")[2], read_options(args)
        if options.adapter is not None:
            raise UserError(f"{model}: adapters are evolved on a bare base: leave adapter out of model_args")
        loaded = load(name, options)
        unfinished = adapters_folder() / ".unfinished"  # a killed search goes on after the last whole epoch
        self._trainer = PeftTrainer(name, options, loaded=loaded, checkpoints=unfinished)
        self._engine = TransformersEngine(name, options, loaded=loaded)

    @property
    def trainer(self) -> Trainer:
        """PEFT's."""
        return self._trainer

    def answer(self, adapter: Path | None, asks: Sequence[Ask]) -> list[Generated]:
        """See `Subject`."""
        self._engine.wear(adapter)
        try:
            return answered(self._engine, asks, self._engine.parallel)
        finally:
            self._engine.wear(None)

    def close(self) -> None:
        """Release the weights."""
        self._trainer.close()
        self._engine.close()


def check_packages(model: str) -> None:
    """Refuse, before any other work, where a package is missing that an evolution needs; raises UserError."""
    require_linters()
    if model.startswith("hf/"):
        from truegrade.models.transformers_local import TransformersOptions
        from truegrade.models.transformers_local import check_packages as check

        check(model.partition("/")[2], TransformersOptions(), "peft")


def open_subject(model: str, args: Mapping[str, Any]) -> Subject:
    """Load a base model.

    Raises:
        UserError: it is not one that runs in this process, or cannot be loaded.
    """
    if not model.startswith(("embedded/", "hf/")):
        raise UserError(f"{model!r} cannot be evolved: adapters need a model in this process, embedded/ or hf/")
    if model.startswith("hf/"):
        return TransformersSubject(model, args)
    if args:
        raise UserError(f"{model} takes no model_args: leave out {', '.join(args)}")
    return EmbeddedSubject(model)


def answered(engine: Engine, asks: Sequence[Ask], at_once: int) -> list[Generated]:
    """Replies in the order asked for, never more than so many under way."""
    futures: list[Future[Generated]] = []
    under_way: set[Future[Generated]] = set()
    for ask in asks:
        if len(under_way) >= at_once:
            _, under_way = wait(under_way, return_when=FIRST_COMPLETED)
        futures.append(engine.submit(ask.prompt, ask.sampling, ask.sample))
        under_way.add(futures[-1])
    return [future.result() for future in futures]


# --------------- Everything that evaluating a genome needs, as plain data: what a worker process is sent once.


TESTED = ("selection", "final", "forgetting")
ROLES = ("train", *TESTED, "pool", "replay")
"""What a problem's tag ``role`` may say, in a benchmark file of one's own."""


class Workplace(msgspec.Struct, frozen=True, kw_only=True):
    """Settings, problems and lessons."""

    settings: EvolutionSettings
    roles: Roles
    lessons: tuple[Lesson, ...]
    adapters: Path | None = None
    """Folder of the adapter cache; None for the usual one."""
    allow_unsafe: bool = False


def prepare(
    settings: EvolutionSettings,
    *,
    data: Path | None = None,
    adapters: Path | None = None,
    allow_unsafe: bool = False,
    exclude_seen: bool = False,
) -> Workplace:
    """Draw the roles and word the lessons.

    Args:
        settings: of the evolution.
        data: local data file or folder of quixbugs.
        adapters: folder of the adapter cache.
        allow_unsafe: as for `truegrade.sandbox.Sandbox`.
        exclude_seen: leave out the problems to be tested that the base model learned from; else they are refused.

    Raises:
        Contamination: something is trained on and tested on.
        UserError: data or a profile is missing, or does not fit the task.
    """
    roles = _unseen(_roles(settings, data, allow_unsafe), settings, exclude_seen=exclude_seen)
    _refuse_impossible(settings, pool=bool(roles.pool))
    if settings.training.lessons == "coralx":
        lessons = coralx_lessons(roles.train, json_only=settings.roles.json_only)
    else:
        lessons = lessons_of(roles.train, find_profile(settings.profile), settings.variant)
    return Workplace(settings=settings, roles=roles, lessons=lessons, adapters=adapters, allow_unsafe=allow_unsafe)


def _unseen(roles: Roles, settings: EvolutionSettings, *, exclude_seen: bool) -> Roles:
    """The roles without what the base model learned from, by the record in its folder or its adapter's."""
    adapter = settings.model_args.get(ARGUMENT)
    notes, left = [], {}
    for role in TESTED:
        asked: tuple[Problem, ...] = getattr(roles, role)
        past = past_of(settings.model, adapter, asked, exclude_seen=exclude_seen)
        left[role] = tuple(problem for problem in asked if problem.id not in past.seen)
        if past.seen:
            notes.append(f"left out of {role}, because the base learned from them: {', '.join(past.seen)}")
        if past.training_data == "unknown" and asked:
            notes.append(f"the base wears an adapter whose training data is unknown: {role} may hold what it saw")
    return msgspec.structs.replace(roles, notes=(*roles.notes, *notes), **left)


def _roles(settings: EvolutionSettings, data: Path | None, allow_unsafe: bool) -> Roles:
    sizes = settings.roles
    if settings.task == MICRO_REPAIR:
        wanted = MicroSizes(
            train=sizes.train, selection=sizes.selection, final=sizes.final, forgetting=sizes.forgetting,
            pool=sizes.pool, replay=sizes.replay,
        )  # fmt: skip
        return micro_roles(settings.seed, wanted)
    if settings.task == "quixbugs":
        profile = open_profile("strict")  # mutants must fail and references pass under rules without defects
        with Sandbox(profile.limits, allow_unsafe=allow_unsafe) as sandbox:
            problems = load_benchmark("quixbugs", data).problems
            return quixbugs_roles(
                problems, profile, sandbox, seed=settings.seed, json_only=sizes.json_only, mutants=sizes.mutants
            )
    if settings.task.endswith(".py"):
        loaded = load_benchmark(settings.task, data)
        return _tagged(loaded.name, loaded.problems)
    raise UserError(
        f"task {settings.task!r} cannot be evolved on: name micro-repair, quixbugs or a benchmark file"
    )


def _refuse_impossible(settings: EvolutionSettings, *, pool: bool) -> None:
    """Refuse strategies that the problems do not allow, before anything is trained.

    Expert iteration without problems to answer would train on the lessons twice, and say nothing.
    """
    for search in settings.searches:
        args = search.args
        own = args.get("rounds", search.searcher == "expert-iteration") or args.get("references")
        if not pool and (own or settings.space.rounds[1]):
            raise UserError(
                f"{search.title} learns from problems of the role 'pool', and there is none: set roles.pool of"
                " micro-repair, or give problems of a benchmark file that role"
            )


def _tagged(benchmark: str, problems: tuple[Problem, ...]) -> Roles:
    """Roles as the problems' tags say."""
    by_role: dict[str, list[Problem]] = {role: [] for role in ROLES}
    for problem in problems:
        role = problem.tags.get("role")
        if role not in by_role:
            raise UserError(f"problem {problem.id}: its tag 'role' is {role!r}; give it one of {', '.join(ROLES)}")
        by_role[role].append(problem)
    for role in ROLES[:3]:
        if not by_role[role]:
            raise UserError(f"benchmark {benchmark}: no problem has the role {role!r}; at least one is needed")
    chosen = {role: tuple(found) for role, found in by_role.items()}
    return Roles(benchmark=benchmark, notes=("the roles are those of the benchmark file",), **chosen)
