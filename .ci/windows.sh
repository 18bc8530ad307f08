#!/usr/bin/env bash
# Builds tempo for 64-bit Windows with mingw-w64 into build/windows: tempo.dll for Lua 5.4 (the
# interpreter and export; native code needs a compiler of the player's), lua.exe and lua54.dll. Then,
# where wine is, runs programs with it and compares what they print with this machine's Lua.
#
#   .ci/windows.sh          packages wanted: gcc-mingw-w64-x86-64-posix libz-mingw-w64-dev curl, wine64 to run
#
# isl and Lua are built from Debian's sources, isl with its own integers instead of GMP.
set -eu
cd "$(dirname "$0")/.."
out=$PWD/build/windows
pool=http://deb.debian.org/debian/pool/main
host=x86_64-w64-mingw32
cc=$host-gcc-posix
command -v $cc >/dev/null || { echo "windows: left out: no $cc (Debian: gcc-mingw-w64-x86-64-posix libz-mingw-w64-dev)"; exit 0; }
mkdir -p "$out/src"

# path, sha256
source_of() {
  local file=$out/src/$(basename "$1")
  [ -f "$file" ] || curl -sSfL --max-time 120 -o "$file.part" "$pool/$1" && mv -f "$file.part" "$file" 2>/dev/null || true
  echo "$2  $file" | sha256sum -c --quiet
  tar -C "$out/src" -xf "$file"
}

if [ ! -f "$out/isl/lib/libisl.a" ]; then
  source_of i/isl/isl_0.25.orig.tar.xz be7b210647ccadf90a2f0b000fca11a4d40546374a850db67adb32fad4b230d9
  (cd "$out/src/isl-0.25"
    ./configure --host=$host CC=$cc CFLAGS=-O2 --with-int=imath --disable-shared --prefix="$out/isl" >/dev/null
    make -s gitversion.h
    make -s -j"$(nproc)" libisl.la
    make -s install-libLTLIBRARIES install-data) >"$out/isl.log" 2>&1
fi
if [ ! -f "$out/lua.exe" ]; then
  source_of l/lua5.4/lua5.4_5.4.4.orig.tar.gz 164c7849653b80ae67bec4b7473b884bf5cc8d2dca05653475ec2ed27b9ebf61
  make -s -C "$out/src/lua-5.4.4/src" mingw CC=$cc AR="$host-ar rc" RANLIB=$host-ranlib >"$out/lua.log" 2>&1
  cp "$out/src/lua-5.4.4/src/lua54.dll" "$out/src/lua-5.4.4/src/lua.exe" "$out"
fi

# AVX registers on the stack: Windows aligns it to 16 bytes only, so moves may not ask for 32.
MAKEFLAGS= make -s -j"$(nproc)" windows-dll WINDOWS_CC="$cc -Wa,-muse-unaligned-vector-move" \
  WINDOWS_FLAGS="-I$out/isl/include -I$out/src/lua-5.4.4/src" WINDOWS_LIBS="-L$out/isl/lib -L$out -lisl -lz -l:lua54.dll"
echo "windows: build/windows/tempo.dll, $(stat -c %s "$out/tempo.dll") bytes"

wine=$(command -v wine64 || command -v wine || ls /usr/lib/wine/wine64 2>/dev/null || true)
[ -n "$wine" ] || { echo "windows: not run: no wine (Debian: wine64)"; exit 0; }
export WINEDEBUG=-all WINEPREFIX=$out/prefix LUA_PATH_5_4="lua/?.lua;lua/?/init.lua"
compare() {
  LUA_CPATH_5_4="build/windows/?.dll" timeout 300 "$wine" "$out/lua.exe" "$@" | tr -d '\r' >"$out/theirs"
  LUA_CPATH_5_4="build/5.4/?.so" TEMPO_TIER=interpreter lua5.4 "$@" >"$out/ours"
  if diff -q "$out/ours" "$out/theirs" >/dev/null; then echo "windows: $* prints the same"
  else diff "$out/ours" "$out/theirs" | head; echo "windows: $* prints something else" >&2; exit 1; fi
}
compare examples/fibonacci.lua
compare examples/prefix_sums.lua
compare examples/edit_distance.lua
compare examples/episodes.lua
compare .ci/elsewhere.lua
