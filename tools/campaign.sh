#!/usr/bin/env bash
# What takes too long for every change: planted bugs, long fuzzing, many kills, soak tests. Called by
# tools/test.sh --campaign, which has built the trees release and asan. The result goes to
# docs/campaign.md, a row a step; the last lines on the screen are CTest's.
#
# KEROLOX_FUZZ_SECONDS (600) is for each fuzzer, KEROLOX_KILLS (50) for the killed writers of the
# demonstration and for each of kill_test's five loads, KEROLOX_CUTS (50) for each file system.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly fuzz_seconds=${KEROLOX_FUZZ_SECONDS:-600} kills=${KEROLOX_KILLS:-50} cuts=${KEROLOX_CUTS:-50}
readonly logs=build/campaign report=docs/campaign.md
mkdir -p "$logs" docs
failed=0

# step NAME COMMAND ...: runs it and writes its row.
step() {
  local name=$1 begin=$SECONDS result=passed
  shift
  echo "== $name"
  if ! "$@" >"$logs/${name// /_}.log" 2>&1; then
    result="FAILED"
    failed=1
    tail -n 20 "$logs/${name// /_}.log"
  fi
  echo "| $name | $result | $((SECONDS - begin)) s | $(tail -n 1 "$logs/${name// /_}.log" | tr '|' '/') |" >>"$report"
}

kill_many() {
  local index
  for ((index = 1; index <= kills; index++)); do
    tools/demo_kill.sh build/release/tools/kerolox
  done
  echo "$kills writers killed, nothing acknowledged is missing"
}

# crash PROGRAM UNIT: runs it on a new seed; its loads say "50 kills, 1234 acknowledgements".
crash() {
  local seed output
  seed=$(date +%s)
  if ! output=$(KEROLOX_SEED=$seed KEROLOX_KILLS=$kills KEROLOX_CUTS=$cuts "build/release/tests/crash/$1"); then
    echo "$output"
    return 1
  fi
  echo "$output" | awk -v unit="$2," -v seed="$seed" '
    $2 == unit { times += $1; acknowledged += $3 }
    END { print times " " unit " " acknowledged " acknowledgements, none missing that was promised; seed " seed; exit times == 0 }'
}

fuzz() {
  mkdir -p "build/asan/found/$1"
  "build/asan/tests/fuzz/$1" -max_total_time="$fuzz_seconds" -timeout=10 -rss_limit_mb=2048 \
    "build/asan/found/$1" "tests/fuzz/corpus/${1%_fuzz}" 2>&1 | tail -n 5
}

cat >"$report" <<END
# The last campaign

\`tools/test.sh --campaign\` on $(date -u +%F), $(nproc) cores, $(uname -sm).

| step | result | time | last line |
| --- | --- | --- | --- |
END

step "planted bugs" tools/planted_bugs.sh
for source in tests/fuzz/*_fuzz.cc; do
  name=$(basename "$source" .cc)
  step "fuzz $name" fuzz "$name"
done
step "kills" kill_many
step "kills under load" crash kill_test kills
step "power cuts on ext4 and XFS" crash power_cut_test cuts

ctest --test-dir build/release --output-on-failure -L '^(quick|crash|soak)$' || failed=1
exit "$failed"
