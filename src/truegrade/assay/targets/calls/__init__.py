"""How graders of others are called (``call``), one file each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from truegrade.assay.targets.calls import (
    exit_code,
    open_instruct,
    openrlhf,
    plain,
    rllm,
    sandboxfusion,
    trl,
    truegrade,
    verl,
)
from truegrade.assay.targets.calls.base import Call

CALLS: Mapping[str, Call] = MappingProxyType(
    {
        call.name: call
        for call in (
            plain.CALL,
            trl.CALL,
            trl.TEXT_CALL,
            verl.CALL,
            rllm.CALL,
            openrlhf.CALL,
            open_instruct.CALL,
            exit_code.CALL,
            sandboxfusion.CALL,
            truegrade.CALL,
        )
    }
)
"""By name."""
