"""Taking the answer out of a reply: pure functions that run nothing, never fail and take near-linear time."""
