-- Recurrent cells: the equations and names of torch.nn.
local tempo = require "tempo"
local util = require "tempo.util"
local nn = require "tempo.nn.module"
local shared = require "tempo.nn.shared"

local common, check, as_torch = shared.common, shared.check, shared.as_torch
local activation = shared.activation

local function cell(class, gates, states)
  return function(P, nin, hidden, o)
    check("nn." .. class._type, P, nin, hidden)
    o = util.options("nn." .. class._type, o, common .. "bias init gain activation")
    util.numbers("nn." .. class._type, o, "gain")
    local self = class:create(P, o)
    self.nin, self.hidden, self.states = nin, hidden, states or 1
    self.activation = activation(o.activation or "tanh", "nn." .. class._type)
    local default = as_torch(hidden, o)
    local weight = o.init ~= nil and { init = o.init, gain = o.gain } or default
    self:param("weight_ih", { gates * hidden, nin }, weight)
    self:param("weight_hh", { gates * hidden, hidden }, weight)
    if o.bias ~= false then
      self:param("bias_ih", { gates * hidden }, default)
      self:param("bias_hh", { gates * hidden }, default)
    end
    return self
  end
end

local function affine(x, w, b)
  local y = tempo.matmul(x, w:mT())
  if b then y = y + b end
  return y
end

local function gate(y, k, hidden) return y:slice(-1, k * hidden, (k + 1) * hidden) end

---@class tempo.nn.RNNCell: tempo.nn.Module
---@field weight_ih tempo.Tensor
---@field weight_hh tempo.Tensor
---@field bias_ih tempo.Tensor?
---@field bias_hh tempo.Tensor?
local RNNCell = nn.class "RNNCell"
--- h' = tanh(W_ih x + b_ih + W_hh h + b_hh):  h[t] = cell(x[t], h[t-1])
---@param P tempo.Program
---@param nin integer
---@param hidden integer
---@param o? { along?: tempo.Dims, domain?: tempo.Dims, dtype?: tempo.Dtype, name?: string, init?: tempo.nn.Init, gain?: number, bias?: boolean, activation?: string|function }
---@return tempo.nn.RNNCell
nn.RNNCell = cell(RNNCell, 1)
function RNNCell:forward(x, h)
  return self.activation(affine(x, self.weight_ih, self.bias_ih) + affine(h, self.weight_hh,
    self.bias_hh))
end

---@class tempo.nn.LSTMCell: tempo.nn.Module
---@field weight_ih tempo.Tensor
---@field weight_hh tempo.Tensor
---@field bias_ih tempo.Tensor?
---@field bias_hh tempo.Tensor?
local LSTMCell = nn.class "LSTMCell"
--- i, f, g, o = W_ih x + b_ih + W_hh h + b_hh;  c' = sigmoid(f) c + sigmoid(i) tanh(g);  h' =
--- sigmoid(o) tanh(c'): h[t], c[t] = cell(x[t], h[t-1], c[t-1])
---@param P tempo.Program
---@param nin integer
---@param hidden integer
---@param o? { along?: tempo.Dims, domain?: tempo.Dims, dtype?: tempo.Dtype, name?: string, init?: tempo.nn.Init, gain?: number, bias?: boolean, activation?: string|function }
---@return tempo.nn.LSTMCell
nn.LSTMCell = cell(LSTMCell, 4, 2)
function LSTMCell:forward(x, h, c)
  local y, n = affine(x, self.weight_ih, self.bias_ih) + affine(h, self.weight_hh, self.bias_hh),
    self.hidden
  local i, f, g, o = gate(y, 0, n), gate(y, 1, n), gate(y, 2, n), gate(y, 3, n)
  local c1 = f:sigmoid() * c + i:sigmoid() * self.activation(g)
  return o:sigmoid() * self.activation(c1), c1
end

---@class tempo.nn.GRUCell: tempo.nn.Module
---@field weight_ih tempo.Tensor
---@field weight_hh tempo.Tensor
---@field bias_ih tempo.Tensor?
---@field bias_hh tempo.Tensor?
local GRUCell = nn.class "GRUCell"
--- r, z = sigmoid(W_i x + b_i + W_h h + b_h);  n = tanh(W_in x + b_in + r (W_hn h + b_hn));  h' =
--- (1 - z) n + z h
---@param P tempo.Program
---@param nin integer
---@param hidden integer
---@param o? { along?: tempo.Dims, domain?: tempo.Dims, dtype?: tempo.Dtype, name?: string, init?: tempo.nn.Init, gain?: number, bias?: boolean, activation?: string|function }
---@return tempo.nn.GRUCell
nn.GRUCell = cell(GRUCell, 3)
function GRUCell:forward(x, h)
  local a, b, n = affine(x, self.weight_ih, self.bias_ih), affine(h, self.weight_hh, self.bias_hh),
    self.hidden
  local r = (gate(a, 0, n) + gate(b, 0, n)):sigmoid()
  local z = (gate(a, 1, n) + gate(b, 1, n)):sigmoid()
  local new = self.activation(gate(a, 2, n) + r * gate(b, 2, n))
  return (1 - z) * new + z * h
end

return nn
