"""Everything that listens on a port: the grading service, the model server and the viewer, over one HTTP layer."""
