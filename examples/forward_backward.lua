-- Prints for five days how likely rain was, given the umbrellas seen so far, and given all of them:
-- the forward-backward algorithm for a hidden Markov model (Russell and Norvig's), two recurrences
-- in one program.
local tempo = require "tempo"
local P = tempo.program()
local t, T = P:dim "t"
local seen = P:input("seen", { domain = { t }, dtype = "i64" })         -- 1: an umbrella
-- from the row's weather to the column's
local stay = P:constant { { 0.7, 0.3 }, { 0.3, 0.7 } }
-- weather (rain, dry) by sight (none, umbrella)
local emit = P:constant { { 0.1, 0.9 }, { 0.8, 0.2 } }
-- of what is seen at t, under each weather
local like = emit:index_select(1, seen)

local function normalise(x) return x / x:sum() end

local a = P:tensor { domain = { t }, shape = { 2 } }                    -- what the past tells
a[t] = normalise(tempo.prev(a, t, { 0.5, 0.5 }):matmul(stay) * like)
local b = P:tensor { domain = { t }, shape = { 2 } }                    -- what the future tells
b[T - 1] = tempo.ones { 2 }
b[t] = normalise(stay:matmul(like[t + 1] * b[t + 1]))
local posterior = normalise(a * b)

local f = P:compile { outputs = { filtered = a, posterior = posterior } }
local sights = { 1, 1, 0, 1, 1 }
local out = f({ seen = sights }, { T = #sights })
local filtered, smoothed = out.filtered:totable(), out.posterior:totable()
print "day  umbrella  P(rain | so far)  P(rain | all days)"
for day, s in ipairs(sights) do
  print(string.format("%3d  %-8s  %16.4f  %18.4f", day, s == 1 and "yes" or "no", filtered[day][1],
    smoothed[day][1]))
end
