#!/usr/bin/env bash
# Builds and runs the tests, from a bare Debian 12 on. Safe to run again.
#
#   tools/test.sh             the quick and the crash tests: at most ten minutes on two cores
#   tools/test.sh --all       all gates: also sanitizers, both compilers, lint, format, headers,
#                             fuzzers, benchmarks (once, tiny) and Java; this is what CI runs
#   tools/test.sh --campaign  what takes hours: planted bugs, long fuzzing, many kills;
#                             writes docs/campaign.md
#
# The last lines are CTest's summary. Needs root or sudo only while packages are missing; the tests
# that mount file systems need root, and are left out, with a line that says so, without it.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/setup.sh

readonly TEST_PACKAGES=(ccache libbenchmark-dev libgmock-dev libgtest-dev zstd)
readonly ROOT_TEST_PACKAGES=(e2fsprogs mount xfsprogs)
readonly GATE_PACKAGES=(clang-19 clang-format-19 clang-tidy-19 libclang-rt-19-dev llvm-19 patch)
readonly JAVA_PACKAGES=(maven openjdk-17-jdk-headless python3)

mode=${1:-quick}
case $# in
  0) ;;
  1) [[ $mode =~ ^--(all|campaign)$ ]] || { sed -n '2,12s/^# \{0,1\}//p' "$0" >&2; exit 2; } ;;
  *) sed -n '2,12s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac

require_debian_12
packages=("${BUILD_PACKAGES[@]}" "${TEST_PACKAGES[@]}" "${ROOT_TEST_PACKAGES[@]}")
[ "$mode" = quick ] || packages+=("${GATE_PACKAGES[@]}")
java=no
if [ "$mode" != quick ]; then
  if [ -x ../shared/refcluster/refcluster ]; then
    java=yes
    packages+=("${JAVA_PACKAGES[@]}")
  else
    say "no ../shared/refcluster: the tests that run Java's RocketMQ (label interop) are left out"
  fi
fi
install_packages "${packages[@]}"

leave_out='^(soak|fuzz)$'
if [ "$(id -u)" != 0 ]; then
  say "not root: the tests that mount file systems (label root) are left out"
  leave_out='^(soak|fuzz|root)$'
fi
jobs=$(nproc)

if [ "$mode" = quick ]; then
  say "building with g++ (a few minutes the first time)"
  build_tree release -DKEROLOX_BUILD_TESTS=ON -DKEROLOX_BUILD_BENCH=ON -DKEROLOX_GATES=OFF ||
    fail "the build failed; its errors are above"
  exec ctest --test-dir build/release --output-on-failure --no-tests=error -j "$jobs" \
    -L '^(quick|crash)$' -LE "$leave_out"
fi

say "building: g++ release, then clang with address, undefined and thread sanitizers and fuzzers"
build_tree release -DKEROLOX_BUILD_TESTS=ON -DKEROLOX_BUILD_BENCH=ON -DKEROLOX_GATES=ON ||
  fail "the build with g++ failed; its errors are above"
# What fails from here on fails again, with its output, as a test of label gate below: one summary.
build_tree asan || say "the build asan failed: see the test gate.asan below"
cmake --preset tsan >build/tsan.log && cmake --build build/tsan --target thread_tests -- -k 0 --quiet ||
  say "the build tsan failed: see the test gate.tsan below"
for target in headers lint; do
  begin=$SECONDS
  cmake --build build/release --target "$target" -- -k 0 --quiet >"build/$target.log" 2>&1 ||
    say "$target failed: see the test gate.$target below"
  say "checked $target in $((SECONDS - begin)) s"
done

if [ "$mode" = --campaign ]; then
  exec tools/campaign.sh
fi
[ "$java" = yes ] || leave_out="${leave_out%)\$}|interop)\$"
exec ctest --test-dir build/release --output-on-failure --no-tests=error -j "$jobs" -LE "$leave_out"
