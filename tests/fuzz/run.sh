#!/usr/bin/env bash
# Fuzzes the readers, each for so many seconds: tests/fuzz/run.sh SECONDS [READER ...]
# Needs clang with libFuzzer (Debian: clang libclang-rt-dev). Corpora stay in build/fuzz/corpus, beside those of the
# repository (tests/fuzz/corpus); an input that crashes is left in build/fuzz/crashes and the exit status is 1.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=$1
shift
readers=("$@")
[ $# -gt 0 ] || readers=(safetensors model_directory model_config tokenizer chat_template
  math_answer math_extraction math_pair code_value code_tests code_program)
build=${SLUICE_FUZZ_BUILD:-build/fuzz}
cmake --preset fuzz -B "$build" >/dev/null
cmake --build "$build" --target fuzzers
"$build/bin/fuzz_seeds" "$build/seeds"
mkdir -p "$build/crashes"
status=0
for reader in "${readers[@]}"; do
  mkdir -p "$build/corpus/$reader"
  corpora=("$build/corpus/$reader")
  for folder in "$build/seeds/$reader" "tests/fuzz/corpus/$reader"; do
    [ ! -d "$folder" ] || corpora+=("$folder")
  done
  echo "== $reader"
  dictionary=()
  [[ $reader != math_* ]] || dictionary=(-dict=tests/fuzz/math.dict)
  "$build/bin/fuzz_$reader" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 -use_value_profile=1 \
    -print_final_stats=1 "${dictionary[@]}" -artifact_prefix="$build/crashes/$reader-" "${corpora[@]}" \
    2>"$build/$reader.log" || { tail -n 30 "$build/$reader.log"; status=1; }
  grep -E '^stat::(number_of_executed_units|peak_rss_mb)|DONE' "$build/$reader.log" || true
done
exit "$status"
