-- busted under the interpreter that reads this file: `lua5.4 .ci/busted.lua`, `luajit .ci/busted.lua`, with busted's
-- own arguments. Options for every run are in .busted.
require "busted.runner" { standalone = false }
