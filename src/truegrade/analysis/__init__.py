"""What reads finished runs and files: comparison, planning, matrix, standings, replication, audit, checking."""
