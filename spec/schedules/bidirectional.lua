-- By hand: one loop forwards, one backwards; the second makes y on its way, so that only f is kept
-- whole and b has the two points of a step. One could do better: b could be written in place
-- (a product may not write over its operand), and f and b straight into their halves of y.
local tempo = require "tempo"
local helper = require "spec.helper"

local P = tempo.program()
local t, T = P:dim "t"
local x = P:input("x", { domain = { t }, shape = { 8 } })
local u = P:param("u", { shape = { 8, 8 }, init = tempo.eye { 8 } * 0.5 })
local v = P:param("v", { shape = { 8, 8 }, init = tempo.eye { 8 } * 0.25 })
local f = P:tensor { domain = { t }, shape = { 8 }, name = "f" }
f[0] = x
f[t] = (x + f[t - 1]:matmul(u)):tanh()
local b = P:tensor { domain = { t }, shape = { 8 }, name = "b" }
b[T - 1] = x
b[t] = (x + b[t + 1]:matmul(v)):tanh()
local y = tempo.cat({ f, b }, 0):name "y"

local function inputs(at) return { x = helper.random(helper.rng(1), { at.T, 8 }, "f32") } end
return P, { y = y }, inputs
