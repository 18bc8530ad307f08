#!/usr/bin/env bash
# .ci/test.sh BUILD LUA...: the layers, the C unit tests and all specs under each LUA, with what is built in BUILD.
# Last line: "N passed, N failed", summed over all runs; it is also left in BUILD/test/total. Non-zero when anything
# failed or nothing ran. HARD=1: BUILD is a sanitizers' build.
set -u
cd "$(dirname "$0")/.."
build=$1; shift
out=$build/test
rm -rf "$out"; mkdir -p "$out"

# Nothing a user has in the environment decides a test.
for v in $(compgen -v | grep -E '^(TEMPO_|LUA_|OPENBLAS_|OMP_)'); do unset "$v"; done
export LUA_PATH="$PWD/lua/?.lua;$PWD/lua/?/init.lua;;"
seconds=${TEST_SECONDS:-${HARD:+5400}}; seconds=${seconds:-1800}       # a run that takes longer hangs
if [ -n "${HARD:-}" ]; then
  # Only the C programs look for leaks: when Lua has closed the module, what its static data held would count.
  export UBSAN_OPTIONS=print_stacktrace=1 ASAN_OPTIONS=allocator_may_return_null=1  # a size beyond memory is an error of ours
  preload=$(gcc -print-file-name=libasan.so):$(gcc -print-file-name=libubsan.so)
fi

passed=0 failed=0
count() {                                         # name, passed, failed
  echo "== $1: $2 passed, $3 failed"
  passed=$((passed + $2)) failed=$((failed + $3))
}
# A run leaves its count in a file. One that died before, or that counts no failure and yet ends non-zero, is a failure.
count_file() {                                    # name, exit status, file
  local p=0 f=0 line
  line=$(grep -sE '^[0-9]+ passed, [0-9]+ failed$' "$3" | tail -n 1)
  if [ -n "$line" ]; then read -r p _ f _ <<<"$line"; else echo "$1: ended with status $2 and no count"; f=1; fi
  [ "$2" -ne 0 ] && [ "$f" -eq 0 ] && { echo "$1: ended with status $2"; f=1; }
  count "$1" "$p" "$f"
}

if lua5.4 .ci/layers.lua; then count layers 1 0; else count layers 0 1; fi

for src in spec/c/*_test.c; do
  [ -e "$src" ] || continue
  name=$(basename "$src" .c)
  timeout --foreground "$seconds" "$build/spec/c/$name" | tee "$out/$name"
  count_file "$name" "${PIPESTATUS[0]}" "$out/$name"
done

for lua in "$@"; do
  version=$("$lua" -e 'io.write(_VERSION:match "[%d.]+")')
  run=(env "LUA_CPATH=$PWD/$build/$version/?.so;;" "TEMPO_TEST_COUNT=$out/$lua" "TEMPO_BUILD=$build")
  [ -n "${HARD:-}" ] && run+=("LD_PRELOAD=$preload" ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:quarantine_size_mb=4)        # what is freed must not look like growth
  echo "== specs under $lua"
  if [ -n "${HARD:-}" ]; then
    stressed=("spec/errors/run.lua spec/errors/*_*.lua" examples/fibonacci.lua "examples/nested_training.lua --iterations 2" "examples/reinforce_cartpole.lua --iterations 2")
    for script in "${stressed[@]}"; do
      # shellcheck disable=SC2086
      if "${run[@]}" TEMPO_GC=1 "$lua" $script >"$out/stressed" 2>&1; then count "$lua $script under TEMPO_GC=1" 1 0
      else tail -n 20 "$out/stressed"; count "$lua $script under TEMPO_GC=1" 0 1; fi
    done
  fi
  timeout --foreground "$seconds" "${run[@]}" "$lua" .ci/busted.lua --cpath="$build/$version/?.so"
  count_file "specs under $lua" $? "$out/$lua"
done

echo "$passed passed, $failed failed" | tee "$out/total"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
