--- Shared by benches that run each side in a process of its own, pinned to the same one core,
--- in turn.
local sides = {}

--- Returns what a command prints.
function sides.output(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read "*a"
  pipe:close()
  return text
end

-- the last one that this process may use
local core = sides.output "taskset -cp $$":match "(%d+)%s*$"
assert(core, "taskset did not say on which processors this process may run")
local plain =
  "env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE -u OMP_NUM_THREADS OPENBLAS_NUM_THREADS=1 "
--- Before a command: on that core, one thread of BLAS.
sides.PIN = plain .. "taskset -c " .. core .. " "
--- On all cores that this process may use, by so many threads.
function sides.threads(n) return ("%senv TEMPO_THREADS=%d "):format(plain, n) end

--- A python that has the modules, that of bench/setup first; nil: none has.
function sides.python(modules)
  for _, exe in ipairs { "build/peers/bin/python3", "python3", "/usr/bin/python3" } do
    if sides.output(("%s -c 'import %s; print(1)' 2>/dev/null"):format(exe, modules)):match "1" then
      return exe end
  end
end

--- f with a folder that is there while it runs.
function sides.with_folder(f)
  local folder = os.tmpname()
  os.remove(folder)
  assert(os.execute("mkdir -p " .. folder))
  f(folder)
  os.execute("rm -r " .. folder)
end

--- Each command `rounds` times in turn: the least (most: the greatest) of the first of two numbers
--- that it prints last, and the second; and where it prints three, the least of the one before
--- these.
function sides.turns(rounds, commands, most)
  local better = most and math.max or math.min
  local best, said, before = {}, {}, {}
  for _ = 1, rounds do
    for k, command in pairs(commands) do
      local text = sides.output(command)
      local words = {}
      for word in text:match "[^\n]*%s*$":gmatch "%S+" do table.insert(words, 1, tonumber(word)) end
      local b, a, c = table.unpack(words)
      assert(a, command .. " printed no numbers, but: " .. text)
      best[k], said[k], before[k] = better(best[k] or a, a), b, c and math.min(before[k] or c, c)
    end
  end
  return best, said, before
end

--- Reads `--rows`, "" all. The result tells whether a row is one of them or begins with one.
function sides.rows(names)
  return function(row)
    local any = names == ""
    for name in names:gmatch "[^,]+" do
      any = any or row == name or row:find(name .. "-", 1, true) == 1
    end
    return any
  end
end

--- Nanoseconds a step of an environment of the CartPole example, on that tier, in its iterations
--- after the first two: on one core, or as `before` says.
function sides.cartpole(tier, iterations, envs, before)
  local sum, n = 0, 0
  sides.with_folder(function(folder)
    local what = "examples/reinforce_cartpole.lua --iterations %d --envs %d --out %s"
    local text = sides.output(("%senv TEMPO_TIER=%s %s " .. what)
      :format(before or sides.PIN, tier, arg[-1], iterations, envs, folder))
    for it, speed in text:gmatch "iteration +(%d+) .- (%d+) steps/s" do
      if tonumber(it) >= 2 then sum, n = sum + 1e9 / tonumber(speed), n + 1 end
    end
    assert(n > 0, text)
  end)
  return sum / n
end

return sides
