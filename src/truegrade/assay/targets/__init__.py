"""What an assay measures: profiles, the tests of a benchmark, and foreign graders; one file a way of calling."""
