"""A file read as `truegrade grade FILE` reads it, without a run."""

import msgspec

from truegrade.store.importers import PENDING, ImportTarget, SourceFile, configuration, find_format, index_ids


def sniff_format(path):
    with SourceFile(path) as source:
        return find_format(source, None)


def read_completions(path, *, benchmark, dataset_sha256, known_ids, format=None, **more):  # noqa: A002 - as --format
    target = ImportTarget(benchmark=benchmark, dataset_sha256=dataset_sha256, ids=index_ids(known_ids), **more)
    with SourceFile(path) as source:
        yield from find_format(source, format).read(source, target)


def identified(path, **more):
    """The completions with the configuration that the file's end tells."""
    found = list(read_completions(path, **more))
    with SourceFile(path) as source:
        config = configuration(find_format(source, more.get("format")), source)
    assert {one.config_sha256 for one in found} == {PENDING}
    return [msgspec.structs.replace(one, config_sha256=config) for one in found]


def streamed(read, path, *args):
    """What a reader of an open file yields."""
    with SourceFile(path) as source:
        yield from read(source, *args)


def document(path):
    with SourceFile(path) as source:
        return source.document
