"""Inputs of the domain of a problem, beyond those that its tests use."""
