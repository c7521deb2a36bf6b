#!/usr/bin/env bash
# Builds what is missing of the tree of a preset and runs its tests of some labels.
#
#   tools/gate_tree.sh PRESET LABELS [TARGET]
set -euo pipefail
cd "$(dirname "$0")/.."

cmake --build "build/$1" --target "${3:-all}" -- --quiet
# Left out of sanitizer trees: the package, whose example is linked without the sanitizer's runtime;
# and the count of system calls, since the runtime makes its own.
exec ctest --test-dir "build/$1" -L "$2" -E "^(package_test|commit_log_steady_test)$" -LE '^(root|soak)$' --output-on-failure --no-tests=error -j "$(nproc)"
