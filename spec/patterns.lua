-- The patterns of the indexing table: name, what a script writes, and lo, hi: the same for plain
-- loops, a point where hi is absent. from: the least T for which it is legal. window: it has a
-- bound w.
local tempo = require "tempo"

local min, max, floor = math.min, math.max, math.floor

return {
  { "x[max(t-1, 0)]", function(x, t)
    return x[tempo.max(t - 1, 0)]
  end, function(t) return max(t - 1, 0) end },
  { "x[min(t+1, T-1)]", function(x, t, T)
    return x[tempo.min(t + 1, T - 1)]
  end, function(t, T) return min(t + 1, T - 1) end },
  { "x[min(t+10, T-1)]", function(x, t, T)
    return x[tempo.min(t + 10, T - 1)]
  end, function(t, T) return min(t + 10, T - 1) end },
  { "x[t//2]", function(x, t) return x[t:floordiv(2)] end, function(t) return floor(t / 2) end },
  { "x[(t+5)//3]", function(x, t, T) return x[tempo.min((t + 5):floordiv(3), T - 1)] end,
    function(t, T) return min(floor((t + 5) / 3), T - 1) end },
  { "x[min(2*t, T-1)]", function(x, t, T)
    return x[tempo.min(2 * t, T - 1)]
  end, function(t, T) return min(2 * t, T - 1) end },
  { "x[t%3]", function(x, t) return x[t % 3] end, function(t) return t % 3 end },
  { "x[T-1-t]", function(x, t, T) return x[T - 1 - t] end, function(t, T) return T - 1 - t end },
  { "x[0]", function(x) return x[0] end, function() return 0 end },
  { "x[T-1]", function(x, _, T) return x[T - 1] end, function(_, T) return T - 1 end },
  { "x[{t = 0}]", function(x) return x[{ t = 0 }] end, function() return 0 end },
  { "x[0 .. t+1]", function(x, t) return x[0 .. t + 1] end, function() return 0 end,
    function(t) return t + 1 end },
  { "x[0 .. t]", function(x, t) return x[0 .. t] end, function() return 0 end,
    function(t) return t end },
  { "x[t .. T]", function(x, t, T) return x[t .. T] end, function(t) return t end,
    function(_, T) return T end },
  { "x[t+1 .. T]", function(x, t, T) return x[t + 1 .. T] end, function(t) return t + 1 end,
    function(_, T) return T end },
  { "x[max(0, t-2) .. t+1]", function(x, t) return x[tempo.max(0, t - 2) .. t + 1] end,
    function(t) return max(0, t - 2) end, function(t) return t + 1 end },
  { "x[max(0, t-2) .. min(t+4, T)]", function(x, t, T)
    return x[tempo.max(0, t - 2) .. tempo.min(t + 4, T)]
  end, function(t) return max(0, t - 2) end, function(t, T) return min(t + 4, T) end },
  { "x[max(0, t-w+1) .. t+1]", function(x, t, _, w) return x[tempo.max(0, t - w + 1) .. t + 1] end,
    function(t, _, w) return max(0, t - w + 1) end, function(t) return t + 1 end, window = true },
  { "x[t .. min(t+w, T)]", function(x, t, T, w) return x[t .. tempo.min(t + w, T)] end,
    function(t) return t end, function(t, T, w) return min(t + w, T) end, window = true },
  { "x[t//2 .. t+1]", function(x, t) return x[t:floordiv(2) .. t + 1] end,
    function(t) return floor(t / 2) end, function(t) return t + 1 end },
  { "x[0 .. t//2+1]", function(x, t) return x[0 .. t:floordiv(2) + 1] end, function() return 0 end,
    function(t) return floor(t / 2) + 1 end },
  { "x[3*(t//3) .. min(3*(t//3)+3, T)]", function(x, t, T)
      local lo = t:floordiv(3) * 3
      return x[lo .. tempo.min(lo + 3, T)]
    end, function(t) return 3 * floor(t / 3) end,
      function(t, T) return min(3 * floor(t / 3) + 3, T) end },
  { "x[0 .. T]", function(x, _, T) return x[0 .. T] end, function() return 0 end,
    function(_, T) return T end },
  { "x[range(1, 3)]", function(x)
    return x[{ t = tempo.range(1, 3) }]
  end, function() return 1 end, function() return 3 end, from = 3 },
}
