"""The page of an assay, its tables for terminals and papers."""
