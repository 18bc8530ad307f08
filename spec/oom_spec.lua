-- A request for memory of ours fails once in the life of a script that records, compiles, runs,
-- steps, saves and loads: the error is of class memory, and the same life afterwards gives the same
-- numbers. (spec/c/oom_test.c has every request, and leaks.)
local helper = require "spec.helper"

local script = [[
local tempo = require "tempo"
local path = os.tmpname()

local function life()
  local P = tempo.program { seed = 3 }
  local i = P:dim "i"
  local t, T = P:dim "t"
  local x = P:input("x", { domain = { i, t }, shape = { 2 } })
  local w = P:param("w", { along = { i }, shape = { 2 }, init = tempo.ones { 2 } })
  local h = P:tensor { domain = { i, t }, shape = { 2 } }
  h[{ t = 0 }] = x[{ t = 0 }]
  h[t] = (h[t - 1] * w + x):tanh()
  local y = P:call(function(a) return a[1]:totable() end, { h }, { { shape = { 2 }, domain = { i, t } } })
  local loss = ((h + y):square():sum() * tempo.uniform({}, { domain = { i, t }, name = "u" }))[{ t = 0 .. T }]:mean(0)
  tempo.optim.Adam({ w }, { lr = 0.1 }):step(loss)
  local f = P:compile { outputs = { loss = loss, h = h }, tick = { i, t } }
  local rows, B = { { { 1, 2 }, { 3, 4 }, { 5, 6 } }, { { 1, 0 }, { 0, 1 }, { 1, 1 } } }, { I = 2, T = 3 }
  local out = f({ x = rows }, B)
  local all = { tostring(out.loss), tostring(f:params().w), f:memory(B) and 1 }
  f:explain("memory", B) f:explain "schedule" f:explain "storage" f:explain "graph" f:profile(3)
  f:start({}, B)
  local _, o = f:step { x = rows[1][1] }
  local s = f:state()
  assert(f:save(path))
  _, o = f:step { x = rows[1][2] }
  f:load_state(s)
  f:load(path)
  for k = 1, 5 do _, o = f:step({ x = rows[math.floor(k / 3) + 1][k % 3 + 1] }, { budget_ms = 1 }) end
  all[#all + 1] = tostring(o.loss) .. tostring(f:params().w)
  all[#all + 1] = tostring(f({ x = rows }, B, { state = s }).loss)
  all[#all + 1] = tostring(h:peek { inputs = { x = rows }, bounds = B, at = { i = 1, t = 2 } })
  return table.concat(all, " ")
end

local ok, why = pcall(life)
collectgarbage()
print(ok, why)
print(true, life())
os.remove(path)
]]

describe("a request for memory that fails", function()
  local want = helper.script(script):match "([^\n]*)\n$"

  it("is an error of class memory, after which the script goes on", function()
    local met = 0
    for n = 1, 700, 23 do
      local out = helper.script(script, nil, "export TEMPO_FAIL_ALLOC=" .. n .. "; ")
      local first, second = out:match "^([^\n]*)\n([^\n]*)\n$"
      assert.equal(want, second, n .. ": " .. out)
      if first ~= want then
        met = met + 1
        assert.truthy(first:match "^false\t[^\n]*%.?[%w_]+:%d+: memory: ", n .. ": " .. first)
      end
    end
    assert.is_true(met > 25)
  end)
end)
