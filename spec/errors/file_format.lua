-- A file of another kind.
local tempo = require "tempo"
assert(tempo.load "spec/errors/file_format.lua") -- here
