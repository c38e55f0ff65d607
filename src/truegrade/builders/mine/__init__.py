"""Execution rows from the user's own repository: items that no model has been trained on."""
