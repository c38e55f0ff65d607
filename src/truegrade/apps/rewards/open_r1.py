"""open-r1: the reward ``truegrade`` beside those of its registry, which is closed.

    accelerate launch --module truegrade.apps.rewards.open_r1 --config recipe.yaml

is ``src/open_r1/grpo.py`` of huggingface/open-r1@1416fa0 with one name more for the recipe's ``reward_funcs``. The
tests are in the column ``verification_info``, and the settings of
`truegrade.apps.rewards.grader.RewardGrader` come from the environment: ``TRUEGRADE_REWARD_URL`` and so on.
A script of your own calls `register` before it imports ``open_r1.grpo``.
"""

from __future__ import annotations

import copy
import runpy
import sys
from collections.abc import Callable
from typing import Any

from truegrade.apps.rewards.trl import truegrade_reward
from truegrade.errors import UserError
from truegrade.files.extras import importing

NAME = "truegrade"


def register(**settings: Any) -> None:
    """Let the recipe's ``reward_funcs`` name ``truegrade``.

    Args:
        settings: of `truegrade.apps.rewards.trl.truegrade_reward`.

    Raises:
        UserError: a setting is at fault, or open-r1 is not installed.
    """
    with importing(
        "open_r1", "truegrade.apps.rewards.open_r1", "install it from https://github.com/huggingface/open-r1"
    ):
        import open_r1.rewards

    ours = truegrade_reward(**settings)
    theirs = open_r1.rewards.get_reward_funcs

    def get_reward_funcs(script_args: Any) -> list[Callable[..., Any]]:
        others = copy.copy(script_args)
        others.reward_funcs = [name for name in script_args.reward_funcs if name != NAME]
        found = iter(theirs(others))
        return [ours if name == NAME else next(found) for name in script_args.reward_funcs]

    open_r1.rewards.get_reward_funcs = get_reward_funcs


def main() -> None:
    """``open_r1.grpo`` as a command, with the reward ``truegrade``."""
    try:
        register()
    except UserError as error:
        print(f"truegrade: {error}", file=sys.stderr)
        sys.exit(2)
    runpy.run_module("open_r1.grpo", run_name="__main__")


if __name__ == "__main__":
    main()
