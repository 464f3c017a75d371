#!/usr/bin/env bash
# Runs a tier of the tests of a build folder: tests/run.sh BUILD [check|test|soak] [ctest arguments].
#   check  unit tests and guards: no process but the test's own
#   test   everything that a commit must pass (the default)
#   soak   the long forms: each fail point alone, 200 random kills, all links, half an hour of the demonstration, 5,000 workers
# Tests run side by side (SLUICE_TEST_JOBS, default: a half more than processors), in a temporary folder of this run.
# Parity tests need the oracle beside the project (../shared/oracle). Where it is absent they are skipped by name, and the
# closing lines say so.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
shift
case "${1:-}" in
  check) tier=(-L '^unit$'); shift ;;
  soak) tier=(-L '^soak$'); shift ;;
  *) tier=(-LE '^soak$'); [ "${1:-}" != test ] || shift ;;
esac
shared=$here/../../shared
if [ "${tier[1]}" != '^unit$' ]; then
  if [ -d "$shared/oracle" ]; then
    "$here/parity/oracle.sh" "$shared/oracle" "$build/oracle" || exit 1
    "$here/parity/smollm2.sh" "$shared/oracle" "$build/oracle"
    export SLUICE_ORACLE_DIR=$build/oracle
  else
    echo "parity tests will be skipped: $shared/oracle is not there"
  fi
fi
[ -d "$shared/data" ] && export SLUICE_DATA_DIR=$shared/data
temporary=$(mktemp -d "${TMPDIR:-/tmp}/sluice-tests.XXXXXX") || exit 1
trap 'rm -rf "$temporary"' EXIT
chmod 1777 "$temporary"  # as /tmp: what runs in the sandbox is somebody else
export TMPDIR=$temporary TEST_TMPDIR=$temporary
cores=$(nproc)
ctest --test-dir "$build" --output-on-failure --no-tests=error -j "${SLUICE_TEST_JOBS:-$((cores + (cores + 1) / 2))}" \
  "${tier[@]}" "$@" 2>&1
rc=$?
# ctest calls a binary passed whose cases were skipped, and hides what it printed: name them here.
skipped=$(grep -hE '^\[  SKIPPED \] [A-Za-z].*\(|^Skipped: ' "$build/Testing/Temporary/LastTest.log" | sort -u)
[ -z "$skipped" ] || printf '\nSkipped cases, each with its reason in %s:\n%s\n' "$build/Testing/Temporary/LastTest.log" "$skipped"
exit "$rc"
