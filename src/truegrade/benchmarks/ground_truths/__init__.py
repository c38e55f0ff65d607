"""Tests as the data sets of trainers hold them, read into tasks."""
