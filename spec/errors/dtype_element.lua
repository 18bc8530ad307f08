-- A fraction among integers.
local tempo = require "tempo"
local rows = { { 1, 2 }, { 3, 4.5 } }
local a = tempo.array(rows, "i64") -- here
print(a)
