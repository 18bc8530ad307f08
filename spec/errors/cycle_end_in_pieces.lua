-- The end of a dim needs a softmax over all of it: a statement that is cut again and again before
-- that is known.
local tempo = require "tempo"
local P = tempo.program()
local i, I = P:dim "i"
local j, J = P:dim "j"
local x = P:input("x", { domain = { j }, shape = { 3 } })
local y = P:input("y", { shape = { 3 } })
local a = x[tempo.range(0, J)]:matmul(y):softmax(0):matmul(x[tempo.range(0, J)])
local z = P:tensor { domain = { i, j }, shape = {}, name = "z" }
local before = z[{ i = tempo.floordiv(i, 2), j = tempo.max(j - 1, 0) }]
z[{ [j] = j + 1 }] = (z[{ tempo.min(i + 2, I - 1), j }] + tempo.arange { 2 }):sum()
z:otherwise(a:sum()) -- here
P:stop(j, before:gt(1))
P:sink({ before }, function() end)
P:compile { outputs = { z = z } }
