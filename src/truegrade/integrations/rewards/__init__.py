"""Rewards for reinforcement learning that cannot be bought: replies and their ground truth in, numbers out.

`records` says what goes in and comes out, `ground_truth` reads the tests as the trainers' data sets hold them.
Every file beside this folder that is named after a trainer is a thin adapter to it.
"""
