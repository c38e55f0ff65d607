"""The world that `truegrade-micro` was trained in: repair programs, their bugs, and traces of list functions."""

from truegrade.builders.micro.programs import SEEN, UNSEEN
from truegrade.builders.micro.repair_rows import RepairItem, draw_item

__all__ = ["SEEN", "UNSEEN", "RepairItem", "draw_item"]
