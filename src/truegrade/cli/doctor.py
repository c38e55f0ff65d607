"""`truegrade doctor`: what this machine offers; with ``--model``, what a model's server honours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from truegrade.cli.options import (
    TellingCommand,
    adapter_option,
    base_url_option,
    echo,
    json_option,
    model_args_option,
    print_json,
)


@click.command(cls=TellingCommand)
@click.option("--model", "-m", help="Probe this model instead: provider/name, preset, embedded/NAME, hf/NAME.")
@base_url_option
@adapter_option
@click.option("--base-model", help="Base model of an adapter, where a service offers both by name.")
@model_args_option
@click.option("--all", "everything", is_flag=True, help="Name every data set, extra and package of programs.")
@click.option("--text", is_flag=True, help="Use text completion, as for base models, instead of chat.")
@json_option
def doctor(model: str | None, base_url: str | None, adapter: Path | None, base_model: str | None,
           model_args: dict[str, Any], text: bool, everything: bool, as_json: bool) -> None:  # fmt: skip
    """Check this machine: protection level and its reasons, cores, keys, extras, data, response cache.

    With --model, ask that model a dozen short questions of 32 tokens and say which of n, seed, stop, temperature,
    max_tokens, logprobs and model name its server honours, ignores or refuses, and whether an adapter has an
    effect.
    """
    if model is not None:
        from truegrade.settings import with_adapter

        _probe(model, base_url, with_adapter(model_args, adapter), base_model, text=text, as_json=as_json)
        return
    if base_url or adapter or base_model or model_args or text:
        raise click.UsageError("these options are for a probe: name what to probe with --model")
    from truegrade.cli.diagnosis import examine, in_short

    findings = examine()
    if as_json:
        print_json(findings)
    elif not everything:
        for line in in_short(findings):
            echo(line)
        echo("`truegrade doctor --all` names data sets, extras and packages of programs")
    else:
        from truegrade.report.listings import print_findings

        print_findings(findings)


def _probe(
    model: str, base_url: str | None, args: dict[str, Any], base_model: str | None, *, text: bool, as_json: bool
) -> None:
    from truegrade.pipeline.asking import probe_by_name

    report = probe_by_name(
        model, base_url=base_url, args=args, base_model=base_model, style="text" if text else "chat"
    )
    if as_json:
        print_json(report)
    else:
        from truegrade.report.listings import print_probe

        print_probe(report)
