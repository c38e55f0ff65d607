"""Execution rows from the user's own repository: items that no model has been trained on."""

from truegrade.builders.mine.build import MineOptions, build
from truegrade.builders.mine.inputs import FoundFunction, discover
from truegrade.builders.mine.repository import ALLOWED_MODULES

__all__ = ["ALLOWED_MODULES", "FoundFunction", "MineOptions", "build", "discover"]
