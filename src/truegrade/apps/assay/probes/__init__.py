"""Programs whose correctness is known, one file a class.

They are made for a problem from its id, the name of the function that its tests call (empty for a program on
stdin) and its reference, a right program, whole. What takes turns has each over the problems, by the place of the
problem among all.
"""
