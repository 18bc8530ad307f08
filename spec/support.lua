-- The names by which specs called spec.helper's functions before there was one helper module.
local helper = require "spec.helper"

local S = setmetatable({}, { __index = helper })
function S.fill(shape, f) return helper.numbers(shape, f) end
function S.same(got, want, tol, where) return helper.same(want, got, tol or 1e-9, where) end
function S.differ(got, want, tol, where) return helper.differ(want, got, tol, where or "value") end
function S.differ_arrays(a, b, tol, where) return helper.differ_arrays(b, a, tol, where) end
function S.compile(P, outputs, tol) return helper.compile(P, outputs, { tol = tol }) end
function S.run(P, outputs, inputs, bounds, options) return helper.run(P, outputs, inputs, bounds, { call = options }) end
return S
