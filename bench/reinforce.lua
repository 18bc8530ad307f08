-- REINFORCE on CartPole, whole loop, against the same by hand in NumPy: each in its own process, in
-- turn, the median of 3 pairs.
--   lua5.4 bench/reinforce.lua        (needs python3 with NumPy; ends non-zero if the peer can't
--   run)
local ITERATIONS, PAIRS = 40, 3

local function run(command)
  local env = "env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE OPENBLAS_NUM_THREADS=1 "
  local pipe = assert(io.popen(env .. command))
  local text = pipe:read "*a"
  pipe:close()
  return text
end

local function ours()
  local text = run(("%s examples/reinforce_cartpole.lua --iterations %d --out /tmp/tempo_bench")
    :format(arg[-1], ITERATIONS))
  local sum, n = 0, 0
  for it, speed in text:gmatch "iteration +(%d+) .- (%d+) steps/s" do
    if tonumber(it) >= 2 then sum, n = sum + 1 / tonumber(speed), n + 1 end
  end
  return assert(n > 0 and n / sum, text)
end

local function peer()
  local ran = run(("python3 bench/peers/reinforce_peer.py %d"):format(ITERATIONS))
  return assert(tonumber(ran), "the NumPy peer did not run")
end

local pairs_ = {}
for k = 1, PAIRS do pairs_[k] = { ours(), peer() } end
table.sort(pairs_, function(a, b) return a[1] / a[2] < b[1] / b[2] end)
local a = pairs_[math.ceil(PAIRS / 2)]
print(("RATIO reinforce-cartpole %.2f (%.0f vs %.0f numpy steps/s)"):format(a[1] / a[2], a[1],
  a[2]))
