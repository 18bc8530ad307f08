#!/bin/sh
# On a machine with a card (or with TEMPO_CUDA at another libcuda):
#   cuda.sh test    specs of devices on CUDA against the processor, then the fuzzer, then
#                   compute-sanitizer where it is
#   cuda.sh bench   bench/cuda.lua
# Logs go to $OUT, or to results. SECONDS_FUZZ: 60.
B=${TEMPO_BUILD:-build}
OUT=${OUT:-results}
mkdir -p "$OUT"
export TEMPO_SPEC_DEVICE=cuda
bad=0
logged() { # logged NAME COMMAND ..
  name=$1
  shift
  "$@" >"$OUT/$name.log" 2>&1 && ok=passed || { ok=FAILED; bad=1; }
  echo "$ok $name: $(grep -E 'success|RATIO|findings|ERROR SUMMARY' "$OUT/$name.log" | tail -1)"
}
specs() { # specs LUA VERSION FILE ..
  lua=$1 v=$2
  shift 2
  for f in "$@"; do
    logged "$(basename "$f" .lua)" "$lua" .ci/busted.lua --cpath="$B/$v/?.so" --output=plainTerminal "$f"
  done
}
test_cuda() {
  specs luajit 5.1 spec/gpu/device_rows_spec.lua
  specs lua5.4 5.4 spec/gpu_ops_spec.lua spec/gpu_rows_spec.lua spec/gpu_spec.lua
  specs luajit 5.1 spec/gpu/late_spec.lua spec/gpu/products_spec.lua spec/gpu/sorts_spec.lua
  logged fuzz lua5.4 spec/fuzz/fuzz.lua --device cuda --seconds "${SECONDS_FUZZ:-60}"
  command -v compute-sanitizer >/dev/null || { echo "left out: compute-sanitizer is not here"; return; }
  for tool in memcheck racecheck; do
    logged $tool compute-sanitizer --tool $tool --error-exitcode 1 \
      lua5.4 spec/gpu_ops.lua cuda sorts f32
  done
}
command -v nvidia-smi >/dev/null && nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv
lua5.4 -e 'for _, d in ipairs(require("tempo").devices()) do print(d.device, d.name, d.missing or "") end'
for what in ${*:-test bench}; do
  case $what in
  test) test_cuda ;;
  bench) lua5.4 bench/cuda.lua | tee "$OUT/bench.txt" ;;
  *) echo "cuda.sh: what is '$what'? test, bench" >&2; exit 2 ;;
  esac
done
exit $bad
