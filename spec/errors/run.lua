-- Runs the wrong programs named on the command line and prints what each raised.
-- spec/wrong_spec.lua reads it.
local tempo = require "tempo"

-- After any error the process stays usable: a program of another kind gives its numbers.
local function check()
  local P = tempo.program()
  local t = P:dim "t"
  local s = P:tensor { domain = { t } }
  s[0] = 0
  s[t] = s[t - 1] + t
  local out = P:compile { outputs = { s = s } }({}, { T = 5 }).s:totable()
  assert(table.concat(out, " "):gsub("%.0", "") == "0 1 3 6 10")
end

for _, path in ipairs(arg) do
  local ok, e = pcall(dofile, path)
  print("== " .. path)
  print(ok and "no error" or tostring(e))
  check()
end
