#!/usr/bin/env bash
# Builds what is missing of the tree of a preset and runs its tests of some labels.
#
#   tools/gate_tree.sh PRESET LABELS [TARGET]
set -euo pipefail
cd "$(dirname "$0")/.."

cmake --build "build/$1" --target "${3:-all}" -- --quiet
exec ctest --test-dir "build/$1" -L "$2" -LE '^(root|soak)$' --output-on-failure --no-tests=error -j "$(nproc)"
