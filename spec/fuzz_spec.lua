-- Random programs of fixed seeds on every tier; `make fuzz SECONDS=600` goes on from here.
local helper = require "spec.helper"
local generate = require "spec.fuzz.generate"
local check = require "spec.fuzz.check"
local picks = require "spec.fuzz.picks"
local wide = require "spec.fuzz.wide"

local found = { 126, 750 }                             -- seeds that showed bugs since
-- Programs of spec/fuzz/found that take seconds to compile.
local long = {}
for name in ([[ taken_for_more_points sums_over_a_larger_bound state_at_the_end_of_a_row more_of_what_came_before
  legal_where_others_are_short rough_points_that_nothing_needs states_that_pass far_apart_with_divisions
  what_calls_cannot_have_is_not_read loops_around_outlines rows_of_another_block rows_at_two_speeds
  rows_that_another_end_left two_loops_around_rows rows_at_two_speeds_in_tiles parameter_over_rows_of_ticks
  bands_inside_each_other rows_of_last_values points_known_in_a_state ends_made_behind sizes_of_branches
  end_that_two_ends_never_clip widths_that_divisions_cut complete_too_early overlapping_rows last_row_begun ]]):gmatch "%S+" do
  long[name] = true
end

describe("random programs", function()
  setup(helper.quiet)
  teardown(helper.loud)
  local legal, all = 0, 0

  local function try(seed)
    local case, why = generate.load(generate.text(generate.generate(seed)))
    local status = "illegal"
    if case then status, why = check.check(case, seed % 4 > 0) end
    all = all + 1
    if status == "ok" then legal = legal + 1 end
    if status == "finding" then error(("seed %d: %s\nlua5.4 spec/fuzz/fuzz.lua --seed %d shrinks it"):format(seed, why, seed), 0) end
  end

  for first = 1, 60, 15 do
    it(("%d to %d are the same on every tier"):format(first, first + 14), function()
      for seed = first, first + 14 do try(seed) end
      collectgarbage()
    end)
  end

  it("that once were not the same still are", function()
    for _, seed in ipairs(found) do try(seed) end
  end)

  it("in which data picks among few places are the same on every tier", function()
    for seed = 1, 40 do
      local status, why = check.check(generate.load(generate.text(picks.generate(seed))), true)
      local again = "lua5.4 spec/fuzz/fuzz.lua --picks yes --seed"
      assert(status == "ok", ("seed %d: %s\n%s %d shrinks it"):format(seed, why, again, seed))
    end
  end)

  it("of f32 lose little against f64 by being rewritten", function()
    for seed = 7000000001, 7000000020 do
      local status, why = wide.check(generate.text(generate.generate(seed, "no", "f32")))
      if status == "finding" then error(("seed %d: %s\nlua5.4 spec/fuzz/fuzz.lua --wide yes --seed %d shrinks it"):format(seed, why, seed), 0) end
    end
  end)

  for path in io.popen("ls spec/fuzz/found/*.lua"):lines() do          -- as the fuzzer prints them, below its settings
    it(path .. " once was not the same" .. (long[path:match "([%w_]+)%.lua$"] and " #long" or ""), function()
      local file = assert(io.open(path))
      local settings, text = file:read("*l"):match "^%-%- ([%u_=%d ]*)$", file:read "*a"
      file:close()
      local said = helper.lua(path, settings):gsub("tempo: warning: [^\n]*\n", "")
      local refused = text:find("cycles = true", 1, true) and said:find "^illegal: .-: cycle: "       -- by all tiers
      if not refused then assert.equal("ok\n", said) end
    end)
  end

  it("are legal, nearly all", function()
    assert.is_true(legal >= all * 0.9)
  end)
end)
