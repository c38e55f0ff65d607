"""The trainers' own code rewards as profiles: what each pays for, one file a trainer.

A verdict passes where the reward is paid in full; a share of it is what `Profile.tests_passed` counts.
"""
