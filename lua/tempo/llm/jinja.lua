--- tempo.llm.jinja: chat templates, which are programs in Jinja: text => a function of variables =>
--- text. Here is as much of Jinja as templates of chats need, with the blanks as transformers cuts
--- them (trim_blocks, lstrip_blocks); all else is an error of class `file`, never skipped.
---
--- A template becomes closures: an expression a function of the variables, a statement one of
--- variables and output. Files are not trusted: steps, depth and length of texts have limits.
local util = require "tempo.util"
local values = require "tempo.llm.jinja.values"

local unpack = table.unpack or unpack                   -- luacheck: globals unpack
local null, refuse, list, text, truth = values.null, values.refuse, values.list, values.text,
  values.truth
local jinja = {}
local STEPS, DEPTH, LENGTH = 1e6, 100, values.most
-- ---- reading expressions -----------------------------------------------------------------------

local escapes = { n = "\n", t = "\t", r = "\r" }
local Reader = {}
Reader.__index = Reader

-- Moves on to the next token: self.kind is "name", "number", "string", an operator or "end".
function Reader:next()
  local s, at = self.source, self.source:find("%S", self.at) or #self.source + 1
  local quote = s:match("^['\"]", at)
  local function take(kind, value, stop) self.kind, self.value, self.at = kind, value, stop end
  if quote then
    local from, out = at + 1, {}
    while true do
      local stop = s:find("[" .. quote .. "\\]", from) or refuse("a string that does not end")
      out[#out + 1] = s:sub(from, stop - 1)
      if s:sub(stop, stop) == quote then return take("string", table.concat(out), stop + 1) end
      local c = s:sub(stop + 1, stop + 1)
      out[#out + 1], from = escapes[c] or c:find "[\\'\"]" and c or "\\" .. c, stop + 2
    end
  end
  local word = s:match("^[%a_][%w_]*", at)
  if word then return take("name", word, at + #word) end
  local number = s:match("^%d+%.?%d*", at)
  if number then return take("number", tonumber(number), at + #number) end
  local close = self.depth == 0 and s:match("^[-+]?[%%}]}", at)
  if close then return take("end", close:sub(1, -3), at + #close) end
  local two = s:sub(at, at + 1)
  local op = ("== != <= >= //"):find(two, 1, true) and #two == 2 and not two:find " " and two
    or s:sub(at, at)
  if op == "" then refuse("a tag that does not end") end
  if op:find "[%[({]" then self.depth = self.depth + 1 end
  if op:find "[%])}]" then self.depth = self.depth - 1 end
  return take(op, op, at + #op)
end

-- Takes the token if it is this one.
function Reader:accept(what)
  if self.kind ~= what and not (self.kind == "name" and self.value == what) then return false end
  self:next()
  return true
end

function Reader:expect(what)
  if not self:accept(what) then refuse("'%s' where '%s' should be", text(self.value), what) end
end

function Reader:name()
  local name = self.value
  if self.kind ~= "name" then refuse("'%s' where a name should be", text(name)) end
  self:next()
  return name
end

-- The arguments of a call, up to ")": a function that gives values by place and by name.
function Reader:arguments()
  local by_place, by_name = {}, {}
  while not self:accept ")" do
    local at, kind, value, depth = self.at, self.kind, self.value, self.depth
    if kind == "name" then self:next() end
    if kind == "name" and self:accept "=" then
      by_name[value] = self:expression()
    else
      self.at, self.kind, self.value, self.depth = at, kind, value, depth
      by_place[#by_place + 1] = self:expression()
    end
    if self.kind ~= ")" then self:expect "," end
  end
  return function(env)
    local args = { n = #by_place }
    for k, f in ipairs(by_place) do args[k] = f(env) end
    for name, f in pairs(by_name) do args[name] = f(env) end
    return args
  end
end

local constants = { ["true"] = true, True = true, ["false"] = false, False = false, none = null,
  None = null }

-- The elements of a literal, up to `close`, as closures; of a mapping with keys.
function Reader:elements(close, keyed)
  local out = {}
  while not self:accept(close) do
    local key = keyed and self:expression()
    if keyed then self:expect ":" end
    out[#out + 1] = { self:expression(), key }
    if self.kind ~= close then self:expect "," end
  end
  return function(env)
    local t = keyed and {} or list {}
    for k, e in ipairs(out) do t[keyed and e[2](env) or k] = e[1](env) end
    return t
  end
end

function Reader:primary()
  local kind, value = self.kind, self.value
  self:next()
  if kind == "string" then
    while self.kind == "string" do value = value .. self.value self:next() end
  end
  if kind == "string" or kind == "number" then return function() return value end end
  if kind == "(" then
    local inner = self:expression()
    self:expect ")"
    return inner
  end
  if kind == "[" then return self:elements("]", false) end
  if kind == "{" then return self:elements("}", true) end
  if kind ~= "name" then refuse("'%s' where a value should be", text(value)) end
  local constant = constants[value]
  if constant ~= nil then return function() return constant end end
  return function(env) return env[value] end
end

-- Reads up to "]": an index, or a slice.
function Reader:subscript(of)
  local part, n = {}, 1
  while not self:accept "]" do
    if self:accept ":" then n = n + 1 else part[n] = self:expression() end
  end
  if n == 1 then return function(env) return values.index(of(env), part[1](env)) end end
  return function(env)
    return values.slice(of(env), part[1] and part[1](env), part[2] and part[2](env),
      part[3] and part[3](env))
  end
end

-- A filter or a test with its arguments, called when it is met.
local function applied(known, what, name, of, args)
  return function(env)
    local f = known[name] or refuse("the %s '%s' is not known", what, name)
    local a = args and args(env) or {}
    return f(of(env), unpack(a, 1, a.n))
  end
end

-- Tokens that begin the argument of a test without parentheses; names that do not.
local argument = { string = true, number = true, ["["] = true, ["{"] = true }
local follows = { ["and"] = true, ["or"] = true, ["if"] = true, ["else"] = true, is = true }

function Reader:test(of)
  local negated = self:accept "not"
  local name, args = self:name(), nil
  if self:accept "(" then
    args = self:arguments()
  elseif argument[self.kind] or (self.kind == "name" and not follows[self.value]) then
    local x = self:primary()
    args = function(env) return { n = 1, x(env) } end
  end
  local f = applied(values.tests, "test", name, of, args)
  return negated and function(env) return not f(env) end or f
end

function Reader:postfix()
  local e = self:primary()
  while true do
    local of = e
    if self:accept "." then
      local key = self:name()
      e = function(env) return values.index(of(env), key) end
    elseif self:accept "[" then
      e = self:subscript(of)
    elseif self:accept "(" then
      local args = self:arguments()
      e = function(env)
        local f = of(env)
        if type(f) ~= "function" then refuse("a call of what is no function") end
        return f(args(env))
      end
    elseif self:accept "|" then
      local name = self:name()
      e = applied(values.filters, "filter", name, of, self:accept "(" and self:arguments() or nil)
    elseif self:accept "is" then
      e = self:test(of)
    else
      return e
    end
  end
end

local function numbers(op, a, b)
  if type(a) ~= "number" or type(b) ~= "number" then refuse("'%s' of what is no number", op) end
end

local function arithmetic(op, f)
  return function(a, b)
    numbers(op, a, b)
    return f(a, b)
  end
end

local function add(a, b)
  if type(a) == "string" and type(b) == "string" then return values.whole(a .. b) end
  if values.is_list(a) and values.is_list(b) then
    local out = values.slice(a)
    for _, v in ipairs(b) do out[#out + 1] = v end
    return out
  end
  numbers("+", a, b)
  return a + b
end

local function ordered(op, f)
  return function(a, b)
    if type(a) ~= "string" or type(b) ~= "string" then numbers(op, a, b) end
    return f(a, b)
  end
end

-- Operators of two sides, from those that bind least.
local levels = {
  { ["=="] = function(a, b) return a == b end, ["!="] = function(a, b) return a ~= b end,
    ["<"] = ordered("<", function(a, b) return a < b end),
    [">"] = ordered(">", function(a, b) return a > b end),
    ["<="] = ordered("<=", function(a, b) return a <= b end),
    [">="] = ordered(">=", function(a, b) return a >= b end),
    ["in"] = function(a, b) return values.contains(b, a) end,
    ["not"] = function(a, b) return not values.contains(b, a) end },
  { ["+"] = add, ["-"] = arithmetic("-", function(a, b) return a - b end) },
  { ["~"] = function(a, b) return values.whole(text(a) .. text(b)) end },
  { ["*"] = arithmetic("*", function(a, b) return a * b end),
    ["/"] = arithmetic("/", function(a, b) return a / b end),
    ["//"] = arithmetic("//", function(a, b) return math.floor(a / b) end),
    ["%"] = arithmetic("%", function(a, b) return a % b end) },
}

function Reader:binary(level)
  if level > #levels then
    if not self:accept "-" then return self:postfix() end
    local e = self:postfix()
    return function(env) return -e(env) end
  end
  local left = self:binary(level + 1)
  while true do
    local op = levels[level][self.value]
    if not op or self.kind == "string" or self.kind == "end" then return left end
    if self:accept "not" then self:expect "in" else self:next() end
    local a, b = left, self:binary(level + 1)
    left = function(env) return op(a(env), b(env)) end
  end
end

function Reader:negation()
  if not self:accept "not" then return self:binary(1) end
  local e = self:negation()
  return function(env) return not truth(e(env)) end
end

function Reader:logic()
  local function both()
    local left = self:negation()
    while self:accept "and" do
      local a, b = left, self:negation()
      left = function(env)
        local v = a(env)
        if truth(v) then return b(env) end
        return v
      end
    end
    return left
  end
  local left = both()
  while self:accept "or" do
    local a, b = left, both()
    left = function(env)
      local v = a(env)
      if truth(v) then return v end
      return b(env)
    end
  end
  return left
end

function Reader:expression()
  self.nested = self.nested + 1
  if self.nested > DEPTH then refuse("it is nested more than %d deep", DEPTH) end
  local value = self:logic()
  while self:accept "if" do
    local yes, condition = value, self:logic()
    local no = self:accept "else" and self:expression() or function() end
    value = function(env)
      if truth(condition(env)) then return yes(env) end
      return no(env)
    end
  end
  self.nested = self.nested - 1
  return value
end

-- ---- reading statements ------------------------------------------------------------------------

-- The text up to the next tag, as its own and the last tag's signs say; begins the tag.
function Reader:plain()
  local s, from = self.source, self.at
  local at = s:find("{[{%%#]", from)
  local out, fresh = s:sub(from, (at or 0) - 1), self.fresh
  local sign, kind = self.sign, at and s:sub(at + 1, at + 1)
  if sign == "-" then
    out = out:gsub("^%s+", "")
  elseif self.block and sign ~= "+" and out:sub(1, 1) == "\n" then
    out, fresh = out:sub(2), true
  end
  if at then
    local own = s:match("^[-+]", at + 2)
    self.at = at + 2 + (own and 1 or 0)
    if own == "-" then
      out = values.strip(out, nil, false, true)
    elseif own ~= "+" and kind ~= "{" then
      local blank = out:match "\n[ \t]*$" or fresh and out:match "^[ \t]*$"
      if blank then out = out:sub(1, #out - #blank:match "[ \t]*$") end
    end
  end
  return out, kind
end

-- Ends a tag: its sign, and whether it is a block, say how the text after it begins.
function Reader:close(block)
  if self.kind ~= "end" then refuse("'%s' where a tag should end", text(self.value)) end
  self.sign, self.block, self.fresh = self.value, block, false
end

local function tick(out)
  out.steps[1] = out.steps[1] + 1
  if out.steps[1] > STEPS then refuse("it takes more than %d steps", STEPS) end
end

local function run(body, env, out)
  for _, node in ipairs(body) do
    tick(out)
    local signal = node(env, out)
    if signal then return signal end
  end
end

local function show(out, s)
  out.bytes = out.bytes + #s
  if out.bytes > LENGTH then refuse("a text of more than %d bytes", LENGTH) end
  out[#out + 1] = s
end

local statements = {}

-- Statements up to one of `ends` (a set); returns them and which it was, whose tag is open.
function Reader:body(ends)
  local out = {}
  self.nested = self.nested + 1
  if self.nested > DEPTH then refuse("it is nested more than %d deep", DEPTH) end
  while true do
    local plain, kind = self:plain()
    if plain ~= "" then out[#out + 1] = function(_, to) show(to, plain) end end
    if not kind then
      if ends then refuse("a block that does not end") end
      return out
    elseif kind == "#" then
      local _, stop = self.source:find("#}", self.at, true)
      if not stop then refuse("a comment that does not end") end
      self.sign = self.source:sub(stop - 2, stop - 2):match "[-+]" or ""
      self.at, self.block, self.fresh = stop + 1, true, false
    else
      self:next()
      if kind == "{" then
        local e = self:expression()
        self:close(false)
        out[#out + 1] = function(env, to) show(to, text(e(env))) end
      else
        local word = self:name()
        if ends and ends[word] then
          self.nested = self.nested - 1
          return out, word
        end
        local statement = statements[word] or refuse("the statement '%s' is not known", word)
        out[#out + 1] = statement(self)
      end
    end
  end
end

statements["if"] = function(r)
  local arms, word = {}, "elif"
  while word ~= "endif" do
    local condition = word == "elif" and r:expression() or function() return true end
    r:close(true)
    local body
    body, word = r:body { ["elif"] = true, ["else"] = true, endif = true }
    arms[#arms + 1] = { condition, body }
  end
  r:close(true)
  return function(env, out)
    for _, arm in ipairs(arms) do
      if truth(arm[1](env)) then return run(arm[2], env, out) end
    end
  end
end

-- The variables of one turn of a loop.
local function turn(env, names, all, k)
  local own = setmetatable({ loop = { index = k, index0 = k - 1, first = k == 1, last = k == #all,
    length = #all, revindex = #all - k + 1, revindex0 = #all - k, previtem = all[k - 1],
    nextitem = all[k + 1] } }, { __index = env })
  for j, name in ipairs(names) do
    if #names == 1 then own[name] = all[k] else own[name] = values.index(all[k], j - 1) end
  end
  return own
end

statements["for"] = function(r)
  local names, otherwise = {}, {}
  repeat names[#names + 1] = r:name() until not r:accept ","
  r:expect "in"
  local over = r:logic()
  local condition = r:accept "if" and r:logic()
  r:close(true)
  local body, word = r:body { ["else"] = true, endfor = true }
  if word == "else" then
    r:close(true)
    otherwise = r:body { endfor = true }
  end
  r:close(true)
  return function(env, out)
    local all = values.items_of(over(env))
    if condition then
      local kept = list {}
      for k, v in ipairs(all) do
        tick(out)
        if truth(condition(turn(env, names, all, k))) then kept[#kept + 1] = v end
      end
      all = kept
    end
    if #all == 0 then return run(otherwise, env, out) end
    for k = 1, #all do
      tick(out)
      if run(body, turn(env, names, all, k), out) == "break" then return end
    end
  end
end

statements.set = function(r)
  local name = r:name()
  local field = r:accept "." and r:name()
  local e = r:accept "=" and r:expression()
  if not e then
    r:close(true)
    local body = r:body { endset = true }
    e = function(env, to)
      local out = { steps = to.steps, bytes = 0 }
      run(body, env, out)
      return table.concat(out)
    end
  end
  r:close(true)
  return function(env, out)
    if not field then
      env[name] = e(env, out)
    elseif values.is_map(env[name]) then
      env[name][field] = e(env, out)
    else
      refuse("'%s' is no namespace", name)
    end
  end
end

function statements.macro(r)
  local name, names, defaults = r:name(), {}, {}
  r:expect "("
  while not r:accept ")" do
    names[#names + 1] = r:name()
    if r:accept "=" then defaults[#names] = r:expression() end
    if r.kind ~= ")" then r:expect "," end
  end
  r:close(true)
  local body = r:body { endmacro = true }
  r:close(true)
  return function(env, out)
    env[name] = function(args)
      local own, to = setmetatable({}, { __index = env }), { steps = out.steps, bytes = 0 }
      for k, parameter in ipairs(names) do
        local v = args[k] == nil and args[parameter] or args[k]
        if v == nil and defaults[k] then v = defaults[k](env) end
        own[parameter] = v
      end
      run(body, own, to)
      return table.concat(to)
    end
  end
end

function statements.generation(r)
  r:close(true)
  local body = r:body { endgeneration = true }
  r:close(true)
  return function(env, out) return run(body, env, out) end
end

for _, word in ipairs { "break", "continue" } do
  statements[word] = function(r)
    r:close(true)
    return function() return word end
  end
end

-- ---- templates ---------------------------------------------------------------------------------

local globals = {
  raise_exception = function(args) util.fail("option", "chat: %s", text(args[1])) end,
  strftime_now = function(args) return os.date(text(args[1])) end,
  namespace = function(args)
    args.n = nil
    return args
  end,
  range = function(args)
    local from, to, step = args[2] and args[1] or 0, args[2] or args[1], args[3] or 1
    numbers("range", from, to)
    if step == 0 or (to - from) / step > 1e5 then refuse("a range of more than 100000") end
    local out = list {}
    for k = from, to - (step > 0 and 1 or -1), step do out[#out + 1] = k end
    return out
  end,
}

--- Reads a template. Returns a function of variables (Lua's tables, which are mappings, and
--- sequences made by jinja.list) that gives the text.
---@param source string
---@return fun(variables: table): string
function jinja.compile(source)
  local r = setmetatable({ source = source:gsub("\r\n?", "\n"):gsub("\n$", ""), at = 1, depth = 0,
    nested = 0, fresh = true, sign = "", block = false }, Reader)
  local body = r:body()
  return function(variables)
    local env, out = setmetatable({}, { __index = globals }), { steps = { 0 }, bytes = 0 }
    for name, v in pairs(variables) do env[name] = v end
    run(body, env, out)
    return table.concat(out)
  end
end

jinja.list = list

return jinja
