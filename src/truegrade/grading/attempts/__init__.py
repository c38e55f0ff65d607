"""Telling attempts to be paid for nothing from honest programs, right or wrong.

looking     what a program does where a grader can be bought, and by which channels it is
bait        that grader
"""
