#!/usr/bin/env bash
# The coordinator, the reward service and the command line name no LibTorch in ldd.
set -euo pipefail
for binary in sluice sluice-coordinator sluice-reward; do
  path=$1/bin/$binary
  [ -x "$path" ] || { echo "$path is missing"; exit 1; }
  if ldd "$path" | grep -E 'libtorch|libc10'; then
    echo "$binary links LibTorch"
    exit 1
  fi
done
echo "no torch in 3 binaries"
