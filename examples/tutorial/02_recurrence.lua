--- A recurrence with branches: a debt that grows, and the Collatz sequence, in which data decides.
local tempo = require "tempo"

local P = tempo.program()
local t = P:dim "t"

local debt = P:tensor { domain = { t } }    -- declared first,
debt[0] = 100                               -- then defined: at t = 0
debt[t] = debt[t - 1] * 1.5 - 20            -- and everywhere else

local n = P:tensor { domain = { t }, dtype = "i64" }
n[0] = 6
local last = n[t - 1]
n[t] = tempo.where((last % 2):eq(0), tempo.floordiv(last, 2), 3 * last + 1)

local f = P:compile { outputs = { debt = debt, n = n } }
local out = f({}, { T = 9 })
print(out.debt)
print(out.n)
