#!/usr/bin/env bash
# Installs what building and testing Sluice needs: Debian packages, then LibTorch unpacked from its PyPI wheel.
# Idempotent: a second run takes under a second. Root, or a user with sudo.
#   deploy/setup/install.sh [--cuda]
# --cuda also fetches NVIDIA's libraries for the CMake preset "cuda" (libtorch-cuda.lock).
# LibTorch goes to ${SLUICE_DEPS_DIR:-${XDG_CACHE_HOME:-~/.cache}/sluice/<directory of libtorch.lock>}.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
lock=$here/libtorch.lock
cuda=
case "${1:-}" in
  "") ;;
  --cuda) cuda=1 ;;
  *) echo "usage: install.sh [--cuda]" >&2; exit 2 ;;
esac

packages=(
  g++ cmake ninja-build make git pkg-config ca-certificates unzip python3 python3-pip python3-venv clang-format
  libgrpc++-dev protobuf-compiler-grpc protobuf-compiler libprotobuf-dev libabsl-dev libre2-dev zlib1g-dev
  libssl-dev libsqlite3-dev prometheus-cpp-dev libcivetweb-dev libcurl4-openssl-dev nlohmann-json3-dev libcli11-dev libpcre2-dev
  libutf8proc-dev libgmp-dev libflint-dev libseccomp-dev libgtest-dev libgmock-dev python3-grpcio python3-protobuf
)
# install PACKAGE...: those that are not installed yet.
install() {
  local p missing=() as_root=()
  for p in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || missing+=("$p")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "install.sh: needs root or sudo to install: ${missing[*]}" >&2; exit 1; }
    as_root=(sudo)
  fi
  echo "== installing ${#missing[@]} Debian packages"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}
install "${packages[@]}"
# Ball arithmetic is part of FLINT 3 (Ubuntu 24.04) and a package of its own before (Debian 12).
[ -e /usr/include/flint/acb.h ] || install libflint-arb-dev

name=$(sed -n 's/^directory=//p' "$lock")
deps=${SLUICE_DEPS_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/sluice/$name}
# fetch LOCK: the wheels that LOCK names, into $work/wheels; $work is a new folder beside $deps.
fetch() {
  rm -rf "${work:-}"
  mkdir -p "$(dirname "$deps")"
  work=$(mktemp -d "$deps.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  grep -E '^[a-z].*--hash=' "$1" >"$work/requirements.txt"
  local tag platforms=()
  for tag in manylinux_2_28 manylinux_2_27 manylinux_2_25 manylinux_2_24 manylinux_2_18 manylinux_2_17 manylinux2014; do
    platforms+=(--platform "${tag}_x86_64")
  done
  python3 -m pip download --quiet --require-hashes --no-deps --only-binary=:all: --implementation cp \
    --python-version 3.11 "${platforms[@]}" -d "$work/wheels" -r "$work/requirements.txt"
}

if [ ! -e "$deps/.complete" ]; then
  echo "== fetching LibTorch into $deps (about 530 MB)"
  fetch "$lock"
  mkdir "$work/root"
  for wheel in "$work"/wheels/torch-*.whl; do
    unzip -q "$wheel" 'torch/lib/*' 'torch/include/*' 'torch-*.dist-info/*' -x 'torch/lib/libtorch_python.so' -d "$work/root"
  done
  for wheel in "$work"/wheels/nvidia*.whl; do unzip -q "$wheel" -d "$work/root"; done
  touch "$work/root/.complete"
  rm -rf "$deps"
  mv "$work/root" "$deps"
fi

if [ -n "$cuda" ] && [ ! -e "$deps/.complete-cuda" ]; then
  echo "== fetching NVIDIA's libraries into $deps (about 2 GB)"
  fetch "$here/libtorch-cuda.lock"
  for wheel in "$work"/wheels/nvidia*.whl; do unzip -qo "$wheel" 'nvidia/*/lib/*' -d "$deps"; done
  touch "$deps/.complete-cuda"
fi
