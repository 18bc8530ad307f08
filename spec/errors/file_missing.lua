-- No such file.
local tempo = require "tempo"
assert(tempo.load "spec/errors/there_is_no_such.npy") -- here
