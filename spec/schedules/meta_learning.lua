-- By hand: iterations outermost, in each the inner loop forwards, the outer loss, the inner loop
-- backwards, the update; all seeds in each operation, as nothing connects them but the mean at the
-- end. The inner loop is linear in u, so its way back needs no u: both u and its adjoint are two
-- points, whatever K is.
local tempo = require "tempo"
local helper = require "spec.helper"

-- MAML on least squares, seeds s side by side: from w, K steps of SGD on one half of the data; the
-- loss of what comes out on the other half moves w.
local P = tempo.program()
local s, S = P:dim "s"
local i = P:dim "i"
local k, K = P:dim "k"
local x = P:input("x", { shape = { 2, 16, 4 } })
local y = P:input("y", { shape = { 2, 16 } })
local function miss(half, z) return x:select(0, half):matmul(z) - y:select(0, half) end

local w = P:param("w",
  { along = { i }, domain = { s }, shape = { 4 },
  init = tempo.normal({ 4 }, { domain = { s }, name = "w" }) })
local u = P:tensor { domain = { s, i, k }, shape = { 4 }, name = "u" }
local step = x:select(0, 0):mT():matmul(miss(0, u)) * (0.1 * 2 / 16)
u[{ k = 0 }] = w
u[{ s, i, k }] = (u - step)[{ k = k - 1 }]
local outer = miss(1, u[{ k = K - 1 }]):square():mean(0):name "outer"
w:update(w - tempo.grad(outer, { w })[1] * 0.01)
local mean = outer[{ s = 0 .. S }]:mean(0):name "mean"

local function inputs()
  local r = helper.rng(4)
  return { x = helper.random(r, { 2, 16, 4 }, "f32"), y = helper.random(r, { 2, 16 }, "f32") }
end
return P, { mean = mean }, inputs
