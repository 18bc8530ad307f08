-- A misspelled option.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t }, shap = { 3 } }) -- here
print(x)
