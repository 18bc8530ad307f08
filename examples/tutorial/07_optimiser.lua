--- Parameters and optimisers: a small network learns exclusive or.
local tempo = require "tempo"
local nn, optim = tempo.nn, tempo.optim

local P = tempo.program { seed = 1 }
local i, I = P:dim "i"                      -- iterations
local net = nn.MLP(P, { 2, 8, 1 }, { along = { i }, name = "net" })

local x = P:constant { { 0, 0 }, { 0, 1 }, { 1, 0 }, { 1, 1 } }
local y = P:constant { { 0 }, { 1 }, { 1 }, { 0 } }
local guess = net(x):sigmoid()
local loss = guess:mse_loss(y)
optim.Adam(net:parameters(), { lr = 0.05 }):step(loss)

local f = P:compile { outputs = { loss = loss, guess = guess[I - 1] } }
local out = f({}, { I = 500 })
for k = 0, 3 do print(("%.0f"):format(out.guess:get(k, 0))) end
print("learnt:", out.loss[499] < 0.01)

-- the next run starts with what this one learnt, at i = 0 again
f:load_params(f:params())
print("remembered:", f({}, { I = 1 }).loss[0] < 0.01)
