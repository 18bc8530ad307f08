#!/usr/bin/env bash
# The Debian packages that building and testing need; apt-get is asked only where one is missing.
# As root or with sudo. Without apt-get it says what to install and goes on.
set -eu

packages=(
  gcc libc6-dev make pkg-config
  lua5.4 liblua5.4-dev luajit libluajit-5.1-dev
  libisl-dev libgmp-dev zlib1g-dev libopenblas-dev librandom123-dev
  lua-busted lua-check luarocks clang-format binutils git
  libcjson-dev libpcre2-dev libutf8proc-dev libmicrohttpd-dev   # opened at run time: files of models, tokenizers, the server
  pocl-opencl-icd ocl-icd-libopencl1   # a device of OpenCL, for tests
)

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  echo "deps: no apt-get here; tempo wants what Debian calls: ${packages[*]}" >&2
  exit 0
fi

missing=()
installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null || true)
for p in "${packages[@]}"; do
  grep -qx "installed $p" <<<"$installed" || missing+=("$p")
done
[ ${#missing[@]} -eq 0 ] && exit 0

echo "deps: installing ${missing[*]}"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "deps: needs root or sudo for: apt-get install ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
"${as_root[@]}" apt-get update -qq >/dev/null
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
