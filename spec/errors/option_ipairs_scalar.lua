-- ipairs of a scalar along a dim (5.4 only: LuaJIT's takes no userdata).
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local y = P:tensor { domain = { t } }
for _, v in ipairs(y) do print(v) end -- here
