-- A range that ends at a product.
local tempo = require "tempo"
local P = tempo.program()
local t, T = P:dim "t"
local x = P:input("x", { domain = { t } })
print(x[0 .. t * T]:sum(0)) -- here
