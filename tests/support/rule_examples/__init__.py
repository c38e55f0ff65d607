"""Examples of every rule that a profile declares, by step of the pipeline: plain data, which
`tests/profiles/test_rules.py` runs through the profiles."""
