-- A misspelled option of an optimiser.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local w = P:param("w", { along = { t }, init = 1 })
tempo.optim.SGD({ w }, { lr = 0.1, momentun = 0.9 }) -- here
