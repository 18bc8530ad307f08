-- By hand, for n given at the call: the gradient of step t - n + 1 belongs right behind step t, as
-- soon as its last reward is there; the first n - 1 steps only fill the window, and after the
-- episode n - 1 gradients are left. So o, act and the rewards are rings of n (o has n + 1: the next
-- observation is made in the same step), and memory depends on neither T nor I. With versions for n
-- = 1 and for empty windows (n = 0).
local tempo = require "tempo"

local P = tempo.program()
local i = P:dim "i"
local t, T = P:dim "t"
local n = P:bound "n"
local w = P:param("w", { along = { i }, shape = { 4 }, init = 0.1 })
local o = P:tensor { domain = { i, t }, shape = { 4 }, name = "o" }
local act = (o * w):sum():tanh():name "act"
local nxt, r = P:call(function(a)
  local x = a[1]:item()
  return { x, x * 0.5, -x, 1 }, 1 - x * x
end, { act }, { { domain = { i, t }, shape = { 4 } }, { domain = { i, t } } })
o[{ t = 0 }] = tempo.ones { 4 }
o[{ i, t }] = nxt[{ t = t - 1 }]
local ret = r[{ t = t .. tempo.min(t + n, T) }]:sum(0):name "ret"
local loss = act * ret:detach()
local g = tempo.grad(loss, { w })[1]
w[i + 1] = (w + g * 0.01):clamp(-2, 2)
P:sink({ r[{ t = 0 .. T }]:mean(0) }, function() end)
return P, {}
