-- A result of another dtype.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t }, shape = { 3 } })

local function index() return tempo.array({ 1, 2, 3 }, "i64") end
local y = P:call(index, { x }, { { domain = { t }, shape = { 3 } } }) -- here
P:compile { outputs = { y = y } }({ x = { { 1, 2, 3 } } }, { T = 1 })
