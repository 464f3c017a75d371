#!/usr/bin/env bash
# with_oracle.sh SCRIPT BIN_DIR: runs a parity script with the oracle's Python. Exit 77 where there is no oracle.
set -euo pipefail
if [ -z "${SLUICE_ORACLE_DIR:-}" ]; then
  echo "Skipped: SLUICE_ORACLE_DIR is not set (tests/run.sh sets it where ../shared/oracle is)"
  exit 77
fi
exec "$SLUICE_ORACLE_DIR/python" "$1" "$2" "$SLUICE_ORACLE_DIR"
