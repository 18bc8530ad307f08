-- examples/love under a screen of its own (Xvfb). Left out where LÖVE or Xvfb is missing.
local function there(name)
  local ok = os.execute("command -v " .. name .. " >/dev/null 2>&1")
  return ok == true or ok == 0
end

describe("the game in LÖVE", function()
  it("is Lua", function()
    for _, name in ipairs { "main", "conf", "brain" } do
      assert(loadfile("examples/love/" .. name .. ".lua"))
    end
  end)

  it("learns while it is played, shows itself and saves what it learned", function()
    if not (there "love" and there "xvfb-run") then
      return pending "left out: LÖVE or Xvfb is missing (apt-get install love xvfb)"
    end
    local folder = os.tmpname()
    os.remove(folder)
    local pipe = io.popen("env -u LUA_PATH -u LUA_CPATH timeout 120 xvfb-run -a love examples/love "
      .. "--frames 80 --fast --out " .. folder .. " 2>&1; echo status $?")
    local text = pipe:read "*a"
    pipe:close()
    assert.truthy(text:find("status 0", 1, true), text)
    assert.truthy(text:find("frames 81, late ", 1, true), text)
    local iterations = tonumber(text:match "iterations (%d+)")
    assert.is_true(iterations and iterations >= 1, text)
    local file = assert(io.open(folder .. "/screen.png", "rb"))
    assert.equal("\137PNG", file:read(4))
    file:close()
    local saved = require "tempo".load(folder .. "/brain.npz")
    assert.same({ 32, 4 }, saved["policy.0.weight"]:shape())
    assert.truthy(saved["adam.m.policy.0.weight"])           -- moments too: learning goes on
    os.execute("rm -rf '" .. folder .. "'")
  end)
end)
