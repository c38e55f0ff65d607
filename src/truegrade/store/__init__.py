"""The folder of a run: manifest, journals, packs, importers, exporters, trackers."""

from truegrade.store.journal import Journal, read_journal
from truegrade.store.manifest import BenchmarkIdentity, Manifest, environment
from truegrade.store.run import Run

__all__ = ["BenchmarkIdentity", "Journal", "Manifest", "Run", "environment", "read_journal"]
