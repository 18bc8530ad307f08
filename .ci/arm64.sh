#!/usr/bin/env bash
# Builds tempo for 64-bit ARM into build/arm64 and runs it under qemu: the tests of kernels (once on a
# processor with sdot, once without), of other parts in C, and programs, whose output is compared
# with this machine's.
#
#   .ci/arm64.sh            packages wanted: gcc-aarch64-linux-gnu libc6-dev-arm64-cross, qemu-user to run
#
# isl, GMP, zlib, Lua and others are Debian's packages for arm64, unpacked in build/arm64 and not installed.
set -eu
cd "$(dirname "$0")/.."
out=$PWD/build/arm64
root=$out/root lib=$out/root/usr/lib/aarch64-linux-gnu
cc=aarch64-linux-gnu-gcc
command -v $cc >/dev/null || { echo "arm64: left out: no $cc (Debian: gcc-aarch64-linux-gnu libc6-dev-arm64-cross)"; exit 0; }

if [ ! -f "$root/usr/bin/lua5.4" ]; then
  mkdir -p "$out"/apt/{lists,archives}/partial "$out/debs" "$root"
  : >"$out/apt/status"
  apt=(apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State::lists="$out/apt/lists"
    -o Dir::State::status="$out/apt/status" -o Dir::Cache="$out/apt" -o APT::Sandbox::User="$(id -un)")
  "${apt[@]}" update
  (cd "$out/debs" && "${apt[@]}" download libisl23 libisl-dev libgmp10 libgmp-dev zlib1g zlib1g-dev \
    lua5.4 liblua5.4-0 liblua5.4-dev libreadline8 libtinfo6 libcjson1 libpcre2-8-0 libutf8proc2)
  for deb in "$out"/debs/*.deb; do dpkg -x "$deb" "$root"; done
fi

export PKG_CONFIG_LIBDIR=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
tests=(kernel exec exec_ops env open io grad index)
MAKEFLAGS= make -s -j"$(nproc)" B=build/arm64 CC=$cc AR=aarch64-linux-gnu-ar \
  CFLAGS="-O2 -I$root/usr/include/aarch64-linux-gnu" LDFLAGS="-Wl,-rpath-link,$lib" \
  build/arm64/5.4/tempo.so $(printf "build/arm64/spec/c/%s_test " "${tests[@]}")
echo "arm64: build/arm64/5.4/tempo.so, $(stat -c %s build/arm64/5.4/tempo.so) bytes"

command -v qemu-aarch64 >/dev/null || { echo "arm64: not run: no qemu-aarch64 (Debian: qemu-user)"; exit 0; }
on() {                                            # processor, program...
  local cpu=$1; shift
  TEMPO_TIER=interpreter timeout 600 qemu-aarch64 -cpu "$cpu" -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH="$lib:$root/lib/aarch64-linux-gnu" "$@"
}
check() {                                         # processor, test
  if on "$1" "build/arm64/spec/c/$2_test" >"$out/said"; then echo "arm64: $2_test on $1: $(tail -n 1 "$out/said")"
  else cat "$out/said"; exit 1; fi
}
for t in "${tests[@]}"; do check max "$t"; done
check cortex-a57 kernel                           # has no sdot
export LUA_PATH_5_4="lua/?.lua;lua/?/init.lua"
compare() {
  LUA_CPATH_5_4="build/arm64/5.4/?.so" on max "$root/usr/bin/lua5.4" "$@" >"$out/theirs"
  LUA_CPATH_5_4="build/5.4/?.so" TEMPO_TIER=interpreter lua5.4 "$@" >"$out/ours"
  if diff -q "$out/ours" "$out/theirs" >/dev/null; then echo "arm64: $* prints the same"
  else diff "$out/ours" "$out/theirs" | head; echo "arm64: $* prints something else" >&2; exit 1; fi
}
for p in fibonacci prefix_sums edit_distance episodes state_space causal_attention; do compare examples/$p.lua; done
compare .ci/elsewhere.lua
