-- make test-export: a training loop with its environment inside, exported, gives the weights of the program itself,
-- bit for bit, from every compiler and on every processor that is here, after 1,000 updates each. Debian's packages
-- for all of them:
--   gcc clang-14 lib32gcc-12-dev libc6-dev-i386 gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
--   wasi-libc lld-14 libclang-rt-14-dev-wasm32 wabt
-- It names compilers that are not here; TEST_EXPORT=all makes that an error.
local tempo = require "tempo"
local UPDATES = 1000

local function output(command)
  local p = assert(io.popen(command .. " 2>&1"))
  local s = p:read "*a"
  p:close()
  return s
end

-- Cart and pole in tensors, episodes of fixed length, REINFORCE with Adam, and a sum of squares.
local function program()
  local P = tempo.program { seed = 7 }
  local i, I = P:dim "i"
  local b, B = P:dim "b"
  local t, T = P:dim "t"
  local policy = tempo.nn.MLP(P, { 4, 8, 2 }, { name = "policy", activation = "tanh", along = { i } })
  local s = P:tensor { domain = { i, b, t }, shape = { 4 } }
  local pi = tempo.dist.Categorical { logits = policy(s) }
  local action = pi:sample { name = "action", domain = { i, b, t } }
  local force = action:to "f32" * 20 - 10
  local function at(k) return s[{ i, b, t }]:select(0, k) end
  local sin, cos = at(2):sin(), at(2):cos()
  local push = (force + 0.05 * at(3) * at(3) * sin) / 1.1
  local turn = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos * cos / 1.1))
  local move = push - 0.05 * turn * cos / 1.1
  s[{ t = 0 }] = tempo.uniform({ 4 }, { domain = { i, b } }) * 0.1 - 0.05
  local step = tempo.stack { at(1), move, at(3), turn }
  s:otherwise(s[t - 1] + 0.02 * step[t - 1])
  local reward = (-at(2):abs() * 8):exp()
  local G = P:tensor { domain = { i, b, t } }
  G[{ t = T - 1 }] = reward
  G:otherwise(reward + 0.97 * G[t + 1])
  local loss = -pi:log_prob(action) * G:detach() * (1 / (B * T):value():to "f32")
  tempo.optim.Adam(policy:parameters(), { lr = 0.01 }):step(loss)
  local all = s[{ b = tempo.range(0, B), t = tempo.range(0, T) }]
  local seen = all:reshape { -1 }
  local outputs = { ret = G[{ t = 0, b = tempo.range(0, B) }]:mean(), gram = seen:dot(seen), last = (I - 1):value() }
  return P:compile { outputs = outputs, reproducible = true, tier = "interpreter" }
end

local MAIN = [[
#include "agent.h"
#include <stdio.h>
uint64_t go(void);
static agent a;
static unsigned char w[AGENT_WEIGHTS];
static float ret[%d], gram[%d];
static int64_t last[1];
static uint64_t fnv(uint64_t h, const void *p, size_t n) {
  const unsigned char *b = (const unsigned char *)p;
  size_t i;
  for (i = 0; i < n; i++) h = (h ^ b[i]) * 1099511628211ULL;
  return h;
}
uint64_t go(void) {
  agent_inputs in = { 0 };
  agent_outputs out;
  out.gram = gram, out.last = last, out.ret = ret;
  agent_init(&a);
  if (!agent_run(&a, &in, &out)) return 0;
  agent_save(&a, w);
  return fnv(fnv(fnv(14695981039346656037ULL, w, sizeof w), ret, sizeof ret), gram, sizeof gram);
}
#ifndef __wasm__
int main(void) {
  uint64_t h = go();
  printf("%%08lx%%08lx\n", (unsigned long)(h >> 32), (unsigned long)(h & 0xffffffffUL));
  return h == 0;
}
#endif
]]

local folder = os.tmpname()
os.remove(folder)
assert(os.execute("mkdir -p " .. folder .. "/after"))
local function write(name, text)
  local f = assert(io.open(folder .. "/" .. name, "wb"))
  f:write(text)
  f:close()
end

local bounds = { I = UPDATES, B = 2, T = 8 }
program():export(folder .. "/agent", bounds)
write("main.c", MAIN:format(UPDATES, UPDATES))

-- The program's own: what its file of weights would be after the run, and outputs, hashed by C as well.
local f = program()
local out = f({}, bounds)
f:export(folder .. "/after/agent", bounds)
local file = assert(io.open(folder .. "/after/agent.weights", "rb"))
local bytes = { file:read "*a" }
file:close()
for _, name in ipairs { "ret", "gram" } do
  local path = folder .. "/a.npy"
  out[name]:save(path)
  file = assert(io.open(path, "rb"))
  bytes[#bytes + 1] = file:read "*a":sub(-4 * UPDATES)
  file:close()
end
local h = 0xcbf29ce484222325
for byte in table.concat(bytes):gmatch "." do h = (h ~ byte:byte()) * 1099511628211 end
local want = ("%016x"):format(h)
print(("%-71s %s"):format("the interpreter, " .. UPDATES .. " updates", want))

-- As wasm-interp prints a number of 64 bits.
local function unsigned(digits)
  local n = 0
  for d in digits:gmatch "%d" do n = n * 10 + tonumber(d) end
  return n
end

local STRICT = "-std=c99 -Wall -Wextra -Werror -pedantic "
local function here(cc, flags) return { cc = cc, flags = flags } end
local function far(name, cc, flags, run) return { name = name, cc = cc, flags = flags, run = run } end
local targets = {
  here("cc", "-O0"), here("cc", "-O3 -march=native"), here("clang", "-O2"), here("clang", "-O3 -march=native"),
  far("32 bits", "cc", "-O2 -m32 -msse2 -mfpmath=sse -I/usr/include/x86_64-linux-gnu"),
  far("aarch64", "aarch64-linux-gnu-gcc", "-O0 -static", "qemu-aarch64 "),
  far("aarch64", "aarch64-linux-gnu-gcc", "-O3 -static", "qemu-aarch64 "),
  far("wasm32", "clang", "-O2 --target=wasm32-wasi -nostartfiles -Wl,--no-entry,--export=go",
    "wasm-interp --run-all-exports "),
}

local failed = 0
for k, target in ipairs(targets) do
  local exe, command = ("%s/go%d"):format(folder, k), target.cc .. " " .. target.flags
  local said = output(("cd %s && %s %s %s -o %s main.c agent.c -lm && %s%s"):format(folder, target.cc, STRICT,
    target.flags, exe, target.run or "", exe))
  local got, number = said:match "^(%x+)\n$", said:match "go%(%) => i64:(%d+)"
  if number then got = ("%016x"):format(unsigned(number)) end
  local absent = not got and target.name and os.getenv "TEST_EXPORT" ~= "all"
  if got ~= want and not absent then failed = failed + 1 end
  local verdict = got and got .. (got == want and "" or "  DIFFERS")
  verdict = verdict or (absent and "not here: " or "FAILED: ") .. said:sub(1, 300)
  print(("%-10s %-60s %s"):format(target.name or "", command, verdict))
end
os.execute("rm -r " .. folder)
os.exit(failed == 0)
