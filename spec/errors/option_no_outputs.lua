-- Nothing to compute.
local tempo = require "tempo"
local P = tempo.program()
P:dim "t"
P:compile {} -- here
