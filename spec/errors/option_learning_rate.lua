-- A number as text.
local tempo = require "tempo"
local P = tempo.program()
local i = P:dim "i"
local w = P:param("w", { along = { i }, init = 1 })
tempo.optim.SGD({ w }, { lr = "0.1" }) -- here
