#!/usr/bin/env bash
# Says which sources clang-format 19 would change; --fix changes them.
set -euo pipefail
cd "$(dirname "$0")/.."

mode=(--dry-run -Werror)
[ "${1:-}" = --fix ] && mode=(-i)
find bench examples storage tests tools -name '*.h' -print0 -o -name '*.cc' -print0 |
  xargs -0 -P "$(nproc)" -n 16 clang-format-19 "${mode[@]}"
