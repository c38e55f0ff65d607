"""A web page over a folder of runs, for one person at one machine: `truegrade view`. Writes nothing into it."""
