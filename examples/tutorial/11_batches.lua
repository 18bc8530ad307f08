--- Batches: a gradient sums the loss over all its points, so say what the mean is, and over what.
local tempo = require "tempo"

local P = tempo.program()
local b, B = P:dim "b"                      -- rows of a batch
local x = P:input("x", { domain = { b } })
local y = P:input("y", { domain = { b } })
local w = P:param("w", { init = 1 })        -- one weight for all rows: w has no dim b

local loss = (w * x - y):square()           -- a loss for every row
local mean = loss[{ b = 0 .. B }]:mean(0)   -- one number

-- The same weight, but a row of its own for each b: its gradient is what that row wants.
local row = w + tempo.zeros({}, { domain = { b } })
local own = (row * x - y):square()

local f = P:compile { outputs = { loss = loss, sum = tempo.grad(loss, w),
  mean = tempo.grad(mean, w),
  rows = tempo.grad(own, row), dx = tempo.grad(loss, x), dmean = tempo.grad(mean, x) } }
local out = f({ x = { 1, 2, 3 }, y = { 2, 2, 2 } }, { B = 3 })
print("loss of each row  ", out.loss)
print("by w, of the sum  ", out.sum)
print("by w, of the mean ", out.mean)
print("by w, of each row ", out.rows)
print("by x, of the sum  ", out.dx)
print("by x, of the mean ", out.dmean)
