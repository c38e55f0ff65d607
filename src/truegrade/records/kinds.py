"""Kinds of problem: what a profile has rules for, whatever the data set."""

from __future__ import annotations

from typing import Literal, get_args

Kind = Literal[
    "function",
    "description",
    "oracle",
    "repair",
    "output_prediction",
    "test_output_prediction",
    "state_prediction",
    "input_prediction",
    "execution_choice",
    "contest",
    "suite",
]
"""Kinds of problem: complete a function from its head (HumanEval); write one from a description (MBPP); either,
compared with a reference on inputs (the plus sets); repair a program;
predict an output, of a program or of a described function; predict a value inside a call; predict an input; choose
between two programs; solve a contest problem; write what a suite of unit tests is about (BigCodeBench)."""
KINDS: tuple[Kind, ...] = get_args(Kind)
