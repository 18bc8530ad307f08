-- Arrays whose copies a device keeps between calls: results are the processor's however memory
-- changes, and what did not change is not copied. On the tests' own libcuda, whose memory is
-- watched, and on OpenCL.
local helper = require "spec.helper"

local devices = helper.devices "arrays that stay on a device"

-- y = x * w + x. `sum` is another function of the device, `host` one of the processor. `call`
-- prints a result and how many copies its call and the look at it took.
local begins = [=[
  local tempo = require "tempo"
  local function compiled(device)
    local P = tempo.program()
    local x, w = P:input("x", { shape = { 3 } }), P:input("w", { shape = { 3 } })
    return P:compile { outputs = { y = x * w + x }, device = device }
  end
  local f, sum, host = compiled(), compiled(), compiled "cpu"
  local x, w = tempo.array({ 1, 2, 3 }, "f32"), tempo.array({ 4, 5, 6 }, "f32")
  local copied = { [f] = 0, [sum] = 0 }
  local function copies(g)
    local n = tonumber(g:explain "kernels":match "(%d+) copies of" or 0)
    local more = n - copied[g]
    copied[g] = n
    return more
  end
  local function call(a, b, g)
    local y = (g or f)({ x = a, w = b }).y
    local before = os.getenv "COUNTS" and copies(g or f) or "-"
    print(table.concat(y:totable(), " "), before, os.getenv "COUNTS" and copies(g or f) or "-")
    return y
  end
]=]

local function on(words, text)
  return helper.script(begins .. text, nil, "export TEMPO_KERNELS=all " .. words .. "; ")
end

local function each(text, counts)
  for name, words in pairs(devices) do
    local want, got = on("TEMPO_DEVICE=cpu", text), on(words, text)
    assert.equal(want, got, name)
    local list = {}
    for before, after in on("COUNTS=1 " .. words, text):gmatch "\t(%d+)\t(%d+)\n" do
      list[#list + 1] = before .. "+" .. after
    end
    assert.equal(counts, table.concat(list, " "), name)
  end
end

describe("arrays on a device", function()
  it("are copied once, to it and back, by all functions together", function()
    each([=[
      call(x, w) call(x, w) call(x, w, sum) call(w, x, sum)
      local y = f({ x = x, w = w }).y
      print(#y, y:dtype(), y:shape()[1])
      print(y:get(1), y:get(1), tostring(y))]=], "2+1 0+1 0+1 0+1")
  end)

  it("are copied again after set, copy_from and what is written by way of rows", function()
    each([=[
      local both = tempo.array({ { 1, 2, 3 }, { 7, 8, 9 } }, "f32")
      local row = both[1]
      call(x, row) x:set(9, 0) call(x, row) x:copy_from { 5, 6, 7 } call(x, row)
      both[1]:set(0, 2) call(x, row) both[0]:set(3, 0) call(x, row)
      call(x, row)]=], "2+1 1+1 1+1 1+1 1+1 0+1")
  end)

  it("are copied in each call once their address was given away, and numbers and tables", function()
    each([=[
      local _ = x:data()
      call(x, w) call(x, w)
      if jit then x:pointer()[1] = 40 else x:set(40, 1) end
      call(x, w) call(x, w) call({ 1, 1, 1 }, w) call({ 1, 1, 1 }, w)]=],
      "2+1 1+1 1+1 1+1 1+1 1+1")
  end)

  it("stay there as results that other calls take, which the script may write", function()
    each([=[
      local y = f({ x = x, w = w }).y
      local z = call(y, w)
      y:set(0, 1) call(y, w) call(z, y, sum)
      call(z, y:clone(), host and f)]=], "2+1 2+1 0+1 1+1")
  end)

  it("come to the processor for its functions, files, peeks, parameters, and at the end",
    function()
    each([=[
      local P = tempo.program()
      local v = P:input("v", { shape = { 3 } })
      local a, b, c, d = f({ x = x, w = w }).y, f({ x = w, w = x }).y, f({ x = w, w = w }).y,
        f({ x = x, w = x }).y
      print(table.concat(host({ x = a, w = b }).y:totable(), " "))
      local path = os.tmpname() .. ".npy"
      tempo.save(path, c)
      print(table.concat(tempo.load(path):totable(), " "))
      os.remove(path)
      print(table.concat((v + 1):peek { inputs = { v = d } }:totable(), " "))
      local Q = tempo.program()
      local p = Q:param("p", { shape = { 3 }, init = 0 })
      local g = Q:compile { outputs = { q = p * 2 } }
      g:load_params { p = f({ x = d, w = d }).y }
      print(table.concat(g().q:totable(), " "))
      local rest = f({ x = c, w = d }).y
      f:free() sum:free() g:free()
      f, sum, g = nil, nil, nil
      collectgarbage() collectgarbage()
      print(table.concat(rest:totable(), " "))]=], "")
  end)

  it("are rows of one, joined anew when one was written", function()
    each([=[
      local P = tempo.program()
      local b = P:dim "b"
      local v = P:input("v", { domain = { b }, shape = { 3 } })
      local g = P:compile { outputs = { s = v * 2 } }
      copied[g] = 0
      local rows = tempo.rows { x, w, x }
      local function rowed(r, n)
        local s = g({ v = r }, { B = n }).s
        print(table.concat(s:totable()[n], " "), os.getenv "COUNTS" and copies(g) or "-", 0)
      end
      rowed(rows, 3) rowed(rows, 3) w:set(8, 0) rowed(rows, 3) rowed(tempo.rows { w }, 1)
      rowed(tempo.rows { f({ x = x, w = w }).y, w }, 2)
      print(table.concat(tempo.array(tempo.rows { f({ x = x, w = w }).y }):totable()[1], " "))]=],
      "4+0 1+0 4+0 2+0 1+0") -- the result among them
  end)

  it("are constants, copied once; a file's array, which cannot change", function()
    each([=[
      local path = os.tmpname() .. ".npy"
      tempo.save(path, w)
      local file = tempo.open(path)
      local mapped
      for _, a in pairs(file:arrays()) do mapped = a end
      local P = tempo.program()
      local v = P:input("v", { shape = { 3 } })
      local g = P:compile { outputs = { s = v * P:constant { 2, 3, 4 } } }
      copied[g] = 0
      for _ = 1, 2 do
        local s = g({ v = mapped }).s:totable()
        print(table.concat(s, " "), os.getenv "COUNTS" and copies(g) or "-", 0)
      end
      os.remove(path)]=], "3+0 1+0")
  end)

  it("take pieces of results, as keys and values of a text do", function()
    each([=[
      local core = getmetatable(tempo)
      local P = tempo.program()
      local past = P:input("past", { shape = { 2, 1, 4, 3 } })
      local id = P:input("id", { shape = { 1, 2, 1, 3 } })
      local g = P:compile { outputs = { k = past:sum(2):unsqueeze(0) * 0.5 + id,
        logits = (past * past):sum(3):sum(2):sum(1):sum(0) } }
      copied[g] = 0
      local r = tempo.array(1, "f32", { 2, 1, 4, 3 })
      local function token(t)
        local out = g({ past = r, id = tempo.array(t, "f32", { 1, 2, 1, 3 }) })
        core.llm_keep(r, out.k, 0, 1, t)              -- place t % 4
        print(out.logits:item(), os.getenv "COUNTS" and copies(g) or "-", 0)
      end
      for t = 0, 5 do token(t) end
      local two = tempo.rows { r, r }
      r:set(7, 1, 0, 2, 1)
      token(6)
      r = core.llm_grow(r, 4)
      token(7) token(8)
      print(table.concat(r:clone():copy_to(), " "))
      print(table.concat(tempo.array(two):copy_to(), " "))]=],
      "3+0 2+0 2+0 2+0 2+0 2+0 3+0 3+0 2+0") -- in: an id, and r if the host wrote it; out: logits
  end)

  it("are seen by way of rows that were taken before pieces came", function()
    each([=[
      local core = getmetatable(tempo)
      local P = tempo.program()
      local z = P:input("z", { shape = { 1, 4, 3 } })
      local g = P:compile { outputs = { s = z * 2 } }
      local r = tempo.array(1, "f32", { 2, 1, 4, 3 })
      local row = r[1]
      local function show(a) print(table.concat(a:copy_to(), " ")) end
      show(g({ z = row }).s)
      local Q = tempo.program()
      local id = Q:input("id", { shape = { 1, 2, 1, 3 } })
      local h = Q:compile { outputs = { k = id + 1 } }
      for at = 0, 2 do
        core.llm_keep(r, h({ id = tempo.array(at, "f32", { 1, 2, 1, 3 }) }).k, 0, 1, at)
        if at > 0 then show(g({ z = row }).s) end
        if at ~= 1 then show(row) end
      end
      core.llm_keep(r, h({ id = tempo.array(8, "f32", { 1, 2, 1, 3 }) }).k, 0, 1, 3)
      row:set(40, 0, 0, 0)
      show(r) show(g({ z = row }).s)
      local b = P:dim "b"
      local u = P:input("u", { domain = { b }, shape = { 1, 4, 3 } })
      local rows = P:compile { outputs = { s = u * 2 } }
      core.llm_keep(r, h({ id = tempo.array(9, "f32", { 1, 2, 1, 3 }) }).k, 0, 1, 1)
      show(rows({ u = tempo.rows { row, row } }, { B = 2 }).s)]=], "")
  end)

  it("may be what a callback was lent, which the run writes again", function()
    each([=[
      local P = tempo.program()
      local t = P:dim "t"
      local v = P:input("v", { domain = { t }, shape = { 3 } })
      local o = P:call(function(args) return f({ x = args[1], w = w }).y end, { v * 3 },
        { { domain = { t }, shape = { 3 } } })
      P:sink({ o }, function(args) call(args[1], x, sum) end)
      local g = P:compile { outputs = { o = o } }
      local all = g({ v = { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 } } }, { T = 3 }).o
      print(table.concat(all:copy_to(), " "))]=], "2+1 1+1 1+1")
  end)

  it("leave when memory is short, the longest unused first", function()
    if not devices.cuda or helper.device == "cuda" then return end
    local out = on(devices.cuda .. "TEMPO_EMU=unwatched,memory=4", [=[
      local P = tempo.program()
      local x = P:input("x", { shape = { 256, 512 } })
      local f = P:compile { outputs = { y = x + 1 } }
      local kept = {}
      for k = 1, 20 do kept[k] = f({ x = tempo.array(k, "f32", { 256, 512 }) }).y end
      local wrong = 0
      for k = 1, 20 do wrong = wrong + math.abs(kept[k]:get(255, 511) - k - 1) end
      for k = 1, 20 do wrong = wrong + math.abs(f({ x = kept[k] }).y:get(3, 4) - k - 2) end
      print(wrong == 0)]=])
    assert.equal("true\n", out)
  end)

  it("leave when memory is short for another function than they were made for", function()
    if not devices.cuda or helper.device == "cuda" then return end
    local out = on(devices.cuda .. "TEMPO_EMU=unwatched,memory=4", [=[
      local P = tempo.program()
      local x = P:input("x", { shape = { 256, 1024 } })
      for k = 1, 6 do
        local f = P:compile { outputs = { y = x:sum(1) * k } }
        io.write(f({ x = tempo.array(1, "f32", { 256, 1024 }) }).y:get(255), " ")
        _G[k] = f
      end]=])
    assert.equal("1024 2048 3072 4096 5120 6144 ", (out:gsub("%.0", "")))
  end)

  it("take part in steps", function()
    each([=[
      local P = tempo.program()
      local t = P:dim "t"
      local v, u = P:input("v", { domain = { t }, shape = { 3 } }), P:input("u", { shape = { 3 } })
      local h = P:tensor { domain = { t }, shape = { 3 } }
      h:otherwise(tempo.prev(h, t, 0) * 0.5 + v * u)
      local g = P:compile { outputs = { h = h }, tick = t }
      local y, into = f({ x = x, w = w }).y, nil
      g:start({ u = f({ x = w, w = w }).y }, { T = 4 })
      for k = 1, 4 do
        local _
        _, into = g:step({ v = y }, { into = into })
        print(table.concat(into.h:totable(), " "))
        if k == 2 then y = f({ x = y, w = into.h }).y end
      end
      call(into.h, y)]=], "7+1")                      -- those of all calls of f
  end)
end)
