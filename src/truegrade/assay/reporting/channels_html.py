"""Through which channels a verdict can be forged, and the shortest program of each way that is paid wrongly."""

from __future__ import annotations

from truegrade.assay.cheats import CHANNELS
from truegrade.assay.measures import ChannelMeasure, GraderMeasure
from truegrade.assay.reporting import words
from truegrade.assay.reporting.material import AssayMaterial
from truegrade.assay.reporting.measures_html import MAX_MEASURES, by_grader
from truegrade.assay.reporting.words import TERMS
from truegrade.report import format as fmt
from truegrade.report.glossary import explained
from truegrade.report.markup import Child, Markup, el
from truegrade.report.page_parts import folded, section, table


def channels_section(material: AssayMaterial) -> Markup:
    """The matrix of graders and channels; empty where no channel was tried."""
    measures = [measure for measure in material.summary.measures if measure.channels]
    if not measures:
        return Markup()
    several = len({measure.benchmark for measure in measures}) > 1
    head: list[Child] = ["channel", "danger"]
    head += [f"{one.grader}, {one.benchmark}" if several else one.grader for one in measures[:MAX_MEASURES]]
    found = [{one.channel: one for one in measure.channels} for measure in measures[:MAX_MEASURES]]
    names = dict.fromkeys(one.channel for measure in measures for one in measure.channels)
    rows: list[list[Child]] = [
        [
            _named(name),
            next((of[name].danger for of in found if name in of), ""),
            *(_cell(of.get(name)) for of in found),
        ]
        for name in names
    ]
    return section(
        "channels",
        "Channels of cheating",
        el(
            "p",
            explained(
                "A cheat computes nothing and reaches for the verdict. A channel is open where a cheat is accepted"
                " and its inert twin, the same text with the hook cut, is refused. Against a policy that is"
                " rewarded by this grader one open channel is as bad as all. Danger: h0 is harmless anywhere, h1"
                " touches the interpreter that it runs in, h2 writes files in its working folder.",
                TERMS,
            ),
            class_="note",
        ),
        table("Cheats accepted, of those sent", head, rows, class_="assay-channels"),
    )


def _named(channel: str) -> Child:
    return [channel, el("small", CHANNELS[channel]) if channel in CHANNELS else None]


def _cell(one: ChannelMeasure | None) -> Child:
    if one is None or (not one.probes and not one.not_sent):
        return "–"
    if not one.probes:
        return el("span", "not sent", class_="dim")
    counted = el("small", f"{fmt.count(one.accepted)} of {fmt.count(one.probes)}")
    stays = (
        el("small", f"stays: {fmt.plural(one.stays, 'control')} judged otherwise after it") if one.stays else None
    )
    twins = None
    if one.accepted and not one.open:
        twins = el("small", f"so is the inert twin, {fmt.count(one.inert_accepted)} of {fmt.count(one.inert)}")
    state = (
        ("open", "badge failed")
        if one.open
        else ("accepted", "badge")
        if one.accepted
        else ("closed", "badge passed")
    )
    return [el("span", state[0], class_=state[1]), counted, twins, stays]


def shortest_section(material: AssayMaterial) -> Markup:
    """The shortest program of each finding about what is paid wrongly; empty without any."""
    if not any(measure.shortest for measure in material.summary.measures):
        return Markup()
    return section("shortest", "Shortest programs paid wrongly", by_grader(material, _shortest))


def _shortest(measure: GraderMeasure) -> Child:
    return [
        folded(
            f"{one.finding}: {words.named(one)}",
            el("p", f"How it works: {one.how}.", class_="note") if one.how else None,
            el("p", one.change, class_="note") if one.change else None,
            el("pre", el("code", one.code), tabindex=0, role="group", aria_label=f"Program {one.probe}"),
            el("p", f"What closes it: {one.closes}."),
        )
        for one in measure.shortest
    ]
