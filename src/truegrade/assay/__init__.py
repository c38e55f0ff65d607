"""Measuring how often a grader is wrong: programs whose correctness is known are sent through it."""
