"""Changed problems: another specification, whose tests refuse the original's answer."""
