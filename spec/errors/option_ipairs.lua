-- ipairs of a tensor, which never gives nil (5.4 only: LuaJIT's takes no userdata).
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t }, shape = { 3 } })
for _, row in ipairs(x) do print(row) end -- here
