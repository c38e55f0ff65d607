"""Rewards for reinforcement learning: replies and their ground truth in, numbers out; one file a trainer.

`records` says what goes in and comes out, `ground_truth` reads the tests as the trainers' data sets hold them.
Every file that is named after a trainer is a thin adapter to it, and the only module that imports its package.
"""

from truegrade.app import App

APP = App(name="rewards", summary="reward functions for ten trainers")
