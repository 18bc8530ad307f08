-- == asks whether two objects are one, and is no condition.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local _ = tempo.where(t == 0, x, -x) -- here
