-- Two tensors that need one another.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local a = P:tensor { domain = { t }, name = "a" }
local b = P:tensor { domain = { t }, name = "b" }
a[t] = b + x -- here
b[t] = a * 2
P:compile { outputs = { a = a } }
