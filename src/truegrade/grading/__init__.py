"""Deciding whether an answer is right. Pure, but for the executor that it is handed."""
