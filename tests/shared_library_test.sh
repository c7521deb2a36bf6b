#!/usr/bin/env bash
# The shared build: installs it, runs the embedding example against it, and looks at what the
# libraries export: our own names, and nothing of the libraries behind them.
#
#   shared_library_test.sh CMAKE SOURCE_DIR BUILD_DIR
set -euo pipefail
cmake=$1 source=$2 build=$3

"$cmake" -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DBUILD_SHARED_LIBS=ON >/dev/null
"$cmake" --build "$build" -- --quiet

"$source/tests/package_test.sh" "$cmake" "$source" "$build"

for library in "$build"/storage/libkerolox_storage.so "$build"/storage/base/libkerolox_base.so; do
  exported=$(nm --dynamic --defined-only --demangle --format=posix "$library" | grep -vE ' [wWvVu] ' || true)
  foreign=$(grep -v 'kerolox::' <<<"$exported" || true)
  if [ -z "$exported" ] || [ -n "$foreign" ]; then
    echo "$library exports what it should hide, or nothing at all: ${foreign:-nothing}" >&2
    exit 1
  fi
  echo "$(basename "$library") exports $(wc -l <<<"$exported") names, all in kerolox::"
done
