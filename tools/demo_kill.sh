#!/usr/bin/env bash
# The main job, to watch: a writer under SYNC_FLUSH is killed with SIGKILL in full flow. Every message
# that it had acknowledged must be in the store, at the place that its receipt names; and the next
# writer goes on behind them. Exits 0 only if that holds.
#
#   tools/demo_kill.sh KEROLOX_PROGRAM
set -euo pipefail
export LC_ALL=C  # join and sort agree on the order

kerolox=$1
work=$(mktemp -d "${TMPDIR:-/tmp}/kerolox-demo.XXXXXX")
trap 'rm -rf "$work"' EXIT
store=$work/store

complain() {
  echo "demo_kill: $*" >&2
  exit 1
}

# messages FILE [BODY]: "topic queue queueOffset physicalOffset body" of each message or receipt of the
# JSON lines in FILE. A receipt does not tell the body: it is BODY, or else the number of the line, as
# `seq` counts. The writer may have died in the middle of its last line: it counts only with its end.
messages() {
  grep -E '^\{.*"topic":.*\}$' "$1" | awk -v body="${2:-}" '
    function value(key, pattern,   found) {
      if (!match($0, "\"" key "\":" pattern)) { return "" }
      found = substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3)
      gsub("\"", "", found)
      return found
    }
    {
      text = /"type":"message"/ ? value("text", "\"[^\"]*\"") : body != "" ? body : value("queueOffset", "[0-9]+") + 1
      print value("topic", "\"[^\"]*\""), value("queueId", "[0-9]+"), value("queueOffset", "[0-9]+"),
        value("physicalOffset", "[0-9]+"), text
    }' | sort
}

# Kills the writer once it has acknowledged enough to be in full flow.
kill_in_full_flow() {
  local writer=$1 receipts=$2 patience=600
  while [ "$(wc -l <"$receipts")" -lt 2000 ]; do
    kill -0 "$writer" 2>/dev/null || complain "the writer ended by itself: $(tail -n 1 "$work/writer.log")"
    patience=$((patience - 1))
    [ "$patience" -gt 0 ] || complain "no 2000 receipts in a minute"
    sleep 0.1
  done
  kill -KILL "$writer"
}

echo "A writer puts messages, one a line, and prints a receipt for each that is on disk:"
echo "  seq 100000000 | kerolox put --store DIR --topic orders --lines --flush=sync"
: >"$work/receipts"
seq 100000000 | "$kerolox" put --store "$store" --topic orders --lines --flush=sync \
  >"$work/receipts" 2>"$work/writer.log" &
writer=$!
kill_in_full_flow "$writer" "$work/receipts"
{ wait "$writer"; } 2>/dev/null && complain "the writer was not killed"
messages "$work/receipts" >"$work/acknowledged"
acknowledged=$(wc -l <"$work/acknowledged")
echo "Killed with SIGKILL after $acknowledged acknowledged messages."
echo

# proof STEP: every acknowledged message is in the store, at its place and with its body.
proof() {
  "$kerolox" store export --store "$store" >"$work/export"
  messages "$work/export" >"$work/stored"
  [ "$(comm -23 "$work/acknowledged" "$work/stored" | wc -l)" = 0 ] ||
    complain "$1: missing: $(comm -23 "$work/acknowledged" "$work/stored" | head -n 3)"
  echo "$1: all $acknowledged acknowledged messages are there, at their places, with their bodies;" \
    "$(($(wc -l <"$work/stored") - acknowledged)) more are stored that were not yet acknowledged."
}

proof "After the kill"
echo
echo "kerolox store inspect --store DIR"
"$kerolox" store inspect --store "$store"
echo
echo "kerolox store verify --store DIR"
"$kerolox" store verify --store "$store"
echo

echo "The next writer goes on where the log ends:"
printf 'after the kill' | "$kerolox" put --store "$store" --topic orders --flush=sync | tee "$work/next"
messages "$work/next" 'after the kill' >>"$work/acknowledged"
sort -o "$work/acknowledged" "$work/acknowledged"
[ "$(wc -l <"$work/acknowledged")" = $((acknowledged + 1)) ] || complain "the next writer gave no receipt"
acknowledged=$((acknowledged + 1))
proof "After the restart"
