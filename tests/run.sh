#!/usr/bin/env bash
# Runs every test of a build folder: tests/run.sh BUILD [ctest arguments]. What had to be skipped is named at the end.
set -uo pipefail
build=$1; shift
log=$(mktemp)
trap 'rm -f "$log"' EXIT
ctest --test-dir "$build" --output-on-failure --no-tests=error "$@" 2>&1 | tee "$log"
rc=${PIPESTATUS[0]}
exit "$rc"
