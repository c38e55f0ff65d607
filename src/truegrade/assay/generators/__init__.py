"""Inputs of problems, beyond those that their tests use."""
