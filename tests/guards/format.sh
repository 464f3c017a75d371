#!/usr/bin/env bash
# Every source is as clang-format writes it. `make format` mends.
set -euo pipefail
cd "$1"
command -v clang-format >/dev/null || { echo "clang-format is missing: run make setup"; exit 1; }
mapfile -t files < <(find core coordinator rollout reward learner services tests -name '*.h' -o -name '*.cc' | sort)
[ ${#files[@]} -gt 0 ]
clang-format --dry-run -Werror "${files[@]}"
echo "${#files[@]} files are formatted"
