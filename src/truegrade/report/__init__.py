"""Reports: each table is made once, and shown on a terminal, as a page or as files; runs and counts nothing."""
