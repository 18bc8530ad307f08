-- A dim joined to a text.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
print("step " .. t) -- here
