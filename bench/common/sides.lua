--- What the benches share that run each side in a process of its own, pinned to the same one core, in turn.
local sides = {}

--- What a command prints.
function sides.output(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read "*a"
  pipe:close()
  return text
end

local core = sides.output "taskset -cp $$":match "(%d+)%s*$"  -- the last one that this process may use
assert(core, "taskset did not say on which processors this process may run")
--- Before a command: on that core, one thread of BLAS.
sides.PIN = "env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE OPENBLAS_NUM_THREADS=1 taskset -c " .. core .. " "

--- A python that has the modules; nil: none has.
function sides.python(modules)
  for _, exe in ipairs { "python3", "/usr/bin/python3" } do
    if sides.output(("%s -c 'import %s; print(1)' 2>/dev/null"):format(exe, modules)):match "1" then return exe end
  end
end

--- Each command `rounds` times in turn: the least of the first numbers that it prints last, and its second number.
function sides.turns(rounds, commands)
  local best, said = {}, {}
  for _ = 1, rounds do
    for k, command in pairs(commands) do
      local text = sides.output(command)
      local a, b = text:match "(%S+) (%S+)%s*$"
      a = assert(tonumber(a), command .. " printed no numbers, but: " .. text)
      best[k], said[k] = math.min(best[k] or a, a), tonumber(b)
    end
  end
  return best, said
end

return sides
