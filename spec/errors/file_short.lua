-- A file that ends too early.
local tempo = require "tempo"
assert(tempo.load "spec/errors/short.npy") -- here
