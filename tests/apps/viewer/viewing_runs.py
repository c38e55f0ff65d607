"""Real runs on disk for the viewer: whole ones, one that lacks replies, one that is under way."""

import msgspec
from report_runs import House, Lenient, build_run


def whole(run):
    """A run whose benchmark holds no more problems than it answered."""
    manifest = run.manifest
    tasks = len(run.prompts())
    run.update(benchmark=msgspec.structs.replace(manifest.benchmark, problems=tasks))
    return run


def cut(run, completions, verdicts, profile="house@1"):
    """Take a run back to where it held so many lines and no summary."""
    for path, lines in ((run.completions_path, completions), (run.verdicts_path(profile), verdicts)):
        path.write_bytes(b"".join(path.read_bytes().splitlines(True)[:lines]))
    (run.path / "summary.json").unlink()
    run.update(profiles={})
    return run


def standard_runs(root):
    """Three runs: a whole one under two profiles, one that lacks replies, one that is under way."""
    whole(build_run(root / "parrot", tasks=30, samples=3, profiles=(House(), Lenient())))
    whole(
        build_run(
            root / "magpie", tasks=30, samples=3, profiles=(House(), Lenient()), model="b/magpie", unanswered=12
        )
    )
    cut(whole(build_run(root / "deep" / "er" / "growing", tasks=30, samples=3, model="b/crow")), 40, 25)
    return root
