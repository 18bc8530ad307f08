-- One source for Lua 5.4 and LuaJIT: what both have, plus the names that are asked for before use.
std = "min"
read_globals = { "jit", "table.unpack", "table.pack", "math.type", "math.tointeger", "utf8", "warn", "package.searchpath" }
max_line_length = 120
unused_args = false
exclude_files = { "build", "lua_modules", "spec/fuzz/found" }     -- the last: what the fuzzer printed
files["examples/love"] = { globals = { "love" }, read_globals = { "arg" } }
files["spec"].std = "min+busted"
files["spec"].max_line_length = 160                  -- rows of tables: programs and what they give
files["spec/fixtures"].max_line_length = false        -- arrays that NumPy wrote
files["lua"] = { max_comment_line_length = false }    -- annotations
files["docs/source"] = { max_line_length = false }    -- sentences of the reference
files["lua/tempo/meta"] = { ignore = { "1", "2" }, max_line_length = false }   -- annotations, never run
files[".ci/layers.lua"].std = "lua54"
