"""Making data sets: programs of a grammar, of a model or of a repository, contests, mutants, repairs."""
