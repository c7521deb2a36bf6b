#!/usr/bin/env bash
# The number of test cases does not fall: counts those of every test program of a build tree and
# compares with tests/test_count.txt. Who removes a test on purpose lowers the number there, and says
# why in the commit.
set -euo pipefail

programs=$1/test_programs.txt  # written by CMake, one path a line
expected=$(<"$(dirname "$0")/test_count.txt")
count=0
while read -r program; do
  cases=$("$program" --gtest_list_tests | grep -c '^  ')
  count=$((count + cases))
done <"$programs"
echo "$count test cases, at least $expected expected"
if [ "$count" -lt "$expected" ]; then
  echo "tests/test_count.sh: $((expected - count)) test cases are gone" >&2
  exit 1
fi
