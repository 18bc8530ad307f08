-- Episodes of a policy as it is, apart from learning: a program of their own, with a copy of the
-- environment.
local tempo = require "tempo"
local util = require "tempo.util"
local nn = require "tempo.nn"

local evaluate = {}

local Evaluation = {}
Evaluation.__index = Evaluation

local known = "every episodes steps seed policy env score"

-- The options, checked; a function in their place gives the number itself.
local function options_of(o, keep)
  if type(o) == "function" then o = { score = o } end
  o = util.options("rl.train: evaluate", o, known)
  util.expect_options("rl.train: evaluate", "count", o, "every episodes steps")
  util.expect_options("rl.train: evaluate", "function", o, "policy env score")
  util.expect_options("rl.train: evaluate", "number", o, "seed")
  if (o.policy == nil) == (o.score == nil) then
    util.fail("option",
      "rl.train: evaluate takes policy = function(env, net) that returns the actions, where net is "
      .. "a copy of what keep = { net } lists, or score = function(f, row) that returns a number")
  end
  if o.policy and not keep then
    util.fail("option",
      "rl.train: evaluate: keep is missing: keep = { net } lists the modules that policy needs")
  end
  return o
end

-- The environment once more, in program Q.
local function again(env, Q, o, opt)
  local kind = rawget(env, "kind")
  local make = opt.env or (kind and kind.again)
  if not make and env.id then
    return require "tempo.rl".env(Q, env.id, o)
  elseif not make then
    util.fail("option",
      "rl.train: evaluate: env is missing: a function(Q, o) that makes the environment in "
      .. "program Q, such as rl.trace(Q, game, { domain = o.domain, time = o.time, actions = 2 })")
  end
  return make(Q, o)
end

-- The dims of P's parameters beside those along which they evolve: seeds, of which each has
-- episodes of its own.
local function members(keep)
  local out, seen = {}, {}
  for _, module in ipairs(keep) do
    for _, w in ipairs(module:parameters()) do
      for _, d in ipairs(w:along()) do seen[d] = true end
      for _, d in ipairs(w:domain()) do
        if not seen[d] then out[#out + 1], seen[d] = d, true end
      end
    end
  end
  return out
end

local unpack = table.unpack or rawget(_G, "unpack")

-- A program with a copy of env in which o.policy acts, until each episode ends: the environment,
-- the program, its bounds, and the ranges of all its dims but the steps.
local function episodes(P, env, o, keep, bounds)
  local Q = tempo.program { seed = o.seed or P:seed() }
  local dims, domain, over = {}, {}, {}
  local given = { episodes = o.episodes or 10,
    steps = o.steps or (env.spec and env.spec.max_steps) or 10000 }
  for _, d in ipairs(members(keep)) do
    local e, bound = Q:dim(d:name(), d:upper():name())
    dims[d], domain[#domain + 1], over[e] = e, e, tempo.range(0, bound)
    given[bound:name()] = bounds[bound:name()]
  end
  local e, E = Q:dim("episode", "episodes")
  local u, U = Q:dim("step", "steps")
  domain[#domain + 1], domain[#domain + 2], over[e] = e, u, tempo.range(0, E)
  local copy = again(env, Q, { domain = domain, time = u }, o)
  copy:step(o.policy(copy, unpack(nn.into(Q, keep, dims))))
  Q:stop(u, copy.done)
  return copy, Q, given, over, tempo.range(0, U)
end

--- A function that gives obs, reward and done of whole episodes, and its bounds.
function evaluate.played(P, env, o, keep, bounds)
  o = options_of(o, keep)
  if not o.policy then
    util.fail("option", "rl.train: evaluate = { policy = function(env, net) .. end } is missing")
  end
  local copy, Q, given = episodes(P, env, o, keep, bounds)
  return Q:compile { outputs = { obs = copy.obs, reward = copy.reward, done = copy.done } }, given
end

--- A function from one observation to the action.
function evaluate.acting(P, env, o, keep)
  o = options_of(o, keep)
  if not o.policy then
    util.fail("option", "rl.train: evaluate = { policy = function(env, net) .. end } is missing")
  end
  local Q = tempo.program { seed = o.seed or P:seed() }
  local obs = Q:input("obs", { shape = env.obs:shape(), dtype = env.obs:dtype() })
  local action = o.policy({ obs = obs, program = Q, spec = env.spec }, unpack(nn.into(Q, keep, {})))
  return Q:compile { outputs = { action = action } }
end

--- Makes the evaluation that `evaluate` of rl.train asks for.
function evaluate.new(P, env, o, keep, bounds, compile)
  o = options_of(o, keep)
  local self = setmetatable({ every = o.every or 10, ask = o.score, seed = o.seed or P:seed(),
    keep = keep }, Evaluation)
  if o.score then return self end
  local copy, Q, given, over, all = episodes(P, env, o, keep, bounds)
  self.bounds = given
  local score = copy.reward:at { [copy.time] = all }:sum(0)
  self.f = Q:compile { outputs = { score = score:at(over):mean() }, tier = compile.tier }
  return self
end

--- The mean return of the newest parameters, or what the script's function gives.
function Evaluation:score(f, row)
  if self.ask then
    return util.expect("rl.train: evaluate: what score returned", "number", self.ask(f, row))
  end
  self.f:load_params(f:params { of = self.keep }, { strict = false })
  return self.f({}, self.bounds, { seed = self.seed + row.iteration }).score:item()
end

return evaluate
