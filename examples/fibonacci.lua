-- Prints the first 20 Fibonacci numbers, the 71st, and how they are stored: a recurrence with two
-- lags, of which the last two values are kept.
local tempo = require "tempo"
local opt = require "tempo.cli" (arg, { steps = 20, quiet = false })
local P = tempo.program()
local t, T = P:dim "t"
local fib = P:tensor { domain = { t }, dtype = "i64", first = 0, name = "fib" }
fib[1] = 1
fib[t] = fib[t - 1] + fib[t - 2]

local all = P:compile { outputs = { fib = fib } }
local row = all({}, { T = opt.steps }).fib:totable()
for k, v in ipairs(row) do row[k] = string.format("%d", v) end
print("fib", table.concat(row, " "))

local last = P:compile { outputs = { last = fib[T - 1] } }
print("fib[70]", string.format("%d", last({}, { T = 71 }).last:item()))
if not opt.quiet then print(last:explain "storage") end
