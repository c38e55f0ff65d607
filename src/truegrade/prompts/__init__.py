"""Byte-exact prompts: one text file each, loaded, checked against the index and rendered."""

from truegrade.prompts.entry import PromptEntry
from truegrade.prompts.index import PROMPTS
from truegrade.prompts.render import PromptText, load, render

__all__ = ["PROMPTS", "PromptEntry", "PromptText", "load", "render"]
