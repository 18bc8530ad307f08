--- Callbacks: a game in Lua, played by a program. Guess a number; the game says higher or lower.
local tempo = require "tempo"

local P = tempo.program()
local t = P:dim "t"

-- Lua gives numbers: the secret, once.
local secret = P:source(function() return 37 end, { dtype = "i64" })

-- The state: what the answer can be, lo .. hi.
local lo = P:tensor { domain = { t }, dtype = "i64", first = 0 }
local hi = P:tensor { domain = { t }, dtype = "i64", first = 100 }
local guess = (lo + hi):floordiv(2)

-- Lua plays: called once at every t, in order.
local answer = P:call(function(arrays, point)
  local g, s = arrays[1]:item(), arrays[2]:item()
  return g < s and 1 or g > s and -1 or 0
end, { guess, secret }, { { domain = { t }, dtype = "i64" } })

lo[t] = tempo.where(answer:gt(0), guess + 1, lo)[t - 1]
hi[t] = tempo.where(answer:lt(0), guess - 1, hi)[t - 1]

-- Lua looks on.
P:sink({ guess, answer }, function(arrays, point)
  print(("step %d: guess %d, answer %d"):format(point.t, arrays[1]:item(), arrays[2]:item()))
end)

P:compile {} ({}, { T = 6 })
