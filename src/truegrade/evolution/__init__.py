"""Adapters that improve on what was measured: genomes, their training, their scores, and the search over them.

    genome ──▶ adapter ──▶ replies ──▶ verdicts ──▶ scores ──▶ archive
               training    the straight line        objectives

It stands on top and calls the same line as any user. The system CORAL-X is the profile ``coralx`` of each
part; ours is ``direct`` for genomes and ``measured`` for objectives.
"""
