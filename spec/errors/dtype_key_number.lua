-- A fraction as a key.
local tempo = require "tempo"
tempo.program()
print(tempo.randint({ 3 }, 9, { key = 0.5 })) -- here
