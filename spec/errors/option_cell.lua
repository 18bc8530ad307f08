-- A layer by another library's name.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local cell = tempo.nn.LSTM(P, 3, 4, { along = { t } }) -- here
print(cell)
