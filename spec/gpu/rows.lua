-- Texts of kernels that compute what a device must have the CPU's bits of: every row of scalar.def
-- in every dtype, casts, halves, Philox and its numbers, folds and dot products in their orders,
-- CartPole. The same text is C for one thread on the host, which says what is right. A result is 64
-- bits; all NaNs are one.
local device = require "spec.gpu.device"
local ffi = device.ffi
local rows = { points = 131072, chunk = 16384 }

local CTYPE = { f32 = "float", f64 = "double", u8 = "uint8_t", i32 = "int32_t", i64 = "int64_t",
  bool = "uint8_t" }
local TYPES = { "f32", "f64", "u8", "i32", "i64", "bool" }
local HAS = { FLOAT = "f32 f64", NUMBER = "f32 f64 u8 i32 i64", ANY = "f32 f64 u8 i32 i64 bool",
  BOOL = "bool" }

local text, kernels = {}, {}
local function put(fmt, ...) text[#text + 1] = fmt:format(...) end
local function bits(t, e)
  if t == "f32" or t == "f64" then return ("result_%s(%s)"):format(t, e) end
  return ("(uint64_t)(int64_t)%s"):format(e)
end

put [[
TP_FN uint64_t result_f32(float x) { return x != x ? 0x7fc00000u : tp_bits_f32(x); }
TP_FN uint64_t result_f64(double x) { return x != x ? TP_U64(0x7ff8000000000000) : tp_bits_f64(x); }
#define POINTS for (int64_t i = (int64_t)BLOCK * THREADS + THREAD; i < n; i += (int64_t)BLOCKS * THREADS)]]

-- A kernel over points: list of { name, dtype of the result, expression }. The operands are of
-- dtype t.
local function over(name, t, list)
  local T = CTYPE[t] or t
  put("KERNEL_OF(64, %s)(GLOBAL const %s *px, GLOBAL const %s *py, GLOBAL uint64_t *o, int64_t n) {\n" ..
    "  POINTS {\n    const %s x = px[i], y = py[i];\n    const uint8_t w = (uint8_t)(i & 1);", name,
      T, T, T)
  local names = {}
  for k, r in ipairs(list) do
    put("    o[%d * n + i] = %s;", k - 1, bits(r[2], r[3]))
    names[k] = r[1]
  end
  put "    (void)y, (void)w;\n  }\n}"
  kernels[#kernels + 1] = { name = name, type = t, results = names }
end

local function scalar_rows()
  local by = {}
  for line in io.lines "src/kern/scalar.def" do
    local name, n, types, result = line:match "^S%((%u[%u%d]*), (%d), (%u+), (%u+),"
    if name then
      for t in HAS[types]:gmatch "%S+" do
        by[t] = by[t] or {}
        local args = n == "1" and "x" or n == "2" and "x, y" or "w, x, y"
        table.insert(by[t],
          { name, result == "BOOL" and "bool" or t, ("tp_%s_%s(%s)"):format(name, t, args) })
      end
    end
  end
  for _, t in ipairs(TYPES) do
    for _, to in ipairs(TYPES) do
      table.insert(by[t], { "cast to " .. to, to, ("tp_cast_%s_%s(x)"):format(t, to) })
    end
    if t == "f32" then
      for _, r in ipairs { { "store_f16", "i32" }, { "store_bf16", "i32" }, { "round_f16", "f32" },
        { "round_bf16", "f32" } } do
        table.insert(by[t], { r[1], r[2], ("tp_%s(x)"):format(r[1]) })
      end
    elseif t == "f64" then table.insert(by[t], { "sticky", "f32", "tp_sticky_f32(x)" }) end
    over("rows_" .. t, t, by[t])
  end
end
scalar_rows()
over("loads", "uint16_t",
  { { "load_f16", "f32", "tp_load_f16(x)" }, { "load_bf16", "f32", "tp_load_bf16(y)" } })
over("draws", "uint32_t",
  { { "uniform", "f32", "tp_uniform_of(x)" }, { "normal", "f64", "tp_normal_of(x, y)" } })
put [[
KERNEL_OF(64, philox)(GLOBAL const uint32_t *px, GLOBAL const uint32_t *py, GLOBAL uint64_t *o, int64_t n) {
  POINTS {
    uint32_t key[2];
    tp_word c[4];
    key[0] = px[i], key[1] = py[i];
    tp_philox_next(key, (int)(i & 3), (int64_t)px[i] << 7);
    tp_philox_words(c, key, i);
    for (int k = 0; k < 4; k++) o[k * n + i] = c[k] & 0xffffffffu;
    o[4 * n + i] = key[0], o[5 * n + i] = key[1];
  }
}]]
kernels[#kernels + 1] = { name = "philox", type = "uint32_t",
  results = { "word 0", "word 1", "word 2", "word 3", "key 0", "key 1" } }

-- Rows of i mod 3001 elements, folded and multiplied in the plan's orders.
for _, t in ipairs { "f32", "f64" } do
  local T = CTYPE[t]
  put("TP_FN %s folded_%s(GLOBAL const %s *x, int64_t n) {\n  %s sum = 0;\n  int64_t j = 0;", T, t,
    T, T)
  put("  for (; j + TP_FOLD_PART <= n; j += TP_FOLD_PART) {\n    TP_LANES_START(%s, part, odd, 0);",
    T)
  put("    for (int p = 0; p < TP_FOLD_PART; p += TP_FOLD_LANES)\n" ..
    "      for (int l = 0; l < TP_FOLD_LANES; l++) TP_LANE_ADD(%s, part[l], odd[l], x[j + p + l]);",
      T)
  put("    TP_LANES_JOIN(%s, ADD, sum, part, odd);\n  }\n  for (; j < n; j++) sum = TP_FOLD_ADD(sum, x[j]);\n  return sum;\n}", T)
  put("TP_FN %s most_%s(GLOBAL const %s *x, int64_t n) {\n  %s sum = -TP_INF_%s;\n  int64_t j = 0;",
    T, t, T, T, t:upper())
  put("  for (; j + TP_FOLD_PART <= n; j += TP_FOLD_PART) {\n    TP_LANES_START(%s, part, odd, sum);", T)
  put("    for (int p = 0; p < TP_FOLD_PART; p += TP_FOLD_LANES)\n" ..
    "      for (int l = 0; l < TP_FOLD_LANES; l++) TP_LANE_FMOST(%s, part[l], odd[l], x[j + p + l]);", T)
  put("    TP_LANES_JOIN(%s, FMOST, sum, part, odd);\n  }\n  for (; j < n; j++) sum = TP_FOLD_FMOST(sum, x[j]);\n  return sum;\n}", T)
  put("KERNEL_OF(64, folds_%s)(GLOBAL const %s *px, GLOBAL const %s *py, GLOBAL uint64_t *o, int64_t n) {", t, T, T)
  put("  POINTS {\n    const int64_t m = i * 37 %% 3001;")
  put("    o[i] = result_%s(folded_%s(px + i, m));\n    o[n + i] = result_%s(most_%s(px + i, m));",
    t, t, t, t)
  put("    for (int r = 1; r <= TP_DOT_ALONE; r += 3) o[(2 + r / 4) * n + i] = result_%s(tp_dot_%s(px + i, py + i, m, r));\n  }\n}", t, t)
  kernels[#kernels + 1] = { name = "folds_" .. t, type = t, few = 200,
    results = { "sum", "most", "dot", "dot alone" } }
end

for _, name in ipairs { "common", "cartpole" } do
  put("%s", device.file("kernels/env/" .. name .. ".h"))
end
put [[
KERNEL_OF(64, cartpole)(GLOBAL const uint32_t *px, GLOBAL const uint32_t *py, GLOBAL uint64_t *o, int64_t n) {
  POINTS {
    double s[4], next[4], u[4];
    float obs[4], reward;
    uint8_t over, late;
    int64_t count = 0;
    for (int k = 0; k < 4; k++) u[k] = (double)tp_uniform_of(px[i] * (uint32_t)(k + 7) + py[i]);
    cartpole_reset(0, u, s);
    for (int t = 0; t < 200; t++) {
      const int64_t action = px[i] >> (t & 31) & 1;
      cartpole_step(0, s, &action, u, next, &reward, &over, &late);
      if (over) cartpole_reset(0, u, next);
      for (int k = 0; k < 4; k++) s[k] = next[k];
      count += over;
    }
    cartpole_observe(0, s, obs);
    for (int k = 0; k < 4; k++) o[k * n + i] = result_f64(s[k]);
    for (int k = 0; k < 4; k++) o[(4 + k) * n + i] = result_f32(obs[k]);
    o[8 * n + i] = (uint64_t)count;
  }
}]]
kernels[#kernels + 1] = { name = "cartpole", type = "uint32_t", few = 200,
  results = { "x", "v", "theta", "omega", "obs 0", "obs 1", "obs 2", "obs 3", "episodes" } }
rows.text, rows.kernels = table.concat(text, "\n") .. "\n", kernels

-- ---- the host ----
local POINTS = [[
static uint64_t next(uint64_t *s) { *s = *s * 6364136223846793005ull + 1442695040888963407ull; return *s ^ *s >> 29; }
/* Points `from` .. of an operand: all exponents with some mantissas, then any bits; integers of every size. */
void points(const char *type, void *to, int64_t from, int64_t n, int which) {
  uint64_t s = (uint64_t)from * 2 + (uint64_t)which + 1;
  for (int64_t i = 0; i < n; i++) {
    uint64_t r = next(&s), k = (uint64_t)(from + i), small = r >> 40 & 63;
    uint32_t u = which ? (uint32_t)(r >> 17) : k < 65536 ? (uint32_t)k << 16 | (uint32_t)(r >> 60) : (uint32_t)(r >> 20);
    uint64_t d = which ? r * 2654435769u : k < 65536 ? k << 48 | r >> 58 : r << 7 ^ r >> 11;
    if (which && small < 16) u = (uint32_t)(r >> 33) >> (2 + small), d = d >> 12 >> small | (uint64_t)(1023 + small % 5) << 52;
    if (which && small == 17) u = 0x3f800000u, d = (uint64_t)1023 << 52;
    if (!strcmp(type, "f32")) ((uint32_t *)to)[i] = u;
    else if (!strcmp(type, "f64")) ((uint64_t *)to)[i] = d;
    else if (!strcmp(type, "bool")) ((uint8_t *)to)[i] = r >> 40 & 1;
    else if (!strcmp(type, "u8")) ((uint8_t *)to)[i] = (uint8_t)(r >> 33);
    else if (!strcmp(type, "uint16_t")) ((uint16_t *)to)[i] = which ? (uint16_t)(r >> 30) : (uint16_t)k;
    else if (!strcmp(type, "i64")) ((int64_t *)to)[i] = small < 2 ? (int64_t)(small - 1) : (int64_t)(r << 5) >> small;
    else ((int32_t *)to)[i] = small < 2 ? (int32_t)(small - 1) : (int32_t)(r >> 21) >> small % 32;
  }
}
/* The first of n that differ, or -1. */
int64_t differ(const uint64_t *a, const uint64_t *b, int64_t n) {
  for (int64_t i = 0; i < n; i++) if (a[i] != b[i]) return i;
  return -1;
}
]]

function rows.host()
  local stem = os.tmpname()
  local f = assert(io.open(stem .. ".c", "w"))
  f:write "#include <stdint.h>\n#include <math.h>\n#include <string.h>\n#define TP_FN static inline\n#define TP_FMA 1\n"
  f:write "#define GLOBAL\n#define THREAD 0\n#define THREADS 1\n#define BLOCK 0\n#define BLOCKS 1\n"
  f:write "#define KERNEL_OF(n, name) void name\n"
  for name in ("math half philox scalar fold dot"):gmatch "%S+" do
    f:write(device.file("kernels/prelude/" .. name .. ".h"))
  end
  f:write "#define sin tp_sin_f64\n#define cos tp_cos_f64\n"
  f:write(rows.text, POINTS)
  f:close()
  local cc = os.getenv "CC" or "cc"
  local ok = os.execute(
    ("%s -std=gnu11 -O1 -w -march=native -ffp-contract=off -fno-math-errno -fwrapv -fno-strict-aliasing "
    .. "-fPIC -shared -Isrc -o %s.so %s.c -lm"):format(cc, stem, stem))
  assert(ok == 0 or ok == true)
  local lib = ffi.load(stem .. ".so")
  for _, end_ in ipairs { "", ".c", ".so" } do os.remove(stem .. end_) end
  ffi.cdef "void points(const char *, void *, int64_t, int64_t, int); int64_t differ(const uint64_t *, const uint64_t *, int64_t);"
  for _, k in ipairs(kernels) do
    ffi.cdef(("void %s(const void *, const void *, uint64_t *, int64_t);"):format(k.name))
  end
  return lib
end

--- Asks run(kernel, x, y, bytes of each, out, n) for the results and compares all with the host's.
function rows.compare(host, kernel, run)
  local many, n = rows.points, rows.chunk
  if kernel.few then many, n = kernel.few, kernel.few end
  local bytes = (kernel.few and n + 4096 or n) * 8
  local x, y = ffi.new("uint8_t[?]", bytes), ffi.new("uint8_t[?]", bytes)
  local want, got = ffi.new("uint64_t[?]", n * #kernel.results),
    ffi.new("uint64_t[?]", n * #kernel.results)
  for from = 0, many - 1, n do
    host.points(kernel.type, x, from, bytes / 8, 0)
    host.points(kernel.type, y, from, bytes / 8, 1)
    if kernel.few then                                -- numbers that can be added: between 1 and 2
      local wide = kernel.type == "f64"
      local px, py = ffi.cast("uint32_t *", x), ffi.cast("uint32_t *", y)
      for i = 0, (kernel.type:find "^f" and bytes / 8 or 0) - 1 do
        for _, p in ipairs { px, py } do
          if wide then p[2 * i + 1] = p[2 * i + 1] % 2 ^ 20 + 0x3ff00000 else p[i] =
            p[i] % 2 ^ 23 + 0x3f800000 end
        end
      end
    end
    host[kernel.name](x, y, want, n)
    run(kernel, x, y, bytes, got, n)
    for k, name in ipairs(kernel.results) do
      local at = tonumber(host.differ(want + (k - 1) * n, got + (k - 1) * n, n))
      if at >= 0 then
        error(("%s, %s, point %d: %s, not %s"):format(kernel.name, name, from + at,
          tostring(got[(k - 1) * n + at]), tostring(want[(k - 1) * n + at])), 2)
      end
    end
  end
end

return rows
