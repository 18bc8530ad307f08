-- A folder instead of a file.
local tempo = require "tempo"
assert(tempo.load "spec/errors") -- here
