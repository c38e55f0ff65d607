"""What comparing originals with changed problems finds of a benchmark that was planted in training data."""

from truegrade.evolution.leakage.planting import quick as quick
from truegrade.evolution.leakage.running import leakage as leakage
