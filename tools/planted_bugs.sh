#!/usr/bin/env bash
# Proves that the tests can fail: plants each bug of tests/planted into a copy of the sources, one at
# a time, and runs the test that must catch it. Exits 0 only if every bug is caught, by a test that
# passes without it.
#
#   tools/planted_bugs.sh [NAME ...]      all, or those of tests/planted/NAME.patch
#
# A planted bug is a patch whose text before the diff has two lines:
#   Target: crash_test                    the test program
#   Filter: CommitLogCrashTest.Power*     the tests in it
set -euo pipefail
cd "$(dirname "$0")/.."

readonly copy=build/planted/source tree=build/planted/build
names=("$@")
if [ ${#names[@]} = 0 ]; then
  for file in tests/planted/*.patch; do
    names+=("$(basename "$file" .patch)")
  done
fi

field() {
  sed -n "s/^$2: //p" "tests/planted/$1.patch" | head -n 1
}

# Builds the target in the copy and runs its tests; its output is in build/planted/NAME.log.
build() {
  cmake --build "$tree" --target "$(field "$1" Target)" -- --quiet >"build/planted/$1.log" 2>&1
}
run() {
  "$(grep "/$(field "$1" Target)\$" "$tree/test_programs.txt")" \
    --gtest_filter="$(field "$1" Filter)" >"build/planted/$1.log" 2>&1
}

rm -rf "$copy"
mkdir -p "$copy"
# Not cp -a: an object of an earlier run, with a bug in it, must be older than its source.
cp -R CMakeLists.txt CMakePresets.json README.md bench cmake examples storage tests tools "$copy"
cmake -S "$copy" -B "$tree" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DKEROLOX_REFCLUSTER= >build/planted/configure.log

uncaught=0
for name in "${names[@]}"; do
  patch=$PWD/tests/planted/$name.patch
  verdict=caught
  if ! build "$name" || ! run "$name"; then
    verdict="its tests fail even without it"
  elif ! grep -qE '^\[==========\] [1-9][0-9]* tests? ' "build/planted/$name.log"; then
    verdict="no test matches its filter"
  elif ! patch --silent -p1 -d "$copy" <"$patch" >"build/planted/$name.log"; then
    verdict="its patch does not apply to these sources"
    rm -rf "$copy"/storage && cp -R storage "$copy"
  else
    if ! build "$name"; then
      verdict="the sources do not compile with it"
    elif timeout 300 bash -c "$(declare -f run field); tree=$tree; run $name"; then
      verdict="NOT CAUGHT"
    fi
    patch --silent -R -p1 -d "$copy" <"$patch" >/dev/null
  fi
  printf '%-40s %s by %s %s\n' "$name" "$verdict" "$(field "$name" Target)" "$(field "$name" Filter)"
  [ "$verdict" = caught ] || uncaught=$((uncaught + 1))
done
if [ "$uncaught" -gt 0 ]; then
  echo "planted_bugs.sh: $uncaught of ${#names[@]} went wrong; see build/planted/NAME.log" >&2
  exit 1
fi
echo "${#names[@]} planted bugs, each caught"
