-- A callback that leaves its run.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })

P:sink({ x }, function() coroutine.yield() end) -- here
local f = P:compile {}
local run = coroutine.wrap(function() return f({ x = { 1 } }, { T = 1 }) end)
run()
