#!/usr/bin/env bash
# Runs the command blocks of README.md that are marked <!-- executed --> in an empty directory, with
# the kerolox program of this build in the path. Where <!-- its output --> and a text block follow,
# the output must be that text, but for what differs between two runs.
#
#   readme_commands.sh README KEROLOX_PROGRAM
set -euo pipefail

readme=$(realpath "$1")
PATH=$(dirname "$(realpath "$2")"):$PATH
export PATH
work=$(mktemp -d "${TMPDIR:-/tmp}/kerolox-readme.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/run"

# Writes each marked block to N.sh, and the output that it claims to N.expected.
awk -v work="$work" '
  /^<!-- executed -->$/ { count++; kind = "sh"; next }
  /^<!-- its output -->$/ { kind = "expected"; next }
  /^```/ { if (inside) { inside = 0; kind = "" } else if (kind != "") { inside = 1 } ; next }
  inside { print > (work "/" count "." kind) }
' "$readme"

# Times, process ids and host names differ.
without_what_differs() {
  sed -E -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+Z?/TIME/g' -e 's/[0-9]{13}/TIME/g' "$1"
}

blocks=0
for block in "$work"/*.sh; do
  [ -e "$block" ] || { echo "readme_commands: no block of $readme is marked as executed" >&2; exit 1; }
  blocks=$((blocks + 1))
  if ! (cd "$work/run" && bash -euo pipefail "$block") >"$work/output" 2>&1; then
    echo "readme_commands: failed: $(<"$block")" >&2
    cat "$work/output" >&2
    exit 1
  fi
  expected=${block%.sh}.expected
  if [ -e "$expected" ]; then
    diff <(without_what_differs "$expected") <(without_what_differs "$work/output") || {
      echo "readme_commands: README.md shows (<) what these commands do not print (>): $(<"$block")" >&2
      exit 1
    }
  fi
done
echo "$blocks blocks of README.md do what they say"
