-- Does on other systems what examples do not: trains on two threads, saves and loads, keeps to a
-- limit of memory, blames the script's line. Prints the same on every system (.ci/windows.sh,
-- .ci/arm64.sh).
local tempo = require "tempo"
local rl = tempo.rl
local out = (os.getenv "TEMP" or "/tmp") .. "/tempo-windows"
require("tempo.logger").mkdir(out)

local P = tempo.program { seed = 1 }
local i, b, t = P:dims "i b t"
local net = tempo.nn.MLP(P, { 4, 16, 2 }, { name = "net", along = { i }, activation = "tanh" })
local env = rl.env(P, "CartPole-v1", { domain = { i, b, t }, time = t, carry = i })
local policy = tempo.dist.Categorical { logits = net(env.obs) }
local action = policy:sample()
env:step(action)
local g = rl.monte_carlo(env, { gamma = 0.9 })
tempo.optim.Adam(net, { lr = 0.01 }):step(-(policy:log_prob(action) * g))
local f = P:compile { outputs = { g = g[{ b = 0 .. b:upper(), t = 0 .. t:upper() }]:mean() }, threads = 2 }
local r = f({}, { I = 3, B = 8, T = 16 })
print("returns", r.g:totable()[1], r.g:totable()[3])
f:save(out .. "/net", { portable = true })
f:save(out .. "/net", { portable = true })                  -- in place of the first
print("loaded", pcall(f.load_params, f, out .. "/net"))

local Q = tempo.program { seed = 2 }
local s, S = Q:dim "s"
local x = tempo.normal({ 16, 1 }, { domain = { s }, name = "noise" })
local cell = tempo.nn.RNNCell(Q, 1, 32, { name = "rnn" })
local h = Q:tensor { domain = { s }, shape = { 16, 32 }, name = "state" }
h:otherwise(cell(x, tempo.prev(h, s, 0)))
local slope = tempo.grad((h - x):square():mean()[{ s = 0 .. S }]:mean(), cell:parameters()[1])
local limited = Q:compile { outputs = { slope = slope:sum() }, memory = "2MiB" }
print("limit", limited({}, { S = 4000 }).slope:item())
print(pcall(function() return x:reshape { 7 } end))
print((select(2, pcall(tempo.load, out .. "/missing.npy")):gsub(":.*missing", ": missing")))
