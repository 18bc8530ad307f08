-- Prints five actions of a recurrent policy, and that its export, C that needs no tempo, gives the
-- same.
--
--     lua5.4 examples/export_policy.lua [--seed 0] [--out DIR] [--quiet]
local tempo = require "tempo"
local opt = require "tempo.cli" (arg, { seed = 0, out = "out/export_policy", quiet = false })
local P = tempo.program { seed = opt.seed }
local t = P:dim "t"                                         -- frames of a game
local seen = P:input("seen", { domain = { t }, shape = { 6 } })
local h = P:tensor { domain = { t }, shape = { 16 } }       -- what it remembers
local cell = tempo.nn.GRUCell(P, 6, 16, { name = "cell" })
h[t] = cell(seen, tempo.prev(h, t, 0))
local logits = tempo.nn.Linear(P, 16, 4, { name = "head" })(h)

local f = P:compile { outputs = { action = logits:argmax(0), logits = logits }, tick = t,
  tier = "interpreter" }
f({ seen = tempo.array({}, "f32", { 0, 6 }) }, { T = 0 })   -- first values of the parameters
require "tempo.logger".mkdir(opt.out)
f:export(opt.out .. "/policy", { T = 1000 })

-- Writes what a game would do, frame by frame.
local host = assert(io.open(opt.out .. "/game.c", "w"))
host:write [[
#include <stdio.h>
#include "policy.h"
static policy p;
int main(void) {
  static unsigned char weights[POLICY_WEIGHTS];
  FILE *f = fopen("policy.weights", "rb");
  if (!f || fread(weights, 1, sizeof weights, f) != sizeof weights) return 1;
  policy_init(&p);
  policy_outputs none = { 0 };
  policy_inputs nothing = { 0 };
  if (!policy_load(&p, weights, sizeof weights) || !policy_start(&p, &nothing, &none)) return 2;
  for (int k = 0, done = 0; k < 5; k++) {
    float seen[6], logits[4];
    int64_t action;
    for (int j = 0; j < 6; j++) seen[j] = (float)((k * 7 + j * 3) % 5) / 4;
    policy_values values = { seen };
    policy_shown shown = { &action, logits };
    if (!policy_step(&p, &values, &shown, &done)) return 3;
    printf("frame %d: action %d, logits", k, (int)action);
    for (int j = 0; j < 4; j++) printf(j < 3 ? " %.9g" : " %.9g\n", logits[j]);
  }
  return 0;
}
]]
host:close()
local cc = os.getenv "CC" or "cc"
local build =
  "cd %s && %s -std=c99 -Wall -Wextra -pedantic -O2 -o game game.c policy.c -lm && ./game"
local run = assert(io.popen(build:format(opt.out, cc)))
local theirs = run:read "*a"
run:close()

f:start({}, { T = 5 })
local frame, apart = 0, 0
for action, numbers in theirs:gmatch "action (%d), logits ([^\n]+)" do
  local row, k = {}, 0
  for j = 0, 5 do row[j + 1] = ((frame * 7 + j * 3) % 5) / 4 end
  local _, out = f:step { seen = row }
  assert(out.action:item() == tonumber(action), "another action")
  for v in numbers:gmatch "%S+" do
    apart, k = math.max(apart, math.abs(out.logits:get(k) - tonumber(v))), k + 1
  end
  frame = frame + 1
end
if not opt.quiet then io.write(theirs) end
print(("%d frames, the same actions; logits are apart by %s"):format(frame,
  apart < 1e-6 and "less than 1e-6" or apart))
