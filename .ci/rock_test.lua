-- `luarocks test` runs this with the interpreter it was told: the rock for that version is built, installed and tried
-- by .ci/rock.sh. Arguments are specs.
local words = { ".ci/rock.sh", (_VERSION:match "%d+%.%d+") }
for _, spec in ipairs(arg) do words[#words + 1] = "'" .. spec .. "'" end
local ok = os.execute(table.concat(words, " "))
os.exit((ok == true or ok == 0) and 0 or 1)
