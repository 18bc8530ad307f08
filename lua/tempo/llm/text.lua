--- tempo.llm.text: a generated text as it grows: what may be shown, and where it stops.
local text = {}

local Writer = {}
Writer.__index = Writer

--- A writer of ids as text, up to the first of the strings in `stop`.
function text.writer(tokenizer, stop)
  return setmetatable({ tokenizer = tokenizer, stop = stop, all = "", shown = 0, ends = {} },
    Writer)
end

-- How many bytes at the end of s begin a character of UTF-8 that is not whole.
local function unfinished(s)
  for back = 1, math.min(3, #s) do
    local byte = s:byte(-back)
    if byte >= 0xC0 then
      local needs = byte >= 0xF0 and 4 or byte >= 0xE0 and 3 or 2
      return needs > back and back or 0
    elseif byte < 0x80 then
      return 0
    end
  end
  return 0
end

-- How many bytes at the end of s may be the beginning of a stop string.
local function pending(s, stop)
  local most = 0
  for _, word in ipairs(stop) do
    for n = math.min(#word - 1, #s), most + 1, -1 do
      if s:sub(-n) == word:sub(1, n) then
        most = n
        break
      end
    end
  end
  return most
end

-- Finds where the earliest stop string begins, if one lies behind byte `from`.
local function stopped(self, from)
  local first
  for _, word in ipairs(self.stop) do
    local at = self.all:find(word, math.max(1, from - #word + 2), true)
    if at and (not first or at < first) then first = at end
  end
  return first
end

--- Adds a token. Returns the text that can be shown now, and whether a stop string is complete.
function Writer:write(id)
  local from = #self.all
  self.all = self.all .. self.tokenizer:piece(id)
  self.ends[#self.ends + 1] = #self.all
  local at = stopped(self, from)
  if at then self.all = self.all:sub(1, at - 1) end
  if at then return self:show(at - 1), true end
  return self:show(#self.all - math.max(unfinished(self.all), pending(self.all, self.stop))), false
end

--- Returns the text before byte `upto` that was not shown.
function Writer:show(upto)
  local s = self.all:sub(self.shown + 1, upto)
  self.shown = math.max(self.shown, upto)
  return s
end

--- Returns what was held back: nothing more comes.
function Writer:rest() return self:show(#self.all) end

--- How many tokens the text has that begin before its end.
function Writer:tokens()
  local n = 0
  for k = 1, #self.ends do
    if (self.ends[k - 1] or 0) < #self.all then n = k end
  end
  return n
end

--- The whole text.
function Writer:finish() return self.all end

return text
