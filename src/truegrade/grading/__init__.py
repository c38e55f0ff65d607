"""Deciding whether an answer is right; pure, but for the executor that it is handed."""
