-- Draws learning curves: one line for each metrics.csv, returns over iterations, as SVG.
--
--   for s in 0 1 2 3 4; do lua5.4 examples/reinforce_cartpole.lua --seed $s --quiet --out out/$s; done
--   lua5.4 docs/source/curve.lua out/[0-4]/metrics.csv > docs/cartpole.svg
local width, height, left, bottom, top = 640, 240, 48, 32, 12

local curves, longest, highest = {}, 1, 0
for k, path in ipairs(arg) do
  local curve = {}
  for line in io.lines(path) do
    local score = tonumber(line:match "^%d+,([^,]+)")
    if score then
      curve[#curve + 1] = score
      highest = math.max(highest, score)
    end
  end
  curves[k], longest = curve, math.max(longest, #curve)
end

local function x(k) return left + (k - 1) / math.max(longest - 1, 1) * (width - left - 12) end
local function y(score) return height - bottom - score / highest * (height - bottom - top) end

print(('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">')
  :format(width, height))
print(('<rect width="%d" height="%d" fill="white"/>'):format(width, height))
for part = 0, 4 do
  local score = highest * part / 4
  print(('<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%.0f</text>')
    :format(left, y(score), width - 12, left - 6, y(score) + 4, score))
end
for k = 1, longest, math.max(longest // 5, 1) do
  print(('<text x="%.1f" y="%d" text-anchor="middle">%d</text>'):format(x(k), height - bottom + 16, k - 1))
end
print(('<text x="%d" y="%d" text-anchor="end">iteration</text>'):format(width - 12, height - 4))
local colours = { "#1b6ca8", "#d1495b", "#2e8b57", "#b8860b", "#6a4c93" }
for k, curve in ipairs(curves) do
  local points = {}
  for n, score in ipairs(curve) do points[n] = ("%.1f,%.1f"):format(x(n), y(score)) end
  print(('<polyline fill="none" stroke-width="1.5" stroke="%s" points="%s"/>')
    :format(colours[(k - 1) % #colours + 1], table.concat(points, " ")))
end
print "</svg>"
