-- By hand: for each iteration an episode of T steps, then the returns and the gradient, then the
-- update of w in place. The return of step 0 needs the last reward, so nothing of the gradient can
-- run before the episode is over: o, act and the rewards are kept for T steps, everything else for
-- one. Nothing grows with the iterations. The last step of an episode makes no next observation: T
-- - 1 is peeled. Returns are summed up backwards, in T steps instead of T (T + 1) / 2, in the loop
-- of the gradient.
local tempo = require "tempo"

local P = tempo.program()
local i = P:dim "i"
local t, T = P:dim "t"
local w = P:param("w", { along = { i }, shape = { 4 }, init = 0.1 })
local o = P:tensor { domain = { i, t }, shape = { 4 }, name = "o" }
local act = (o * w):sum():tanh():name "act"
local nxt, r = P:call(function(a)
  local x = a[1]:item()
  return { x, x * 0.5, -x, 1 }, 1 - x * x
end, { act }, { { domain = { i, t }, shape = { 4 } }, { domain = { i, t } } })
o[{ t = 0 }] = tempo.ones { 4 }
o[{ i, t }] = nxt[{ t = t - 1 }]
local ret = r[{ t = t .. T }]:sum(0):name "ret"
local loss = act * ret:detach()
local g = tempo.grad(loss, { w })[1]
w[i + 1] = (w + g * 0.01):clamp(-2, 2)
P:sink({ r[{ t = 0 .. T }]:mean(0) }, function() end)
return P, {}
