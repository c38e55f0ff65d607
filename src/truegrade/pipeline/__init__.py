"""The line of a run, one module a stage: load, select, word, ask, import, grade, summarise, export."""
