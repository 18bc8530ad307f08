-- A folder that is not there.
local tempo = require "tempo"
assert(tempo.array({ 1, 2 }):save "spec/errors/no/folder.npy") -- here
