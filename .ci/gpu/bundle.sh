#!/bin/sh
# Packs what a machine with a card needs to build and try tempo, where it has gcc, make and CUDA's
# driver but no Lua, no isl, no packages and no network: build/tempo-gpu.tar.gz. There:
#   tar xf tempo-gpu.tar.gz && cd tempo-gpu && ./run-gpu.sh
set -e
B=${1:-build}
to=$B/gpu-bundle/tempo-gpu
rm -rf "$to"
mkdir -p "$to/include" "$to/lib" "$to/bin" "$to/share" "$to/build/5.4" "$to/build/5.1"

# Sources: what git knows, or all, but for what is built.
{ git ls-files 2>/dev/null | grep . || find . -path "./$B" -prune -o -path ./.git -prune -o -type f -print; } |
  tar cf - -T - | tar xf - -C "$to"
cp .ci/gpu/run-gpu.sh "$to"

# Headers and libraries. Shared ones: Debian's archives are not for a module.
libs=/usr/lib/$(gcc -print-multiarch)
cp -r /usr/include/isl /usr/include/lua5.4 /usr/include/luajit-2.1 /usr/include/zlib.h "$to/include"
for h in gmp.h zconf.h; do cp "$(ls /usr/include/"$(gcc -print-multiarch)"/$h /usr/include/$h 2>/dev/null | head -1)" "$to/include"; done
for l in isl gmp z; do
  cp "$libs/lib$l.so" "$to/lib/lib$l.so"
  ln -s "lib$l.so" "$to/lib/$(objdump -p "$libs/lib$l.so" | sed -n 's/.*SONAME *//p')"
done
cp "$libs/liblua5.4.a" "$libs/libluajit-5.1.a" "$to/lib"
# What ran here runs there if its libc is not older; run-gpu.sh builds anew if not.
(cd "$to" && sh .ci/gpu/hosts.sh)
strip --strip-debug -o "$to/build/5.4/tempo.so" "$B/5.4/tempo.so"
strip --strip-debug -o "$to/build/5.1/tempo.so" "$B/5.1/tempo.so"
cp -r "$B/gen" "$to/build"

# busted and what it requires, for both Luas
for v in 5.4 5.1; do
  mkdir -p "$to/share/lua/$v" "$to/share/lib/$v"
  for m in busted luassert say pl cliargs mediator term system busted.lua cliargs.lua mediator.lua; do
    test -e /usr/share/lua/$v/$m && cp -rL /usr/share/lua/$v/$m "$to/share/lua/$v"
  done
  for m in lfs.so term system; do cp -rL "$libs/lua/$v/$m" "$to/share/lib/$v"; done
done
tar czf "$B/tempo-gpu.tar.gz" -C "$B/gpu-bundle" tempo-gpu
ls -l "$B/tempo-gpu.tar.gz"
