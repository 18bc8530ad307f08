-- A value that is no number at all, written into an array of integers.
local tempo = require "tempo"
local a = tempo.array({ 1, 2 }, "i32")
a:set(0 / 0, 1) -- here
