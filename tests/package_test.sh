#!/usr/bin/env bash
# What an embedder meets: installs a build tree into an empty prefix, builds examples/embed against
# it with find_package and then with pkg-config, runs both, and looks at what was installed.
#
#   package_test.sh CMAKE SOURCE_DIR BUILD_DIR
set -euo pipefail
cmake=$1 source=$2 build=$3
work=$(mktemp -d "${TMPDIR:-/tmp}/kerolox-package.XXXXXX")
trap 'rm -rf "$work"' EXIT

complain() {
  echo "package_test: $*" >&2
  exit 1
}

# Runs the program in an empty directory: it makes its store there.
expect_example_output() {
  local program=$1 expected
  expected=$(printf 'stored at 0, on disk\norders/0 paid: order 1 is paid')
  rm -rf "$work/run" && mkdir "$work/run"
  (cd "$work/run" && "$program") >"$work/output" || complain "$program failed"
  [ "$(<"$work/output")" = "$expected" ] || complain "$program printed: $(<"$work/output")"
}

"$cmake" --install "$build" --prefix "$work/prefix" >/dev/null

# Only public headers, and all of them.
(cd "$work/prefix/include" && find . -type f | LC_ALL=C sort) >"$work/installed"
(cd "$source/storage/include" && find . -type f -name '*.h'
 cd "$source/storage/base/include" && find . -type f -name '*.h') | LC_ALL=C sort >"$work/public"
diff "$work/public" "$work/installed" || complain "installed headers are not the public ones"

"$cmake" -S "$source/examples/embed" -B "$work/embed" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" \
  -DCMAKE_BUILD_TYPE=Release >"$work/log" || { cat "$work/log"; complain "find_package(kerolox) failed"; }
"$cmake" --build "$work/embed" >"$work/log" || { cat "$work/log"; complain "the example does not build"; }
expect_example_output "$work/embed/embed"

pc=$(find "$work/prefix" -name kerolox.pc -printf '%h')
flags=$(PKG_CONFIG_PATH=$pc pkg-config --cflags --libs --static kerolox)
# shellcheck disable=SC2086  # flags are words
g++ -std=c++20 -Wall -Wextra -Werror "$source/examples/embed/main.cc" \
  -o "$work/embed-pc" $flags -Wl,-rpath,"$(dirname "$pc")"
expect_example_output "$work/embed-pc"
