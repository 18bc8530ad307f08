#!/bin/sh
# The peer of bench/llm.lua in llama.cpp: milliseconds of processor time on one thread, by the
# difference of two runs that have loading and warming up in common.
#     sh bench/peers/llama_bench.sh LLAMA_BENCH decode MODEL.gguf     of a token behind 16
#     sh bench/peers/llama_bench.sh LLAMA_BENCH prefill MODEL.gguf    of a prompt of 512
seconds() {
  (
    "$bench" -m "$model" -t 1 -ngl 0 "$@" >/dev/null 2>&1 || echo "llama-bench failed" >&2
    times
  ) | tail -1 | awk '{ for (k = 1; k <= 2; k++) { split($k, t, /[ms]/); s += 60 * t[1] + t[2] } print s }'
}
bench=$1 what=$2 model=$3
if [ "$what" = prefill ]; then
  few=$(seconds -p 512 -n 0 -b 512 -ub 512 -r 1) many=$(seconds -p 512 -n 0 -b 512 -ub 512 -r 3) times=2
else
  few=$(seconds -p 0 -n 8 -d 16 -r 1) many=$(seconds -p 0 -n 40 -d 16 -r 1) times=32
fi
echo "$few $many $times" | awk '{ printf "%.6g 0\n", ($2 - $1) / $3 * 1000 }'
