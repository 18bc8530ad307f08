-- Ridge regression at each point over all rows so far: w[t] = (X'X + lambda)^-1 X'y, X = x[0 ..
-- t+1]. The language has no operator that solves, so users write one of these; the sums X'X and X'y
-- are carried from point to point by a row's products (src/opt/prefix/incremental.c), so a point
-- costs what the solution does. Held to the reference evaluator in f64.
local tempo = require "tempo"
local work = require("spec.helper").work

local D, LAMBDA = 4, 0.1

-- Each gives w of A, b over t.
local solvers = {}

function solvers.conjugate_gradients(A, b, _, _, dtype)
  local w, r = tempo.zeros({ D }, { dtype = dtype }), b
  local p, rr = r, (b * b):sum()
  for _ = 1, D do
    local Ap = A:matmul(p)
    local a = rr / ((p * Ap):sum() + 1e-30)
    w, r = w + a * p, r - a * Ap
    local now = (r * r):sum()
    p, rr = r + (now / (rr + 1e-30)) * p, now
  end
  return w
end

function solvers.elimination(A, b)
  local rows, rhs, w = {}, {}, {}
  for i = 0, D - 1 do rows[i], rhs[i] = A:select(0, i), b:select(0, i) end
  for i = 0, D - 1 do
    for j = i + 1, D - 1 do
      local f = rows[j]:select(0, i) / rows[i]:select(0, i)
      rows[j], rhs[j] = rows[j] - f * rows[i], rhs[j] - f * rhs[i]
    end
  end
  for i = D - 1, 0, -1 do
    local s = rhs[i]
    for j = i + 1, D - 1 do s = s - rows[i]:select(0, j) * w[j + 1] end
    w[i + 1] = s / rows[i]:select(0, i)
  end
  return tempo.stack(w, 0)
end

-- N' = N (2 - A N), over a dim of its own.
function solvers.newton_schulz(A, b, P, t, dtype)
  local k, K = P:dim "k"
  local N = P:tensor { domain = { t, k }, shape = { D, D }, dtype = dtype }
  N[{ k = 0 }] = tempo.eye(D, { dtype = dtype }) / (A * A):sum():sqrt()
  N:otherwise((2 * N - N:matmul(A):matmul(N))[{ k = k - 1 }])
  return N[{ k = K - 1 }]:matmul(b)
end

-- The inverse itself is carried by rank one, as one writes it who knows Sherman and Morrison: it is
-- there before the first row.
function solvers.rank_one(_, b, P, t, dtype, x)
  local R = P:tensor { domain = { t }, shape = { D, D }, dtype = dtype }
  local function step(before)
    local u = before:matmul(x)
    return before - u:unsqueeze(1) * u:unsqueeze(0) / (1 + (x * u):sum())
  end
  R[0] = step(tempo.eye(D, { dtype = dtype }) / LAMBDA)
  R[t] = step(R[t - 1])
  return R:matmul(b)
end

local function ridge(name, dtype, options)
  local P = tempo.program()
  local t = P:dim "t"
  local x, y = P:input("x", { domain = { t }, shape = { D }, dtype = dtype }),
    P:input("y", { domain = { t }, shape = {}, dtype = dtype })
  local X, Y = x[tempo.range(0, t + 1)], y[tempo.range(0, t + 1)]
  local A, b = X:mT():matmul(X) + LAMBDA * tempo.eye(D, { dtype = dtype }), X:mT():matmul(Y)
  options.outputs = { w = solvers[name](A, b, P, t, dtype, x) }
  return P:compile(options)
end

-- Rows without a rule, of which y is made.
local function rows(n, dtype)
  local x, y, s = {}, {}, 5
  for i = 1, n do
    x[i] = {}
    for j = 1, D do
      s = (s * 1103515245 + 12345) % 2147483648
      x[i][j] = math.floor(s / 32768) % 1024 / 1024 - 0.5
    end
    y[i] = x[i][1] - 2 * x[i][2] + 0.25 * x[i][4]
  end
  return { x = tempo.array(x, dtype), y = tempo.array(y, dtype) }
end

describe("ridge regression at each point", function()
  for name in pairs(solvers) do
    local K = name == "newton_schulz" and 24 or nil
    it("by " .. name .. " takes linear work, and has the values of f64", function()
      local want = ridge(name, "f64", { tier = "reference" })(rows(60, "f64"),
        { T = 60, K = K }).w:totable()
      for dtype, most in pairs { f32 = 1e-5, f64 = 1e-13 } do
        local f = ridge(name, dtype, { tier = "interpreter" })
        assert.is_true(work(f, { T = 4000, K = K }) < 4.1 * work(f, { T = 1000, K = K }))
        local got = f(rows(60, dtype), { T = 60, K = K }).w:totable()
        for i = 1, 60 do
          for j = 1, D do
            assert.is_true(math.abs(got[i][j] - want[i][j]) < most,
              ("%s %d %d"):format(dtype, i, j))
          end
        end
      end
    end)

    it("by " .. name .. " sums what is written where floats may not be rounded otherwise",
      function()
      local f = ridge(name, "f32", { tier = "interpreter", precise = true })
      assert.is_true(work(f, { T = 4000, K = K }) > 12 * work(f, { T = 1000, K = K }))
    end)
  end

  it("comes to what made the rows", function()
    local w = ridge("elimination", "f64", { tier = "interpreter" })(rows(20000, "f64"),
      { T = 20000 }).w
    for j, want in ipairs { 1, -2, 0, 0.25 } do
      assert.is_true(math.abs(w:get(19999, j - 1) - want) < 2e-4)
    end
  end)
end)
