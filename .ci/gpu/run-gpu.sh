#!/bin/sh
# In an unpacked bundle, on a machine with a card:   ./run-gpu.sh [test|bench ..]   (both)
# Builds only if what came with it does not run here, then holds the device to the processor and
# takes times. Logs lie in $OUT, or in results.
cd "$(dirname "$0")" || exit 1
export PATH="$PWD/bin:$PATH" LD_LIBRARY_PATH="$PWD/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
for v in 5.4 5.1; do
  path="lua/?.lua;lua/?/init.lua;./?.lua;$PWD/share/lua/$v/?.lua;$PWD/share/lua/$v/?/init.lua"
  cpath="$PWD/build/$v/?.so;$PWD/share/lib/$v/?.so"
  if [ $v = 5.4 ]; then export LUA_PATH_5_4="$path" LUA_CPATH_5_4="$cpath"
  else export LUA_PATH="$path" LUA_CPATH="$cpath"; fi
done
runs() { lua5.4 -e 'require "tempo"' && luajit -e 'require "tempo"'; }
if ! runs 2>/dev/null; then
  echo "what came with the bundle does not run here: building"
  sh .ci/gpu/hosts.sh && make -j"$(nproc)" all ISL_INCDIR="$PWD/include" ISL_LIBDIR="$PWD/lib" \
    LUA54_CFLAGS="-I$PWD/include/lua5.4" LUA51_CFLAGS="-I$PWD/include/luajit-2.1" || exit 1
  runs || exit 1
fi
exec sh .ci/gpu/cuda.sh "$@"
