#!/usr/bin/env python3
"""Prints the table of bench/README.md: what the log does beside what the disk alone does.

    bench/speed_table.py build/release/bench/storage/commit_log_bench --dir DIR [--rounds 5]
                         [--java 'COMMAND']

Each round runs every benchmark once, so that all see the same machine; a ratio is formed within its
round, and the table gives the median of the rounds and their range. COMMAND, if given, runs a Java
store that appends 1 KiB messages under ASYNC_FLUSH and prints a field `msg_s`; it gets its turn in
every round.
"""
import argparse
import json
import os
import re
import shlex
import statistics
import subprocess
import sys

MINUTES = 60


def benchmark(program, directory, pattern, seconds):
    environment = dict(os.environ, KEROLOX_BENCH_DIR=directory)
    command = [program, f"--benchmark_filter={pattern}", f"--benchmark_min_time={seconds}",
               "--benchmark_format=json"]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True,
                          timeout=30 * MINUTES)
    found = {}
    for row in json.loads(done.stdout)["benchmarks"]:
        if row.get("error_occurred"):
            sys.exit(f"{row['name']}: {row['error_message']}")
        found[row["name"].removesuffix("/real_time").removesuffix("/process_time")] = row
    return found


def java_rate(command):
    done = subprocess.run(shlex.split(command), stdout=subprocess.PIPE, check=True, text=True,
                          timeout=10 * MINUTES)
    rate = re.search(r'msg_s"?\s*[:=]\s*"?([0-9.]+)', done.stdout)
    if rate is None:
        sys.exit(f"no msg_s in what {command!r} printed: {done.stdout[-500:]}")
    return float(rate.group(1))


def one_round(options):
    rows = benchmark(options.program, options.dir, "Raw|SyncAppend|ReadTail", 1)
    rows |= benchmark(options.program, options.dir, "AsyncAppend/", 3)
    rows |= benchmark(options.program, options.dir, "OpenAfterKill", 1)
    rate = lambda name: rows[name]["items_per_second"]
    async_row = rows["BM_AsyncAppend/1024"]
    values = {
        "raw 4 KiB write+fdatasync, p50, us": rows["BM_RawWriteAndSync4KiB"]["p50_us"],
        "SYNC_FLUSH, one producer, 1 KiB, p50, us": rows["BM_SyncAppendOneInFlight"]["p50_us"],
        "the same, as a multiple of raw": rows["BM_SyncAppendOneInFlight"]["p50_us"]
        / rows["BM_RawWriteAndSync4KiB"]["p50_us"],
        "SYNC_FLUSH, 64 in flight, messages/s": rate("BM_SyncAppendInFlight/64"),
        "the same, as a multiple of one producer": rate("BM_SyncAppendInFlight/64")
        / rate("BM_SyncAppendOneInFlight"),
        "ASYNC_FLUSH, 1 KiB, one thread, messages/s": rate("BM_AsyncAppend/1024"),
        "the same, CPU s a GiB": async_row["cpu_time"] * 1e-9 * rate("BM_AsyncAppend/1024")
        / async_row["bytes_per_second"] * 2**30,
        "ASYNC_FLUSH, 128 B, one thread, messages/s": rate("BM_AsyncAppend/128"),
        "tail read, 128 B, messages/s": rate("BM_ReadTail/128"),
        "tail read, 1 KiB, messages/s": rate("BM_ReadTail/1024"),
        "open a 10 GiB log after SIGKILL, ms": rows["BM_OpenAfterKill/iterations:1"]["p50_us"] / 1e3,
    }
    if options.java:
        java = java_rate(options.java)
        values["RocketMQ's store, ASYNC_FLUSH, 1 KiB, one thread, messages/s"] = java
        values["ours as a multiple of RocketMQ's"] = rate("BM_AsyncAppend/1024") / java
    return values


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--dir", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--java")
    options = parser.parse_args()
    rounds = []
    for index in range(options.rounds):
        print(f"round {index + 1} of {options.rounds}", file=sys.stderr)
        rounds.append(one_round(options))
    print("| what | median | range |\n| --- | --- | --- |")
    for what in rounds[0]:
        values = [values[what] for values in rounds]
        print(f"| {what} | {number(statistics.median(values))} | {number(min(values))} to {number(max(values))} |")


if __name__ == "__main__":
    main()
