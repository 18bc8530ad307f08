-- A library that is not there yet.
local tempo = require "tempo"
print(tempo.llm) -- here
