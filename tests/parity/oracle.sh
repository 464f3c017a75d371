#!/usr/bin/env bash
# Makes the oracle's checkpoints and reference values: oracle.sh ORACLE_SOURCE OUT [LIST]
# ORACLE_SOURCE holds make_checkpoint.py and make_reference.py; its Python environment goes to the cache folder of
# deploy/setup. LIST (default: checkpoints.txt beside this script) names the checkpoints. Idempotent. Prints nothing when
# all is there.
set -euo pipefail
source_dir=$1 out=$2 list=${3:-$(dirname "$0")/checkpoints.txt}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/sluice
pins=$(sha256sum "$source_dir/requirements.txt" | cut -c1-12)
venv=$cache/oracle-$pins
cuda=/usr/local/cuda
if [ ! -e "$venv/.complete" ]; then
  echo "== setting up the oracle's Python environment"
  rm -rf "$venv"
  mkdir -p "$cache"
  python3 -m venv "$venv"
  if ls "$cuda"/lib64/libcublas.so.13 >/dev/null 2>&1; then  # the wheel can go without its 2 GB of CUDA libraries
    "$venv/bin/pip" install --quiet --no-deps "$(grep '^torch==' "$source_dir/requirements.txt")"
    "$venv/bin/pip" install --quiet typing_extensions filelock sympy networkx fsspec \
      nvidia-cufile nvidia-cusparselt-cu13 nvidia-nvshmem-cu13 2>/dev/null
    grep -v '^torch==' "$source_dir/requirements.txt" | grep -v '^#' >"$venv/rest.txt"
    "$venv/bin/pip" install --quiet -r "$venv/rest.txt" 2>/dev/null
  else
    "$venv/bin/pip" install --quiet -r "$source_dir/requirements.txt"
  fi
  touch "$venv/.complete"
fi
mkdir -p "$out"
rm -f "$out/python"
cat >"$out/python" <<SCRIPT
#!/bin/sh
export LD_LIBRARY_PATH=$cuda/lib64:$cuda/extras/CUPTI/lib64\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}
exec "$venv/bin/python" "\$@"
SCRIPT
chmod +x "$out/python"
# One checkpoint: NAME, then options of make_checkpoint.py. It is complete for these options only.
make_one() {
  local name=$1 made
  shift
  made=$out/$name/.complete
  [ -e "$made" ] && [ "$(cat "$made")" = "$*" ] && return
  echo "== oracle checkpoint $name"
  rm -rf "${out:?}/$name"
  "$out/python" "$source_dir/make_checkpoint.py" --out "$out/$name" "$@" >/dev/null
  "$out/python" "$source_dir/make_reference.py" "$out/$name" >/dev/null
  printf '%s' "$*" >"$made"
}
export -f make_one
export out source_dir
# One core each. The options are words without spaces, split here; quotes and brackets in them stay.
grep -v '^#' "$list" | xargs -d '\n' -P "$(nproc)" -I LINE bash -c 'set -euof pipefail; make_one $1' make_one LINE
