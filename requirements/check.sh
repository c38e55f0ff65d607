#!/bin/sh
# Whether requirements/*.txt can be installed, by wheels alone, with every Python that pyproject.toml names, the oldest
# as of its first release; installs nothing. pip would apply the markers of the Python that it runs on, uv applies those
# of the named one. Usage: check.sh UV
set -eu
cd "$(dirname "$0")/.."
for python in $(sed -n 's/^  "Programming Language :: Python :: \(3\.[0-9]*\)",$/\1.0/p' pyproject.toml); do
    for name in core build data serve dev docs parity; do
        case $name in data | parity) needs=--no-deps ;; *) needs= ;; esac
        "$1" pip install --quiet --dry-run --require-hashes --only-binary :all: $needs --target build/locks/nothing \
            --python-version "$python" ${PIP_INDEX_URL:+--default-index "$PIP_INDEX_URL"} -r "requirements/$name.txt" ||
            { echo "requirements/$name.txt cannot be installed with Python $python" && exit 1; }
    done
done
