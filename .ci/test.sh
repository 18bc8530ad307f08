#!/usr/bin/env bash
# .ci/test.sh BUILD LUA...: the layers, the C unit tests and the specs (.ci/specs.lua says which run
# under which LUA), with what is built in BUILD, as many at once as there are processors (TEST_JOBS).
# Each is a process of its own; what it printed is in BUILD/test, and shown if it fails. Last line:
# "N passed, N failed", summed over all; it is also left in BUILD/test/total. Non-zero when anything
# failed or ran no test. HARD=1: BUILD is a sanitizers' build; scripts run besides with a full
# collection at every step into or out of the binding.
set -u
cd "$(dirname "$0")/.."
build=$1; shift
out=$build/test
rm -rf "$out"; mkdir -p "$out"

# Nothing a user has in the environment decides a test.
for v in $(compgen -v | grep -E '^(TEMPO_|LUA_|OPENBLAS_|OMP_)'); do unset "$v"; done
export TEMPO_CACHE=$PWD/$build/cache
rm -f "$TEMPO_CACHE"/*.plan              # what is compiled is to be compiled, not found
export LUA_PATH="$PWD/lua/?.lua;$PWD/lua/?/init.lua;;"
seconds=${TEST_SECONDS:-${HARD:+3600}}; seconds=${seconds:-900}        # a run that takes longer hangs
workers=${TEST_JOBS:-$(nproc 2>/dev/null || echo 1)}
trap 'kill $(jobs -p) 2>/dev/null; exit 130' INT TERM
if [ -n "${HARD:-}" ]; then
  # Only the C programs look for leaks: when Lua has closed the module, what its static data held would count.
  # A size beyond memory is an error of ours.
  export UBSAN_OPTIONS=print_stacktrace=1 ASAN_OPTIONS=allocator_may_return_null=1
  preload=$(gcc -print-file-name=libasan.so):$(gcc -print-file-name=libubsan.so)
  # Compilers that tests start run without the sanitizers, which would make them twice as slow.
  mkdir -p "$build/bin"
  for cc in cc gcc clang; do
    real=$(PATH=${PATH//"$PWD/$build/bin:"/} command -v "$cc") || continue
    printf '#!/bin/sh\nunset LD_PRELOAD\nexec "%s" "$@"\n' "$real" >"$build/bin/$cc"
    chmod +x "$build/bin/$cc"
  done
  export PATH=$PWD/$build/bin:$PATH
fi

# Runs a command and adds a line "passed failed" to $out/sums. The count is what busted left in
# $file.count, or what the command printed last; `once` is for commands that do not count. One that
# died before its count, that counts nothing, or that counts no failure and yet ends non-zero, failed.
run() {                                           # name, once or "", command...
  local name=$1 once=$2 file=$out/${1//[\/ ]/_} p=0 f=0 line= why= start=$SECONDS; shift 2
  TEMPO_TEST_COUNT=$file.count timeout "$seconds" "$@" >"$file.log" 2>&1 &
  local status child=$!
  trap 'kill $child; exit 1' TERM
  wait $child; status=$?
  [ -n "$once" ] && [ $status -eq 0 ] && line="1 passed, 0 failed"
  [ -z "$once" ] && line=$(grep -hsE '^[0-9]+ passed, [0-9]+ failed$' "$file.log" "$file.count" | tail -n 1)
  [ -n "$line" ] && read -r p _ f _ <<<"$line"
  if [ $status -ne 0 ] && [ "$f" -eq 0 ]; then why="ended with status $status" f=1
  elif [ $((p + f)) -eq 0 ]; then why="ran no test" f=1; fi
  {
    flock 9
    [ "$f" -gt 0 ] && tail -n 300 "$file.log" && echo "$file.log" >>"$out/failed"
    echo "== $name: $p passed, $f failed${why:+ ($why)}, $((SECONDS - start)) s"
    echo "$p $f" >>"$out/sums"
  } 9>>"$out/lock"
}
started=0
go() {                                            # the same beside others
  started=$((started + 1))
  while [ "$(jobs -rp | wc -l)" -ge "$workers" ]; do wait -n; done
  run "$@" </dev/null &                           # a shell of its own
}

specs=$(lua5.4 .ci/specs.lua ${HARD:+hard} "$@"); strays=$?
go layers once lua5.4 .ci/layers.lua
[ -n "${HARD:-}" ] || go lint once make lint
go "every test is run" once [ "$strays" -eq 0 ]

for src in spec/c/*_test.c; do
  name=$(basename "$src" .c)
  go "$name" "" "$build/spec/c/$name"
done

lua_run() {                                       # name, once or "", LUA, words that go before it..., --, its arguments
  local name=$1 once=$2 lua=$3 version before=(); shift 3
  version=$("$lua" -e 'io.write(_VERSION:match "[%d.]+")')
  while [ "$1" != -- ]; do before+=("$1"); shift; done
  shift
  if [ -n "${HARD:-}" ]; then                     # a small quarantine: what is freed must not look like growth
    before+=("LD_PRELOAD=$preload" ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:quarantine_size_mb=4)
  fi
  go "$name" "$once" env "LUA_CPATH=$PWD/$build/$version/?.so;;" "TEMPO_BUILD=$build" "${before[@]}" "$lua" "$@"
}
if [ -n "${HARD:-}" ]; then
  stressed=("spec/errors/run.lua spec/errors/*_*.lua" examples/fibonacci.lua
    "examples/nested_training.lua --iterations 2" "examples/reinforce_cartpole.lua --iterations 2")
  for script in "${stressed[@]}"; do
    # shellcheck disable=SC2086
    lua_run "$1 ${script%% *} under TEMPO_GC=1" once "$1" TEMPO_GC=1 -- $script
  done
fi
while read -r lua spec; do
  [ -n "$spec" ] || continue
  lua_run "$lua $spec" "" "$lua" -- .ci/busted.lua "$spec"
done <<<"$specs"
wait

# A test that was started and left no line died with its shell.
read -r passed failed < <(awk -v n="$started" '{ p += $1; f += $2 } END { print p + 0, f + n - NR }' "$out/sums")
times >"$out/times"
awk 'NR == 2 { print "processor time of the tests: " $1 " + " $2 }' "$out/times"
# The failures once more, where one who sees the end of a long log finds them.
if [ -f "$out/failed" ]; then
  while read -r log; do echo "== failed: $(basename "$log" .log)"; tail -n 12 "$log" | cut -c 1-300; done <"$out/failed"
fi
echo "$passed passed, $failed failed" | tee "$out/total"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
