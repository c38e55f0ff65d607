"""What an extraction may cost: it runs outside the jail, and a reply is whatever a model wrote.

Every rule takes near-linear time in the length of a reply, and the length is bounded. Where a published rule does
more (EvalPlus parses many spans of a reply) its steps are counted. Both bounds are counts, not clocks, so that a
verdict is the same on every machine; no reply that a model wrote in earnest comes near either.
"""

from __future__ import annotations

MAX_REPLY_CHARS = 1_000_000
"""A longer reply is not read. A model's longest output, 128,000 tokens, has about 500,000 characters."""


class ExtractionLimitError(Exception):
    """Reading a reply takes more steps than its rule may take; the message says which."""
