#!/usr/bin/env bash
# .ci/valgrind.sh BUILD: short runs of the examples, in Lua and in C, under valgrind; any invalid access, use of unwritten memory, or lost block fails.
# Lost are only blocks of ours: what Lua's own closing state or OpenBLAS's threads keep is theirs.
set -u
cd "$(dirname "$0")/.."
build=$1
command -v valgrind >/dev/null || { echo "valgrind is not installed (apt-get install valgrind)" >&2; exit 1; }
export LUA_PATH="$PWD/lua/?.lua;$PWD/lua/?/init.lua;;" LUA_CPATH="$PWD/$build/5.4/?.so;;" OPENBLAS_NUM_THREADS=1
failed=0
clean() {                                        # name, command...
  local name=$1; shift
  echo "== $name"
  valgrind -q --error-exitcode=9 --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite \
    --suppressions=.ci/valgrind.supp "$@" >/dev/null
  [ $? -eq 9 ] && { echo "$name: not clean"; failed=1; }
}

for example in examples/*.lua; do
  [ "$example" = examples/play_cartpole.lua ] && continue        # plays what another has learnt
  args=()
  grep -q 'iterations *=' "$example" && args+=(--iterations 2)
  grep -q 'quiet *=' "$example" && args+=(--quiet)
  grep -q 'steps *= *1000' "$example" && args+=(--steps 150)
  clean "$example ${args[*]-}" lua5.4 "$example" "${args[@]}"
done
clean "examples/c/cartpole" "$build/examples/c/cartpole" --iterations 2 --envs 2 --steps 20 --folder "$build/examples/c"
clean "examples/c/two_states" "$build/examples/c/two_states" 2
exit $failed
