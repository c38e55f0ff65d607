"""CORAL-X by its rules: an automaton is varied, and a hash of what it does picks the adapter.

    automaton ──▶ history ──▶ features ──▶ adapter by hash, sampling by formula
        ▲                                        │
        └── variation ◀── selection ◀── gate ◀── scores

Reproduced from ``skishore23/coralx@fd75b33``, function by function; each module names its source and where it
departs. What makes it a weak search is measured in docs/evolution.md, not repaired here.
"""
