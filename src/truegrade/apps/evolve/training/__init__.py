"""Training adapters: lessons, trainers and the cache."""
