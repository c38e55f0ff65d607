"""What this machine offers, found by looking: `truegrade doctor`."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from truegrade import __version__
from truegrade.app import BrokenApp, installed_apps, own_apps, unusable_parts
from truegrade.datasets import list_sources
from truegrade.errors import UserError
from truegrade.files.extras import EXTRAS, has_package
from truegrade.grading.references import references_kept
from truegrade.models.providers import PROVIDERS
from truegrade.pipeline.verdicts import package_versions
from truegrade.profiles import PROFILES, open_profile
from truegrade.records import Reason
from truegrade.sandbox import Limits, Sandbox
from truegrade.store.responses import cache_state, responses_path


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """One thing looked at."""

    name: str
    state: Literal["ok", "missing", "warning"]
    detail: str


def examine() -> list[Diagnosis]:
    """Look at interpreter, machine, sandbox, keys, data and extras; runs two tiny programs, asks no network."""
    return [
        Diagnosis(name="truegrade", state="ok", detail=__version__),
        Diagnosis(name="python", state="ok", detail=f"{sys.version.split()[0]} at {sys.executable}"),
        Diagnosis(name="machine", state="ok", detail=f"{platform.platform()}, {os.cpu_count()} cores"),
        _sandbox(),
        *_packages(),
        *_keys(),
        *_data(),
        _responses(),
        _references(),
        *(_extra(name, module) for name, module in EXTRAS.items()),
        *_apps(),
    ]


def in_short(findings: Sequence[Diagnosis]) -> list[str]:
    """Four lines that say whether one can begin, and a line for each warning."""
    by_name = {finding.name: finding for finding in findings}
    sets, extras = (
        [finding for finding in findings if finding.name.startswith(f"{kind} ")] for kind in ("data", "extra")
    )
    here, installed = (sum(finding.state == "ok" for finding in group) for group in (sets, extras))
    keys = [finding.name.removeprefix("key ") for finding in findings if finding.name.startswith("key ")]
    protection = by_name["sandbox"].detail
    if protection.startswith(whole := "level 3, self-test passed"):
        protection = whole
    told = f"keys of {', '.join(keys)}" if keys else "no key of a service is set"
    return [
        f"truegrade {__version__}, Python {platform.python_version()}, {os.cpu_count()} cores",
        f"sandbox: {protection}",
        f"models: the included one; {told}",
        f"data: {here} of {len(sets)} sets are on this machine; {installed} of {len(extras)} extras are installed",
        *(
            f"warning: {finding.name}: {finding.detail}"
            for finding in findings
            if finding.state == "warning" and finding.name != "sandbox"
        ),
    ]


def _sandbox() -> Diagnosis:
    """Run a right and a cheating program; the second must not pass."""
    with Sandbox(Limits(cpu_s=5.0), workers=1, allow_unsafe=True) as sandbox:
        honest = sandbox.judge("def f():\n    return 1\n", "assert f() == 1", ["f"])
        cheat = sandbox.judge("import os\ndef f():\n    os._exit(0)\n", "assert f() == 1", ["f"])
        level, protection = sandbox.level, sandbox.protection
    if honest.status != Reason.PASSED or cheat.status == Reason.PASSED:
        detail = (
            f"self-test failed: correct program {honest.status} ({honest.detail}), cheating program {cheat.status}"
        )
        return Diagnosis(name="sandbox", state="warning", detail=detail)
    detail = f"level {level}, self-test passed: {protection}"
    if level == 1:
        detail += "; programs can read files and use the network with your rights"
    return Diagnosis(name="sandbox", state="ok" if level > 1 else "warning", detail=detail)


def _packages() -> Iterator[Diagnosis]:
    """What programs may import besides the standard library, by profile."""
    profiles: dict[tuple[str, ...], list[str]] = {}
    for name in PROFILES:
        profiles.setdefault(open_profile(name).limits.packages, []).append(name)
    for names, of in sorted(profiles.items(), key=lambda item: -len(item[1])):
        known = package_versions(names)
        told = ", ".join(f"{name} {known[name]}" if name in known else f"{name} (not installed)" for name in names)
        whose = f"{len(of)} profiles" if len(of) > 3 else ", ".join(of)
        yield Diagnosis(
            name="packages of programs",
            state="ok" if len(known) == len(names) else "warning",
            detail=f"{told or 'none'}: {whose}; --packages offers more",
        )


def _keys() -> list[Diagnosis]:
    """Which services have a key; the keys themselves are never shown."""
    findings = []
    for name, provider in PROVIDERS.items():
        present = [variable for variable in provider.key_variables if os.environ.get(variable)]
        if present:
            findings.append(Diagnosis(name=f"key {name}", state="ok", detail=f"{present[0]} is set"))
    if not findings:
        findings.append(
            Diagnosis(name="keys", state="missing", detail="none set; `truegrade list models` names the variables")
        )
    return findings


def _data() -> list[Diagnosis]:
    return [
        Diagnosis(
            name=f"data {listed.source.name}",
            state="ok" if listed.local else "missing",
            detail=str(listed.local.path) if listed.local else f"truegrade data pull {listed.source.name}",
        )
        for listed in list_sources()
    ]


def _apps() -> Iterator[Diagnosis]:
    """The apps, ours first, and what of them cannot be used."""
    for app in (*own_apps(), *installed_apps()):
        if isinstance(app, BrokenApp):
            yield Diagnosis(name=f"app {app.name}", state="warning", detail=app.fault)
        else:
            faults = unusable_parts(app)
            said = "; ".join([f"{app.summary} ({app.package})" if app.package else app.summary, *faults])
            yield Diagnosis(name=f"app {app.name}", state="warning" if faults else "ok", detail=said)


def _responses() -> Diagnosis:
    """The response cache: where it lies and how large it is."""
    path = responses_path()
    try:
        state = cache_state(path)
    except OSError as error:
        return Diagnosis(name="response cache", state="warning", detail=str(error))
    if state is None:
        return Diagnosis(name="response cache", state="ok", detail=f"empty; it will be {path}")
    detail = f"{state.replies} replies, {state.bytes / 1e6:.1f} MB at {path}; delete the file to forget them"
    return Diagnosis(name="response cache", state="ok", detail=detail)


def _references() -> Diagnosis:
    """What is kept of the outputs of references: where it lies and how large it is."""
    try:
        kept = references_kept()
    except UserError as error:
        return Diagnosis(name="references", state="warning", detail=str(error))
    state = kept.state()
    detail = (
        f"outputs of {state.entries} kept, {state.bytes / 1e6:.1f} of at most {kept.most_bytes / 1e6:.0f} MB, in"
        f" {kept.folder}; delete the folder to have them computed again"
    )
    return Diagnosis(name="references", state="ok", detail=detail)


def _extra(name: str, module: str) -> Diagnosis:
    if not has_package(module):
        return Diagnosis(name=f"extra {name}", state="missing", detail=f"pip install 'truegrade[{name}]'")
    return Diagnosis(name=f"extra {name}", state="ok", detail="installed")
