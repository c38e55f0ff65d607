"""The configuration of an evolution: a TOML file, validated before any computation."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from truegrade.apps.evolve.genomes import SamplingGenes, Space
from truegrade.apps.evolve.searchers import check_searcher
from truegrade.errors import BadRecord, UnknownName, UserError
from truegrade.files.json_text import place_of
from truegrade.profiles import find_profile
from truegrade.records import sha256_json

CONFIGS = Path(__file__).parent / "configs"
"""The configurations that come with the package, one TOML file each."""

MOST_BYTES = 1 << 16
"""Of a configuration; those that are shipped have 3,000 at most."""
LONGEST_LINE = 2048

MEASURED = ("pass_rate", "patch", "cost", "findings", "tokens")
CORALX = ("bugfix", "style", "security", "runtime", "syntax")
ADDED = ("solved", "parameters", "training")
"""What the loop itself knows: share of replies that pass every test; minus the adapter's parameters and minus the
tokens it was trained on, both in thousands. Seconds are never an objective: they differ from run to run."""

Positive = Annotated[int, msgspec.Meta(ge=1)]
NotNegative = Annotated[int, msgspec.Meta(ge=0)]


class Objectives(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is scored, and which scores the search is to raise."""

    kind: Literal["measured", "coralx"] = "measured"
    names: tuple[str, ...]
    """Those that the search sees; all are recorded."""
    reference: dict[str, float]
    """By name, the point above which hypervolume is counted."""
    choose: str
    """Name of the score by which the genome is chosen at the end; ``weighted_sum`` is CORAL-X's fitness."""


class Search(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A strategy and its arguments."""

    searcher: str
    args: dict[str, Any] = {}
    name: str = ""
    """What it is called in files; empty for the searcher's own."""

    @property
    def title(self) -> str:
        """The name in force."""
        return self.name or self.searcher


class RoleSizes(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Problems of each role; of quixbugs only ``mutants`` counts, of a file none."""

    train: Positive = 96
    selection: Positive = 64
    final: Positive = 200
    forgetting: NotNegative = 100
    pool: NotNegative = 0
    """With tests: expert iteration learns its own replies to these, and every other genome is selected by them."""
    replay: NotNegative = 0
    """Of the kinds that the base can do, whose own replies it may learn once more."""
    mutants: NotNegative = 2
    """New ones of each QuixBugs program that was not trained on."""
    json_only: bool = False
    """Train on the 23 QuixBugs programs that have JSON tests."""


class Training(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every adapter of the run has in common."""

    lessons: Literal["as-tested", "coralx"] = "as-tested"
    """The prompt by the profile, or CORAL-X's 96 texts."""
    loss_on: Literal["reply", "all"] = "reply"
    batch_size: Positive = 8
    longest: Positive = 512
    """Tokens of a lesson."""
    filter: str = "strict"
    """Profile by which a reply of the model's own becomes a lesson. One that can be deceived teaches deceiving."""


class BaseSampling(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the bare model is asked; adapted ones are asked as their genome says."""

    temperature: Annotated[float, msgspec.Meta(ge=0.0)] = 0.0
    """0 is greedy."""
    top_p: Annotated[float, msgspec.Meta(gt=0.0, le=1.0)] = 1.0
    max_tokens: Positive = 256

    @property
    def genes(self) -> SamplingGenes:
        """The same, as a genome has it."""
        return SamplingGenes(temperature=self.temperature, top_p=self.top_p, max_tokens=self.max_tokens)


class EvolutionSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file."""

    name: str
    model: str = "embedded/truegrade-micro"
    model_args: dict[str, Any] = {}
    """Of ``hf/...`` models: device, dtype, batch_size, revision."""
    task: str = "micro-repair"
    """``micro-repair``, ``quixbugs``, or the path of a benchmark file whose problems have a tag ``role``."""
    profile: str = "strict"
    variant: str | None = None
    seed: NotNegative = 0
    replicates: Positive = 1
    """Of every search; replicate i searches, trains and samples with ``seed + i``."""
    samples: Positive = 1
    """Replies to each problem."""
    population: Positive = 8
    generations: Positive = 6
    """``population * generations`` evaluations is the budget of every search."""
    tokens: Positive | None = None
    """Tokens, generated and learned, after which a search begins no other generation; None for no such bound."""
    workers: Positive | None = None
    """Processes; None for one a core. Results do not depend on it."""
    objectives: Objectives
    search: Search
    baselines: tuple[Search, ...] = ()
    space: Space = Space()
    roles: RoleSizes = RoleSizes()
    training: Training = Training()
    base_sampling: BaseSampling = BaseSampling()

    @property
    def budget(self) -> int:
        """Evaluations of every search."""
        return self.population * self.generations

    @property
    def searches(self) -> tuple[Search, ...]:
        """The search itself, then the baselines."""
        return (self.search, *self.baselines)

    def facts(self) -> dict[str, Any]:
        """Everything that decides a result, as plain data."""
        facts: dict[str, Any] = msgspec.to_builtins(self)
        del facts["workers"]
        return facts

    @property
    def sha256(self) -> str:
        """Identity: a run is resumed by the same settings only."""
        return sha256_json(self.facts())


def read_settings(config: str) -> EvolutionSettings:
    """Read a configuration: the name of a shipped one, or a TOML file.

    Raises:
        UnknownName: neither.
        BadRecord: a field is missing, unknown or out of range; the message names it.
    """
    path = Path(config)
    if not path.is_file():
        if path.suffix == ".toml":
            raise UserError(f"{path}: no such file; `truegrade evolve --init {path}` writes one to start from")
        if config not in shipped():
            raise UnknownName("evolution", config, shipped(), hint="or name a TOML file")
        path = CONFIGS / f"{config}.toml"
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadRecord(path, f"cannot be read ({error.strerror}); check its rights") from None
    return parse_settings(content, path)


def parse_settings(content: bytes, path: Path) -> EvolutionSettings:
    """Settings from the bytes of a file; see `read_settings`."""
    _refuse_long(content, path)
    try:
        settings = msgspec.toml.decode(content.decode("utf-8-sig"), type=EvolutionSettings)
    except msgspec.ValidationError as error:
        sentence, place = place_of(error)
        raise BadRecord(path, f"{sentence}; correct it", field=place) from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadRecord(path, "not UTF-8 text; write the file anew as UTF-8", line=line) from None
    except RecursionError:
        raise BadRecord(path, "nested too deeply: no setting is") from None
    except ValueError as error:  # msgspec's own is one; Python's is of a number with thousands of digits
        raise BadRecord(path, f"not TOML that can be read: {error}") from None
    except UserError as error:  # of a table's own checks
        raise BadRecord(path, str(error)) from None
    _refuse_endless(msgspec.to_builtins(settings), path)
    _check(settings, path)
    return settings


def _refuse_long(content: bytes, path: Path) -> None:
    """Python's reader of TOML takes memory by the square of a dotted key's length."""
    if len(content) > MOST_BYTES:
        raise BadRecord(path, f"has {len(content)} bytes, where a configuration has a few thousand; is it one?")
    for number, line in enumerate(content.splitlines(), 1):
        if len(line) > LONGEST_LINE:
            problem = f"longer than {LONGEST_LINE} bytes; put the items of a list on lines of their own"
            raise BadRecord(path, problem, line=number)


def _refuse_endless(value: Any, path: Path, place: str = "") -> None:
    """Raise BadRecord for ``inf`` and ``nan``: TOML has them, and nothing that is set here can be either."""
    if isinstance(value, float) and not isfinite(value):
        raise BadRecord(path, f"{value} is no setting; give a finite number", field=place)
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        inside = f"[{key}]" if isinstance(key, int) else f".{key}" if place else key
        _refuse_endless(item, path, place + inside)


def shipped() -> tuple[str, ...]:
    """Names of the configurations that come with the package."""
    return tuple(sorted(path.stem for path in CONFIGS.glob("*.toml")))


def _check(settings: EvolutionSettings, path: Path) -> None:
    """What no single field can tell."""
    asked = settings.objectives
    known = (*(MEASURED if asked.kind == "measured" else CORALX), *ADDED)
    for name in asked.names:
        if name not in known:
            raise BadRecord(path, str(UnknownName("objective", name, known)), field="objectives.names")
        if name not in asked.reference:
            raise BadRecord(
                path, f"no number for {name!r}: every objective needs one", field="objectives.reference"
            )
    if not asked.names or len(set(asked.names)) < len(asked.names):
        raise BadRecord(path, "name at least one objective, and each once", field="objectives.names")
    choices = (*known, "weighted_sum") if asked.kind == "coralx" else known
    if asked.choose not in choices:
        raise BadRecord(path, str(UnknownName("score", asked.choose, choices)), field="objectives.choose")
    for place, search in zip(("search", *["baselines"] * len(settings.baselines)), settings.searches, strict=True):
        try:
            check_searcher(search.searcher)
        except UserError as error:
            raise BadRecord(path, str(error), field=f"{place}.searcher") from None
    titles = [search.title for search in settings.searches]
    for title in titles:
        if titles.count(title) > 1:
            raise BadRecord(path, f"two searches are called {title!r}: give one a name", field="baselines.name")
    try:
        find_profile(settings.training.filter)
    except UserError as error:
        raise BadRecord(path, str(error), field="training.filter") from None
    if settings.training.lessons == "coralx" and settings.task != "quixbugs":
        raise BadRecord(path, "CORAL-X's lessons are of quixbugs: use as-tested", field="training.lessons")
