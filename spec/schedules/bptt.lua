local tempo = require "tempo"

local P = tempo.program()
local i = P:dim "i"
local t, T = P:dim "t"
local x = P:input("x", { domain = { t }, shape = { 8 } })
local y = P:input("y", { domain = { t }, shape = { 8 } })
local w = P:param("w", { along = { i }, shape = { 8, 8 }, init = tempo.eye { 8 } * 0.5 })
local h = P:tensor { domain = { i, t }, shape = { 8 }, name = "h" }
h[{ t = 0 }] = x
h[{ i, t }] = (x + h[{ t = t - 1 }]:matmul(w)):tanh()
local loss = (h - y):square():sum()[{ t = 0 .. T }]:sum(0):name "loss"
w[i + 1] = w - tempo.grad(loss, { w })[1] * 0.01
return P, { loss = loss }
