--- tempo.rl: environments as recurrences, and returns written in the language.
---
--- A *trajectory* is an environment that was stepped, or a table with
---   reward       at (.., t), of the step taken at t
---   terminated   bool: the step ended the episode for good; nothing follows, its value is 0
---   truncated    bool: the step ended the episode by the clock; what would have followed has a
---   value
---   time         the dim t
--- Environments reset themselves, so t+1 after an end is another episode. At a truncation a return
--- goes on with the value of `next_obs`, the observation *before* the reset (Pardo et al. 2018,
--- "Time limits in reinforcement learning").
local util = require "tempo.util"

---@class tempo.rl.Trajectory
---@field reward tempo.Tensor
---@field terminated tempo.Tensor bool
---@field truncated tempo.Tensor? bool
---@field time tempo.Index

---@class tempo.rl
local rl = {}

-- Each room of lua/tempo/rl returns a table of functions; .ci/docs/library.lua has the same list.
for _, room in ipairs {
  "env",
  "losses",
  "memory",
  "replay",
  "returns",
  "trace",
  "train",
} do
  for key, f in pairs(require("tempo.rl." .. room)) do rl[key] = f end
end

local complete_envs = rl.complete_envs
rl.envs, rl.complete_envs = nil, nil
local missing = getmetatable(util.library("rl", rl))
local unknown = missing.__index
function missing.__index(lib, key) return key == "envs" and complete_envs() or unknown(lib, key) end
return rl
