-- JSON for our libraries: what comes in, what goes out, what is refused.
local tempo = require "tempo"
local core = getmetatable(tempo)
local decode, encode = core.json_decode, core.json_encode

local function refused(text, what)
  local ok, e = pcall(decode, text, "x.json")
  assert.is_false(ok, text)
  assert.equal("file", e.code)
  assert.is_truthy(e.message:find("x.json", 1, true) and e.message:find(what, 1, true), e.message)
end

describe("json", function()
  it("reads values", function()
    local v = decode [[{"a": [1, -2.5, 1e3, true, false, null],
      "b": {"c": "h\u00e9\n\ud83d\ude00"}, "d": []}]]
    assert.same({ 1, -2.5, 1000, true, false, core.null }, setmetatable(v.a, nil))
    assert.equal("h\195\169\n\240\159\152\128", v.b.c)
    assert.equal(9007199254740991, decode "9007199254740991")
    if math.type then
      assert.equal("integer", math.type(v.a[1]))
      assert.equal("float", math.type(v.a[2]))
      assert.equal("float", math.type(decode "9007199254740993"))
    end
    assert.equal("", decode '""')
  end)

  it("writes what it reads", function()
    for _, text in ipairs { "[]", "{}", '{"a":[],"b":{}}', "[[1],[2.5,null]]",
      '"\\"\\\\\\n\\u0001"', "1e+100", "0.1", "true", "null", '{"a":"\195\169","b":-3}' } do
      assert.equal(text, encode(decode(text)))
    end
    assert.equal('{"1":2,"a":1,"b":1}', encode { b = 1, a = 1, ["1"] = 2 })
    assert.equal('"\\u0000"', encode "\0")
  end)

  it("refuses broken texts, with the offset", function()
    refused("", "byte 0")
    refused('{"a": 1,}', "byte 9")
    refused("[1, 2", "byte 5")
    refused("[1] 2", "byte 4")
    refused("nan", "byte 0")
    refused('"a\nb"', "control character stands at byte 2")
    refused("[1,\0 2]", "control character stands at byte 3")
    refused('["a\\u0000b"]', "zero byte, escaped, at byte 3")
    refused('{"a": 1, "b": 2, "a": 3}', "'a' twice")
    refused('[[{"b": {"a": 1, "a": 3}}]]', "'a' twice")
    refused(("["):rep(201) .. ("]"):rep(201), "deep")
    decode(("["):rep(200) .. ("]"):rep(200))
    decode('"' .. ("["):rep(500) .. '\\""')
    local many = {}
    for k = 1, 500 do many[k] = ('"k%d": %d'):format(k, k) end
    assert.equal(499, decode("{" .. table.concat(many, ",") .. "}").k499)
    many[501] = '"k77": 0'
    refused("{" .. table.concat(many, ",") .. "}", "'k77' twice")
  end)

  it("refuses what is no JSON", function()
    local deep = {}
    for _ = 1, 300 do deep = { deep } end
    for _, v in ipairs { { 1, nil, 3, x = 1 }, { [2.5] = 1 }, { f = print }, 0 / 0, math.huge, deep,
      { ["a\0"] = 1 } } do
      local ok, e = pcall(encode, v)
      assert.is_false(ok)
      assert.equal("option", e.code)
    end
  end)
end)
