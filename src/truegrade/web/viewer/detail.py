"""One run in full: every number of its summary, what doubts it carries, and the facts of its manifest."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from truegrade.errors import UserError
from truegrade.pipeline.cautions import Caution
from truegrade.store import Manifest
from truegrade.store.manifest import read_manifest
from truegrade.web.viewer.current import Report, kind_of
from truegrade.web.viewer.lines import ProfileNumbers, RunLine, read_numbers
from truegrade.web.viewer.run_folders import Folder


class RunDetail(msgspec.Struct, frozen=True, kw_only=True):
    """What ``/api/run`` gives."""

    run: RunLine
    profiles: list[ProfileNumbers]
    """As of the last summary."""
    warnings: list[Caution] = []
    facts: list[tuple[str, str]]
    report: Report


def read_detail(folder: Folder, line: RunLine) -> RunDetail:
    """Read a run; of one that cannot be read only its line is told."""
    if line.state == "unreadable":
        return RunDetail(run=line, profiles=[], facts=[("folder", str(folder.path))], report="none")
    try:
        numbers = read_numbers(folder)
        manifest = read_manifest(folder.path / "manifest.json")
    except UserError as error:  # damaged since its line was read
        broken = msgspec.structs.replace(line, state="unreadable", problem=str(error))
        return RunDetail(run=broken, profiles=[], facts=[("folder", str(folder.path))], report="none")
    return RunDetail(
        run=line,
        profiles=numbers.profiles if numbers else [],
        warnings=numbers.warnings if numbers else [],
        facts=[(name, value) for name, value in _facts(folder, manifest) if value],
        report=kind_of(folder, line),
    )


def _facts(folder: Folder, manifest: Manifest) -> list[tuple[str, str]]:
    config = manifest.generation
    facts = [
        ("folder", str(folder.path)),
        ("data set", f"{manifest.benchmark.label}, sha256 {manifest.benchmark.dataset_sha256[:12]}…"),
        ("task arguments", _pairs(manifest.benchmark.args)),
        ("imported from", manifest.imported_from or ""),
        ("Truegrade", manifest.environment.get("truegrade", "")),
        ("git", manifest.environment.get("git", "")[:12]),
        ("adaptations", ", ".join(manifest.adaptations)),
    ]
    if config is None:
        return facts
    sampling = msgspec.to_builtins(config.sampling)
    return [
        *facts,
        ("address", config.base_url or ""),
        ("prompt", config.prompt_rule),
        ("sampling", _pairs({name: value for name, value in sampling.items() if value not in (None, ())})),
        ("model arguments", _pairs(config.model_args)),
        (
            "agent",
            f"{config.agent.name} {config.agent.version}, {_pairs(config.agent.args)}" if config.agent else "",
        ),
    ]


def _pairs(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())
