--- Gradients: a line fitted to points by walking downhill, the walk itself a recurrence.
local tempo = require "tempo"

local P = tempo.program()
local i, I = P:dim "i"                      -- steps of the walk
local n, N = P:dim "n"                      -- points
local x = P:input("x", { domain = { n } })
local y = P:input("y", { domain = { n } })

local w = P:param("w", { along = { i }, shape = { 2 }, init = 0 })       -- slope, offset
local error = w:select(0, 0) * x + w:select(0, 1) - y                    -- over i and n
local loss = error[{ n = 0 .. N }]:square():mean(0)                      -- over i

local gradient = tempo.grad(loss, w)
w:update(w - 0.1 * gradient)

local f = P:compile { outputs = { w = w[I - 1], first = loss[0], last = loss[I - 1] } }
local out = f({ x = { 0, 1, 2, 3 }, y = { 1, 3, 5, 7 } }, { I = 200, N = 4 })
print(("slope %.3f, offset %.3f"):format(out.w:get(0), out.w:get(1)))
print(("loss %.3f, then %.3f"):format(out.first:item(), out.last:item()))
