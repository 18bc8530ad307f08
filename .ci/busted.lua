-- busted under the interpreter that reads this file: `lua5.4 .ci/busted.lua`, `luajit .ci/busted.lua`, with busted's
-- own arguments. Options for every run are in .busted. If TEST_SHORT is set, tests and groups whose names hold the
-- tag #long are left out: what they cover, others cover in less time.
if os.getenv "TEST_SHORT" then table.insert(arg, 1, "--exclude-tags=long") end
require "busted.runner" { standalone = false }
