"""What a reward that can be bought does to a policy, and one that cannot, shown on a CPU in minutes."""

from truegrade.evolution.testbed.running import quick as quick
from truegrade.evolution.testbed.running import testbed as testbed
