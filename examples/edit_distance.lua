-- Prints how many letters one changes to make one word of another: 3 from "kitten" to "sitting",
-- and the table. d[p, q] is the distance of p first letters from q first letters: a recurrence over
-- two dims.
local tempo = require "tempo"
local P = tempo.program()
local p, M = P:dim("p", "M")
local q, N = P:dim("q", "N")
-- a[0] and b[0] stand before the first letter
local a = P:input("a", { domain = { p }, dtype = "i64" })
local b = P:input("b", { domain = { q }, dtype = "i64" })

local d = P:tensor { domain = { p, q }, dtype = "i64" }
d[{ p = 0 }] = q:value()                                    -- insert q letters
d[{ q = 0 }] = p:value()                                    -- delete p letters
d:otherwise((d[{ p - 1, q }] + 1)
  :minimum(d[{ p, q - 1 }] + 1)
  :minimum(d[{ p - 1, q - 1 }] + a:ne(b)))                  -- replace, if they differ

local f = P:compile { outputs = { d = d, distance = d[{ M - 1, N - 1 }] } }

local function letters(word)
  local codes = { 0 }
  for k = 1, #word do codes[k + 1] = word:byte(k) end
  return codes
end

for _, pair in ipairs { { "kitten", "sitting" }, { "saturday", "sunday" }, { "tempo", "tempo" },
  { "", "abc" } } do
  local out = f({ a = letters(pair[1]), b = letters(pair[2]) },
    { M = #pair[1] + 1, N = #pair[2] + 1 })
  print(string.format("%-10s %-10s %d", pair[1], pair[2], out.distance:item()))
end

print "the table of kitten and sitting:"
local out = f({ a = letters "kitten", b = letters "sitting" }, { M = 7, N = 8 })
for _, row in ipairs(out.d:totable()) do
  for k, v in ipairs(row) do row[k] = string.format("%d", v) end
  print(table.concat(row, " "))
end
