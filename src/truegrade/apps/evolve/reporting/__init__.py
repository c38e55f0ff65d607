"""The report of an evolution: reads the files of its folder, and runs nothing."""
