#!/usr/bin/env bash
# Runs every test of a build folder: tests/run.sh BUILD [ctest arguments].
# Parity tests need the oracle beside the project (../shared/oracle). Where it is absent they are skipped by name, and the
# closing lines say so.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
shift
shared=$here/../../shared
if [ -d "$shared/oracle" ]; then
  "$here/parity/oracle.sh" "$shared/oracle" "$build/oracle" || exit 1
  "$here/parity/smollm2.sh" "$shared/oracle" "$build/oracle"
  export SLUICE_ORACLE_DIR=$build/oracle
else
  echo "parity tests will be skipped: $shared/oracle is not there"
fi
[ -d "$shared/data" ] && export SLUICE_DATA_DIR=$shared/data
ctest --test-dir "$build" --output-on-failure --no-tests=error "$@" 2>&1
rc=$?
# ctest calls a binary passed whose cases were skipped, and hides what it printed: name them here.
skipped=$(grep -hE '^\[  SKIPPED \] [A-Za-z].*\(|^Skipped: ' "$build/Testing/Temporary/LastTest.log" | sort -u)
[ -z "$skipped" ] || printf '\nSkipped cases, each with its reason in %s:\n%s\n' "$build/Testing/Temporary/LastTest.log" "$skipped"
exit "$rc"
