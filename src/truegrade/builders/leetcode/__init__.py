"""Execution rows from submissions that the user has collected; nothing here collects any."""

from truegrade.builders.leetcode.build import LeetcodeOptions, build
from truegrade.builders.leetcode.submissions import LeetCodeSubmission, read_submissions

__all__ = ["LeetCodeSubmission", "LeetcodeOptions", "build", "read_submissions"]
