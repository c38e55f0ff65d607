"""Terminal output, progress and report pages. Reads runs and executes nothing."""
