-- Elements that no dtype has.
local tempo = require "tempo"
assert(tempo.load "spec/errors/complex.npy") -- here
