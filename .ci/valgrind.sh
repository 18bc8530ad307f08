#!/usr/bin/env bash
# .ci/valgrind.sh BUILD: short runs of the examples under valgrind; any invalid access, use of what nobody wrote, or lost block fails.
# Lost are only blocks of ours: what Lua's own closing state or OpenBLAS's threads keep is theirs.
set -u
cd "$(dirname "$0")/.."
build=$1
command -v valgrind >/dev/null || { echo "valgrind is not installed (apt-get install valgrind)" >&2; exit 1; }
export LUA_PATH="$PWD/lua/?.lua;$PWD/lua/?/init.lua;;" LUA_CPATH="$PWD/$build/5.4/?.so;;" OPENBLAS_NUM_THREADS=1
failed=0
for example in examples/*.lua; do
  [ "$example" = examples/play_cartpole.lua ] && continue        # plays what another has learnt
  args=()
  grep -q 'iterations *=' "$example" && args+=(--iterations 2)
  grep -q 'quiet *=' "$example" && args+=(--quiet)
  echo "== $example ${args[*]-}"
  valgrind -q --error-exitcode=9 --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite \
    --suppressions=.ci/valgrind.supp lua5.4 "$example" "${args[@]}" >/dev/null
  [ $? -eq 9 ] && { echo "$example: not clean"; failed=1; }
done
exit $failed
