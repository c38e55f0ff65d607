"""Reading finished runs and files: comparison, standings, planning, replication, audit, checking of claims."""
