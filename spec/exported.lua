-- Makes programs of what f:export writes: a main around it that reads inputs from files and writes
-- outputs to files.
local tempo = require "tempo"
local helper = require "spec.helper"
local exported = {}

function exported.shell(cmd)
  local p = assert(io.popen(cmd .. " 2>&1; echo rc=$?"))
  local s = p:read "*a"
  p:close()
  return s:match "rc=0\n$" and s:gsub("rc=0\n$", "") or error(cmd .. "\n" .. s, 0)
end

local function write(path, s)
  local f = assert(io.open(path, "wb"))
  f:write(s)
  f:close()
end

--- Bytes of an array, as its file has them behind the head.
function exported.bytes(folder, a, dtype)
  if type(a) ~= "userdata" then a = tempo.array(a, dtype or "f32") end
  local path = folder .. "/a.npy"
  a:save(path)
  local s = helper.read(path)
  return s:sub(11 + s:byte(9) + 256 * s:byte(10))
end

-- A main that reads each input from NAME.in and writes each output to NAME.out.
local MAIN = [[
#include <stdio.h>
#include <stdlib.h>
#include "%s.h"
static %s a;
static void get(const char *name, void *p, size_t n) {
  FILE *f = fopen(name, "rb");
  if (!f || fread(p, 1, n, f) != n) exit(2);
  fclose(f);
}
static void put(const char *name, const void *p, size_t n) { FILE *f = fopen(name, "wb"); if (!f || fwrite(p, 1, n, f) != n) exit(3); fclose(f); }
%s
 int main(void) {
  static unsigned char w[%s_WEIGHTS];
  get("%s.weights", w, sizeof w);
  %s_init(&a);
  if (!%s_load(&a, w, sizeof w) || %s_load(&a, w, sizeof w - 1)) return 4;
%s
  if (a.error) { printf("%%s: %%s\n", a.where, a.error); return 0; }
  %s_save(&a, w);
  put("weights.out", w, sizeof w);
  return 0;
}
]]

-- The members of a struct of the header: { name, type, elements }.
local function members(header, what)
  local list = {}
  local body = header:match("typedef struct agent_" .. what .. " {(.-)}") or ""
  for kind, name, dtype, shape in body:gmatch "([%w_]+) %*([%w_]+);%s+/%* (%w+) (%S*) %*/" do
    local n = 1
    for k in shape:gmatch "%d+" do n = n * tonumber(k) end
    list[#list + 1] = { name = name, type = kind, n = n, dtype = dtype }
  end
  return list
end

local function main_of(header, body, extra)
  local name = "agent"
  return MAIN:format(name, name, extra or "", "AGENT", name, name, name, name, body, name)
end

local function arrays(list, var, fill)
  local text, names = {}, {}
  for _, m in ipairs(list) do
    local id = var .. "_" .. m.name
    text[#text + 1] = ("  static %s %s[%d];"):format(m.type, id, math.max(m.n, 1))
    if fill then
      text[#text + 1] = ('  get("%s.in", %s, %d * sizeof *%s);'):format(m.name, id, m.n, id)
    end
    names[#names + 1] = id
  end
  return table.concat(text, "\n"), #names > 0 and table.concat(names, ", ") or "0"
end

local function puts(list, var)
  local text = {}
  for _, m in ipairs(list) do
    text[#text + 1] = ('  put("%s.out", %s_%s, %d * sizeof *%s_%s);'):format(m.name, var, m.name,
      m.n, var, m.name)
  end
  return table.concat(text, "\n")
end

--- Exports f into the folder (nil: it is there), compiles it each of the ways and runs it.
--- opts: body (of main, made of the header), extra (before main), before (the run).
--- after(read, printed, i): read gives the bytes of an output, printed what it said, i the way.
function exported.run(folder, f, inputs, bounds, ways, opts, after)
  if f then f:export(folder .. "/agent", bounds) end
  local header = helper.read(folder .. "/agent.h")
  local ins, outs = members(header, "inputs"), members(header, "outputs")
  for _, m in ipairs(ins) do
    write(folder .. "/" .. m.name .. ".in", exported.bytes(folder, inputs[m.name], m.dtype))
  end
  local body
  if opts.body then body = opts.body(header)
  else
    local it, inames = arrays(ins, "in", true)
    local ot, onames = arrays(outs, "out")
    body = ("%s\n%s\n  agent_inputs in = { %s };\n  agent_outputs out = { %s };\n  %sagent_run(&a, &in, &out);\n%s"):format(it, ot,
      inames, onames, opts.before or "", puts(outs, "out"))
  end
  write(folder .. "/go.c", main_of(header, body, opts.extra))
  for i, cc in ipairs(ways) do
    local printed =
      exported.shell(
      ("cd %s && rm -f *.out && %s -o go%d go.c agent.c -lm && ./go%d"):format(folder, cc, i, i))
    after(function(name) return helper.read(folder .. "/" .. name .. ".out") end, printed, i)
  end
end

exported.write = write
return exported
