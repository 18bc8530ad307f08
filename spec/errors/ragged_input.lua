-- An input is one array: its rows have one length.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
P:input("x", { domain = { t }, shape = { t + 1 } }) -- here
