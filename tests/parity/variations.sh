#!/usr/bin/env bash
# The parity tests over more checkpoints, by hand: variations.sh BUILD [LIST] [ctest arguments]
# LIST (default: variations.txt beside this script) names them; they are made in BUILD/variations, about 10 s each on a core.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
shift
list=$here/variations.txt
if [ $# -gt 0 ] && [ -f "$1" ]; then
  list=$1
  shift
fi
"$here/oracle.sh" "$here/../../../shared/oracle" "$build/variations" "$list"
SLUICE_ORACLE_DIR=$build/variations ctest --test-dir "$build" -L parity --output-on-failure "$@"
