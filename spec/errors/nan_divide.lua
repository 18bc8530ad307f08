-- 0 / 0: the whole array is divided, one element is empty.
local tempo = require "tempo"
local P = tempo.program()
local x = P:input("x", { shape = { 2, 2 } })
local share = x / x:sum(1, { keepdim = true }) -- here
P:compile { outputs = { share = share }, check = "nan" } { x = { { 1, 3 }, { 0, 0 } } }
