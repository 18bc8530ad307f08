-- Growing windows stacked over another dim.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local i, I = P:dim "i"
local x = P:input("x", { domain = { t, i } })
local y = x[{ t = 0 .. i + 1 }]
print(y[{ i = 0 .. I }]) -- here
