"""From a reply to an answer: pure functions that run nothing, never fail and take near-linear time."""
