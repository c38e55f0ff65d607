"""Mutants: programs that differ from an original in one place and return something else, and ones that do not."""
