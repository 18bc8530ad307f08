-- The documentation against what it is written from: nothing without a word, nothing stale, every
-- example runs and prints what is shown. `make docs` writes what is missing here.
package.path = ".ci/?.lua;" .. package.path
local tempo = require "tempo"
local docs = require "docs"
local blocks, rows, library = require "docs.blocks", require "docs.rows", require "docs.library"

local api, methods, libraries = docs.source "api", docs.source "methods", docs.source "libraries"

local function each_file(folder, f)
  local find = assert(io.popen("find " .. folder .. " -type f | sort"))
  for path in find:lines() do f(path) end
  find:close()
end

-- Keys of one set that another lacks, sorted.
local function missing(have, want)
  local list = {}
  for name in pairs(want) do
    if not have[name] then list[#list + 1] = tostring(name) end
  end
  table.sort(list)
  return list
end

-- Both ways.
local function same_names(documented, live)
  assert.same({}, missing(documented, live), "without a word in docs/source")
  assert.same({}, missing(live, documented), "documented, but not there")
end

local function names_of(class)
  local set = {}
  for _, e in ipairs(class.entries) do
    if not e.form then set[e.name] = true end
  end
  return set
end

local class = {}
for _, c in ipairs(api.classes) do class[c.class] = c end

-- The table of methods of a userdata: the upvalue of its __index.
local function live_methods(object)
  local index, set = getmetatable(object).__index, {}
  for k = 1, 4 do
    local _, value = debug.getupvalue(index, k)
    if type(value) == "table" then
      for name in pairs(value) do set[name] = true end
      return set
    end
  end
end

describe("generated files", function()
  for _, f in ipairs(docs.files()) do
    it(f[1] .. " is what `make docs` writes", function()
      local why = docs.stale(f[1], f[2])
      if why then error("stale, run `make docs`:\n" .. why, 0) end
    end)
  end
end)

describe("a page", function()
  local old = "words 1.5\n\n```lua\nprint(1.5)\n```\n\n```\n[1.        2.5]\n```\nwords\n"

  it("may differ in the last digits and the layout of what was printed", function()
    assert.is_nil(blocks.differ(old, (old:gsub("%[1%.        2%.5%]", "[1. 2.5000001]"))))
  end)

  it("may not differ in anything else", function()
    for from, to in pairs { ["words 1.5"] = "words 1.50001", ["%(1%.5%)"] = "(1.50001)",
      ["2%.5%]"] = "2.6]", ["%[1%."] = "[x 1.",
        ["%[1%.  "] = "[2.  ", ["```\nwords"] = "```\nmore" } do
      assert.is_string(blocks.differ(old, (old:gsub(from, to))), from)
    end
  end)

  it("takes in what its blocks print", function()
    local page = "# x\n\n<!-- run -->\n\n```lua\nprint(1 + 1)\n```\n\nand\n\n```lua\nprint(3)\n```\n\n```\n9\n```\n"
    local fresh = blocks.refresh(page, "")
    assert.equal(
      "# x\n\n<!-- run -->\n\n```lua\nprint(1 + 1)\n```\n\n```\n2\n```\n\nand\n\n```lua\nprint(3)\n```\n\n```\n9\n```\n", fresh)
    assert.equal(fresh, blocks.refresh(fresh, ""))
  end)

  it("refuses a block that fails, and one that should and does not", function()
    assert.has_error(function() blocks.output("error 'x'", "a.lua", nil, false) end)
    assert.has_error(function() blocks.output("print(1)", "a.lua", nil, true) end)
    assert.equal("a.lua:1: x\n", blocks.output("error 'x'", "a.lua", nil, true))
  end)
end)

describe("the API", function()
  local P = tempo.program()
  local t = P:dim "t"
  local rowed = {}
  for _, m in ipairs(rows.methods(docs.root)) do rowed[m.name] = m end

  it("has every function of the module, and the module every function", function()
    local documented, live = names_of(class.tempo), {}
    for name, m in pairs(rowed) do
      if name ~= "min" and name ~= "max" then documented[name] = m end
    end
    for name in ("shape dtype domain name at backward peek"):gmatch "%a+" do
      documented[name] = true end
    for name, value in pairs(tempo) do
      if type(value) == "function" then live[name] = true end
    end
    same_names(documented, live)
  end)

  it("has every method of tensors", function()
    local documented = names_of(class["tempo.Tensor"])
    for name, m in pairs(rowed) do
      if m.kinds:find "m" then documented[name] = true end
    end
    same_names(documented, live_methods(t:value()))
  end)

  it("has no method of loose literals that tensors lack", function()
    assert.same({}, missing(live_methods(t:value()), live_methods(tempo.zeros {})))
  end)

  it("has every method of programs, functions, arrays and ranges", function()
    local f = P:compile { outputs = { t = t:value() } }
    for name, object in pairs { ["tempo.Program"] = P, ["tempo.Function"] = f,
      ["tempo.Array"] = tempo.array { 1 }, ["tempo.Range"] = 0 .. t,
        ["tempo.Weights"] = tempo.open "spec/fixtures/weights/small.gguf" } do
      same_names(names_of(class[name]), live_methods(object))
    end
  end)

  it("has every method of index expressions and conditions, which are one class", function()
    local documented = names_of(class["tempo.Index"])
    for name in pairs(names_of(class["tempo.Condition"])) do documented[name] = true end
    same_names(documented, live_methods(t))
  end)

  it("has every option that src/lua and binding.lua know", function()
    local documented, live = {}, {}
    for _, c in ipairs(api.classes) do
      for _, e in ipairs(c.entries) do
        for _, o in ipairs(e.options or {}) do documented[o.name] = true end
        for _, a in ipairs(e.args or {}) do
          for name in a.kind:gmatch "([%w_]+)%?:" do documented[name] = true end
        end
      end
    end
    each_file("src/lua", function(path)
      for list in blocks.read(path):gmatch "known%[%] = {(.-)}" do
        for name in list:gmatch '"([%w_]+)"' do live[name] = true end
      end
    end)
    for list in blocks.read("lua/tempo/binding.lua"):gmatch 'options%(o, "[%w_]+",%s+{(.-)}' do
      for name in list:gmatch '"([%w_]+)"' do live[name] = true end
    end
    local scan = blocks.read "lua/tempo/associative_scan.lua"
    for name in scan:match('util%.options%(WHAT, o, "(.-)"'):gmatch "%S+" do live[name] = true end
    same_names(documented, live)
  end)

  it("accepts each option that is documented", function()
    local function unknown(f, ...)
      local ok, e = pcall(f, ...)
      return not ok and tostring(e):find " has no '" ~= nil
    end
    local ways = { ["tempo program"] = function(o) tempo.program(o) end,
      ["tempo.Program input"] = function(o) P:input("x" .. tostring(o), o) end,
      ["tempo.Program tensor"] = function(o) P:tensor(o) end,
      ["tempo.Program param"] = function(o) P:param("w" .. tostring(o), o) end,
      ["tempo.Program compile"] = function(o) P:compile(o) end,
      ["tempo.Tensor peek"] = function(o) t:value():peek(o) end }
    for where, call in pairs(ways) do
      local name, method = where:match "^(%S+) (%S+)$"
      assert.is_true(unknown(call, { no_such_option = 1 }), where)
      for _, e in ipairs(class[name].entries) do
        for _, o in ipairs(e.name == method and e.options or {}) do
          assert.is_false(unknown(call, { [o.name] = {} }), where .. " " .. o.name)
        end
      end
    end
  end)
end)

describe("operators", function()
  it("have a row each in docs/source/methods.lua, and each row an operator", function()
    local defined = {}
    for _, m in ipairs(rows.methods(docs.root)) do defined[m.name] = true end
    same_names(methods.rows, defined)
  end)

  it("have words for all that may be left out, and no more", function()
    local used = {}
    for _, m in ipairs(rows.methods(docs.root)) do
      for _, list in ipairs { m.positional, m.options } do
        for _, a in ipairs(list) do
          if a.optional then used[a.name] = true end
        end
      end
    end
    same_names(methods.words, used)
  end)
end)

describe("libraries", function()
  local all = library.all(docs.root)

  it("document every function", function()
    for _, lib in ipairs(all) do
      assert.same({}, lib.undocumented)
      for _, e in ipairs(lib.entries) do assert.is_true(#e.text > 0, e.form) end
    end
  end)

  it("have what is documented, and nothing else", function()
    for _, lib in ipairs(all) do
      local loaded = lib.name == "tempo.nn.init" and require "tempo.initial" or require(lib.name)
      local documented, values, live = {}, {}, {}
      if type(loaded) == "table" then
        for _, e in ipairs(lib.entries) do
          if not e.key:find "[:]" then
            documented[e.key], values[loaded[e.key] or 0] = true, true
          end
        end
        -- an alias is documented with what it stands for
        for name, value in pairs(loaded) do
          if type(value) == "function" and not values[value] then live[name] = true end
        end
        -- a library may make what is no function when it is read
        for name in pairs(documented) do
          if loaded[name] ~= nil then live[name] = true end
        end
        same_names(documented, live)
      end
    end
  end)

  it("have every method of modules, optimisers, distributions, environments and files", function()
    local P = tempo.program()
    local t = P:dim "t"
    local net = tempo.nn.Linear(P, 1, 1, { along = { t } })
    local x = t:value():to "f32"
    local objects = { Module = tempo.nn.Module,
      Optimizer = getmetatable(getmetatable(tempo.optim.SGD(net, { lr = 1 }))).__index,
      Memory = getmetatable(tempo.rl.window(P, 1,
        tempo.rl.env(P, "CartPole-v1", { domain = { t }, time = t }))),
      Replay = getmetatable(tempo.rl.replay(t, { window = 1, batch = 1 })).__index,
      Rows = getmetatable(tempo.logger.csv(false, {})).__index,
      EarlyStopping = getmetatable(tempo.optim.early_stopping(t, x)).__index,
      Env = select(2,
        debug.getupvalue(
        getmetatable(tempo.rl.env(P, "CartPole-v1", { domain = { t }, time = t })).__index, 1)),
      Model = getmetatable(tempo.llm.load "spec/fixtures/llm/llama").__index,
      Engine = getmetatable(tempo.llm.engine(tempo.llm.load "spec/fixtures/llm/llama")).__index,
      Tokenizer = getmetatable(tempo.llm.tokenizer "spec/fixtures/tokenizers/gpt2.json").__index,
      Server = getmetatable(tempo.llm.server(require "spec.fake_engine".model, { port = 0,
        engine = {} })).__index,
      Distribution = { kl = true, sum = true } }
    local dist, v = tempo.dist, x:unsqueeze(0)
    for name, d in pairs { Normal = dist.Normal(x, 1), TanhNormal = dist.TanhNormal(x, 1),
      Beta = dist.Beta(x, 1),
        Categorical = dist.Categorical { logits = v }, Bernoulli = dist.Bernoulli { logits = x },
        MultiCategorical = dist.MultiCategorical { logits = v, sizes = { 1 } } } do
      objects[name] = {}
      for key, f in pairs(getmetatable(d).methods) do          -- _kl is the body of kl
        if key == "_kl" then f = nil end
        if objects.Distribution[key] then objects.Distribution[key] = f else objects[name][key] = f
          end
      end
    end
    local quiet = { forward = true, rule = true }
    for _, lib in ipairs(all) do
      for _, name in pairs(lib.classes) do
        local short, documented, live = name:match "[^.]+$", {}, {}
        for _, e in ipairs(lib.entries) do
          local method = e.key:match("^" .. short .. ":(.*)")
          if method then documented[method] = true end
        end
        for key, value in pairs(objects[short] or {}) do
          if type(value) == "function" and not key:find "^_" and not quiet[key]
            and not lib.hidden[short .. ":" .. key] then live[key] = true end
        end
        assert.is_true(objects[short] ~= nil or next(documented) == nil, name)
        same_names(documented, live)
      end
    end
  end)

  it("have an example each, and each example an entry", function()
    local entries = {}
    for _, lib in ipairs(all) do
      for _, e in ipairs(lib.entries) do entries[lib.name .. " " .. e.key] = true end
    end
    same_names(libraries.examples, entries)
  end)
end)

describe("settings", function()
  it("are those that the sources ask for", function()
    local known, asked = {}, {}
    for _, s in ipairs(rows.read(docs.root .. "src/base/settings.def", "S")) do
      known[s[1]] = true end
    each_file("src", function(path)
      for name in blocks.read(path):gmatch 'tp_[%l_]*setting%([^()"]*"([%w_]+)"%)' do
        asked[name] = true end
    end)
    same_names(known, asked)
  end)

  it("have words for every class of errors, and no more", function()
    local words = {}
    for _, e in ipairs(rows.read(docs.root .. "src/base/errs.def", "E")) do words[e[2]] = true end
    same_names(docs.source "errors", words)
  end)
end)

describe("annotations", function()
  local builtin = {}
  for word in (
    "any nil string number integer boolean table true false lightuserdata userdata fun function"):gmatch "%S+" do
    builtin[word] = true
  end

  -- Types of the tags of one file.
  local function each_type(text, f)
    for tag, rest in text:gmatch "\n%s*%-%-%-@(%a+) ([^\n]*)" do
      if tag == "param" or tag == "field" then
        rest = rest:gsub("^%b[] ", ""):gsub("^[%w_.]+%??%s+", "")
      end
      if tag == "param" or tag == "field" or tag == "return" then f((library.split_type(rest))) end
    end
  end

  local function files()
    local list, found = {}, assert(io.popen "find lua/tempo -name '*.lua' | sort")
    for path in found:lines() do list[#list + 1] = path end
    found:close()
    return list
  end

  it("are Lua", function()
    assert(loadfile "lua/tempo/meta/tempo.lua")
  end)

  it("name only types that are declared, each once", function()
    local declared = {}
    for _, path in ipairs(files()) do
      for tag, name in ("\n" .. blocks.read(path)):gmatch "\n%-%-%-@(%a+) ([%w_.]+)" do
        if tag == "class" or tag == "alias" then
          assert.is_nil(declared[name], name)
          declared[name] = path
        end
      end
    end
    local count = 0
    for _, path in ipairs(files()) do
      each_type("\n" .. blocks.read(path), function(kind)
        -- literals, names of fields
        kind = kind:gsub('"[^"]*"', ""):gsub("[%w_]+%??:", ""):gsub("%.%.%.", "")
        for name in kind:gmatch "[%a_][%w_.]*" do
          count = count + 1
          assert.is_true(declared[name] ~= nil or builtin[name] or false,
            path .. ": " .. name .. " in " .. kind)
        end
      end)
    end
    assert.is_true(count > 300, count)
  end)
end)

describe("the tutorial", function()
  it("shows the programs in order", function()
    local shown, there = {}, {}
    for path in blocks.read("docs/tutorial.md"):gmatch "<!%-%- run (examples/tutorial/[^ ]+)" do
      shown[#shown + 1] = path end
    each_file("examples/tutorial", function(path) there[#there + 1] = path end)
    assert.equal(12, #there)
    assert.same(there, shown)
  end)
end)

describe("the README", function()
  it("lists every example once", function()
    local listed, there = {}, {}
    for line in blocks.read("README.md"):gmatch "\n| ([^|\n]+) |" do
      for name in line:gmatch "`([%w_]+%.lua)`" do
        assert.is_nil(listed[name], name)
        listed[name] = true
      end
    end
    each_file("examples -maxdepth 1 -name '*.lua'", function(path)
      there[path:match "[^/]*$"] = true
    end)
    same_names(listed, there)
  end)

  it("names only targets of make that exist", function()
    local makefile = blocks.read "Makefile"
    for target in blocks.read("README.md"):gmatch "`make (%a[%a-]*)" do
      assert.is_not_nil(makefile:find("\n[%a ]*%f[%a]" .. target:gsub("%-", "%%-") .. "[%a ]*:"),
        target)
    end
  end)
end)

describe("the pages", function()
  -- Anchors of a page's headings, as GitHub makes them, and the numbers of numbered ones.
  local function headings(path)
    local anchors, sections, fenced = {}, {}, false
    for line in (blocks.read(path) .. "\n"):gmatch "(.-)\n" do
      fenced = fenced ~= (line:find "^```" ~= nil)
      local words = not fenced and line:match "^#+ (.+)"
      if words then
        anchors[words:lower():gsub("[^%w%- _]", ""):gsub(" ", "-")] = true
        sections[words:match "^(%d+)%." or ""] = true
      end
    end
    return anchors, sections
  end

  local pages = { "README.md" }
  each_file("docs -name '*.md'", function(path) pages[#pages + 1] = path end)

  it("link to files and headings that exist", function()
    local count = 0
    for _, page in ipairs(pages) do
      for link, anchor in blocks.read(page):gmatch "%]%(([^)#:]*)#?([^):]*)%)" do
        local target = link == "" and page or (page:match "^(.*/)" or "") .. link
        local file = io.open(target)
        assert.is_not_nil(file, page .. ": " .. link)
        file:close()
        if anchor ~= "" then
          assert.is_true(headings(target)[anchor] or false,
            ("%s: %s#%s"):format(page, link, anchor))
        end
        count = count + 1
      end
    end
    assert.is_true(count > 50, count)
  end)

  it("that sources cite are in the repository, and so are the sections", function()
    local count = 0
    local function look(path)
      if path:find "%.npy$" then return end
      local text = blocks.read(path)
      for _, outside in ipairs { "LANGUAGE" .. ".md", "DESIGN" .. ".md", "STYLE" .. ".md",
        "shared" .. "/" } do
        assert.is_nil(text:find(outside, 1, true), path .. " cites " .. outside)
      end
      for page, rest in text:gmatch "(docs/[%w_-]+%.md)([^\n]*)" do
        local file = io.open(page)
        assert.is_not_nil(file, path .. ": " .. page)
        file:close()
        local section = rest:match "^,? sections? (%d+)"
        if section then
          local _, sections = headings(page)
          assert.is_true(sections[section] or false,
            ("%s: %s, section %s"):format(path, page, section))
          count = count + 1
        end
      end
    end
    for folder in ("src spec lua include bench examples .ci docs"):gmatch "%S+" do
      each_file(folder, look) end
    look "Makefile"
    look "README.md"
    assert.is_true(count > 20, count)
  end)

  it("define each term once", function()
    local seen, count = {}, 0
    for term in blocks.read("docs/terms.md"):gmatch "\n| ([^|]+) |" do
      if term ~= "term" and not term:find "^%-" then
        assert.is_nil(seen[term], term)
        seen[term], count = true, count + 1
      end
    end
    assert.is_true(count > 60, count)
  end)
end)
