"""More tests for a benchmark, chosen by the wrong programs that they refuse."""
