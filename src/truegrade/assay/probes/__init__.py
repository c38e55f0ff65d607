"""Programs whose correctness is known, one file a class."""
