-- x:grad() is the gradient of marked losses by x, not of x by something.
local tempo = require "tempo"
local P = tempo.program()
local x = P:input("x", { shape = { 3 } })
local g = x:square():sum():grad(x) -- here
print(g)
