"""Making data sets: programs of a grammar or a model, contests, mutants, repairs."""
