#!/usr/bin/env bash
# From a bare Debian 12 to a working store: installs what the build needs, builds, and shows the main
# job on a temporary store: a writer dies in full flow, and nothing that it acknowledged is missing.
# Safe to run again; needs root or sudo only while packages are missing.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/setup.sh

require_debian_12
install_packages "${BUILD_PACKAGES[@]}"
say "building the library and the kerolox command (a few minutes the first time)"
build_tree release -DKEROLOX_BUILD_TESTS=OFF -DKEROLOX_BUILD_BENCH=OFF ||
  fail "the build failed; its first error is above"

tools/demo_kill.sh build/release/tools/kerolox

say "done. The command is build/release/tools/kerolox; README.md says how to embed the library"
