--- tempo.nn: modules. A module holds named parameters and submodules, alone and in lists
--- (self.layers = { a, b }, or {} and filled later); calling it records its forward pass. A
--- constructor takes the program first and a table of options last, of which all have
---   along   the dims along which the parameters evolve ({i}); none: constants of the run
---   domain  further dims: one such state for each of their points (layers, seeds)
---   name    path of the module; its parameters are "<name>.weight" ...; a fresh one if left out
---   dtype   (the program's)
--- Layers with weights have init (see tempo.nn.init), gain, bias (true: there is one) and
--- bias_init, too; norms have no init and gain, cells no bias_init, Embedding no bias. Options of a
--- method of the same name are those of the method. Shapes of weights and defaults are PyTorch's.
local util = require "tempo.util"

---@class tempo.nn
---@field init tempo.nn.init
---@field Tanh fun(P: tempo.Program): tempo.nn.Module The activation of this name as a module.
---@field ReLU fun(P: tempo.Program): tempo.nn.Module The activation of this name as a module.
---@field Sigmoid fun(P: tempo.Program): tempo.nn.Module The activation of this name as a module.
---@field GELU fun(P: tempo.Program): tempo.nn.Module The activation of this name as a module.
---@field SiLU fun(P: tempo.Program): tempo.nn.Module The activation of this name as a module.
---@field ELU fun(P: tempo.Program): tempo.nn.Module The activation of this name as a module.
---@field LeakyReLU fun(P: tempo.Program): tempo.nn.Module The activation of this name as a module.
---@field Softplus fun(P: tempo.Program): tempo.nn.Module The activation of this name as a module.
---@field Identity fun(P: tempo.Program): tempo.nn.Module The identity as a module.
local nn = require "tempo.nn.module"
nn.init = require "tempo.initial"
require "tempo.nn.layers"
require "tempo.nn.cells"

return util.library("nn", nn)
