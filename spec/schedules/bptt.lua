-- By hand: forwards with h kept for all T, then backwards with the adjoint of h at one point, in
-- blocks of rows so that the gradient of w is a product of matrices, then w in place; no T copies
-- of a weight, nothing grows with the iterations. One could do better: the loss's derivative
-- (grad add) is made forwards and kept for T as well; h - y could be made once more on the way
-- back.
local tempo = require "tempo"
local helper = require "spec.helper"

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

local function inputs(b)
  local r = helper.rng(2)
  return { x = helper.random(r, { b.T, 8 }, "f32"), y = helper.random(r, { b.T, 8 }, "f32") }
end
return P, { loss = loss }, inputs
