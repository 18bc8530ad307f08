-- Chat templates against jinja2 as transformers sets it up (spec/fixtures/make_jinja.py): published
-- ones, expressions, and blanks around tags.
local tempo = require "tempo"
local helper = require "spec.helper"
local fails = helper.fails
local core, jinja = getmetatable(tempo), require "tempo.llm.jinja"

local file = assert(io.open("spec/fixtures/jinja.json", "rb"))
local fixture = core.json_decode(file:read "*a")
file:close()

local function render(source, chat)
  local messages = jinja.list {}
  for k, m in ipairs(chat or {}) do messages[k] = m end
  return jinja.compile(source) { messages = messages, bos_token = "<s>", eos_token = "</s>",
    add_generation_prompt = true, tools = core.null, documents = core.null }
end

describe("a chat template", function()
  it("gives what jinja2 gives, or is refused as there", function()
    for _, row in ipairs(fixture.rows) do
      for k = row.small and 2 or 1, 2 do
        local ok, got = pcall(render, row.source, fixture.chats[k])
        local want = row.texts[k]
        if want == core.null then assert.is_false(ok, row.source)
        else assert.are.equal(want:gsub("TODAY", os.date "%d %b %Y"), got, row.source) end
      end
    end
  end)

  it("is refused by name where it has what is not known", function()
    fails(function() render "{{ 1 | tojson }}" end, "file", "filter 'tojson'")
    fails(function() render "{{ 1 is divisibleby 1 }}" end, "file", "test 'divisibleby'")
    fails(function() render "{% include 'x' %}" end, "file", "statement 'include'")
    fails(function() render "{{ messages }}" end, "file", "list")
    fails(function() render "{{ raise_exception('mine') }}" end, "option", "mine")
    assert.are.equal("b", render "{% if false %}{{ 1 | tojson }}{% endif %}b")
  end)

  it("neither hangs nor eats the memory", function()
    local loop = "{% for a in range(100000) %}"
    fails(function() render(loop .. loop .. "{% endfor %}{% endfor %}") end, "file", "steps")
    fails(function() render "{{ range(1000000) }}" end, "file", "range")
    fails(function() render("{{" .. ("("):rep(1000)) end, "file", "deep")
    fails(function() render(("{% if 1 %}"):rep(1000)) end, "file", "deep")
    local double = ("{% set x = x + x %}"):rep(40)
    fails(function() render("{% set x = 'abcdefgh' %}" .. double) end, "file", "bytes")
  end)
end)
