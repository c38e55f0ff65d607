"""The stages of a run, a module each: load, ask, grade, count, resume; also imported files and suites."""
