-- The words that stand at the head of each page and section of the reference.
return {
  note = "<!-- Written by `make docs`; change the sources named in .ci/docs.lua instead. -->\n\n",

  index = [[
# Reference

[The API](api.md) · [operators](operators.md) · [libraries](libraries.md) · [settings, errors, dtypes, C](settings.md) · [random numbers](../random.md) ·
[the language](../language.md) · [the tutorial](../tutorial.md)

For editors: `lua/tempo/meta/tempo.lua` and the libraries have LuaCATS annotations. With lua-language-server put the
folder `lua` (of this tree, or where LuaRocks installed `tempo/meta`) into `Lua.workspace.library`.

| where | names |
| --- | --- |
]],

  operators = [[
# Operators

Methods of tensors, and functions on `tempo`: `x:exp()` is `tempo.exp(x)`. Those that the tables write `tempo.name` are
functions only; `max` and `min` are methods only, for `tempo.max` is one of indices ([the module](api.md#the-module)).
Arguments, results and defaults are those of PyTorch's function of the same name, with `axis` for dim.

Arguments in brackets may be left out, or given by name in a table that stands last, as those in braces are:
`x:sum(0, { keepdim = true })`, `x:sum { axis = 0 }`. An argument that is missing, unknown or of the wrong kind is the
error `option`. A result has the dims of all its operands.

- **shape.** *as x*: x's. *as given*: the one in the call. *broadcast*: operands align at the last axis; only a literal 1
  or a missing axis grows, other extents must be equal. *reduced*: without the axes, or with extent 1 there (`keepdim`).
- **dtype.** *as x*: x's. *promoted*: bool < u8 < i32 < i64 < f16, bf16 < f32 < f64 (f16 with bf16: f32), arithmetic
  treating bool as i64; numbers and index expressions take the other operand's dtype (a fraction with an integer tensor:
  f32). *float*: as x or promoted, f32 for integers. *sums*: as x, i64 for bool, u8 and i32. f16 and bf16 compute in f32
  and round to nearest even, once per operator.
- **gradient.** *yes*: differentiable, any number of times. *0*: no gradient goes through it.
- **ulp.** How far a float may be from the exact value, in units in the last place (of the largest term, for sums).
  Integers are exact.

Behind `-->` stands what a line prints; each example is a program of its own.
]],

  api = [[
# The API

Temporal indices, spatial indices and axes count from 0, ranges are half open. Arguments in brackets may be left out;
those in braces are a table of options by name. Behind `-->` stands what a line prints; each example is a program of its
own. Every error starts with the script's `file.lua:line:`, has its class's word ([errors](settings.md#errors)) and says
the cure. Entries name only errors of their own; anywhere these are raised:

| error | cure |
| --- | --- |
| `option`: an argument of the wrong kind, an unknown or taken name, a use out of order or after `free` | the message has the nearest name, or what to call first |
| `shape`, `dtype`: what is not as declared, or as an operand asks | `reshape`, `expand`; `to` |
| `domain`: a dim that the tensor lacks, a point outside | clip it, or give it a branch |
| `input`, `bound`: what a call lacks, or has and is not asked for; an index beyond an array | give all by name |
| `file`: one that is not there, broken or cannot be written | files that were there stay whole |

Types are written without `tempo.`; these stand for several:

| type | is | |
| --- | --- | --- |
]],

  libraries = [[
# Libraries

Lua modules under `lua/tempo`, each a field of `tempo` that loads on first use (`tempo.cli` by `require`). Types and
examples are written as in [the API](api.md).
]],

  settings = [[
# Settings, errors, dtypes, C

## Environment

Read when a program is compiled or run; they win over the script.

| variable | |
| --- | --- |
]],

  passes = [[

## Passes

In the order they run; `TEMPO_DUMP=name` prints the graph after one. Switches are on unless
`P:compile { passes = { name = false } }` turns them off.

| pass | switch | does |
| --- | --- | --- |
]],

  rules = [[

## Rules

The pass `fold` applies these rewrites; `f:explain "rules"` tells which did something where, and
`P:compile { passes = { name = false } }` turns one off. A number stands for a tensor full of it, `#a` for any such;
`x:i` for integers, `x:f` for floats, `x:b` for bools; `(!f x)` for what a function makes. `precise = true` leaves out
the rules by which floats may differ.

| rule | of | becomes | floats may differ by |
| --- | --- | --- | --- |
]],

  errors = [[

## Errors

Every error contains its class's word; of several the first of this list is reported. After any error the process and every other object stay usable.

| word | means |
| --- | --- |
]],

  dtypes = [[

## Dtypes

In the order of promotion; f16 with bf16 gives f32.

| dtype | bytes | C |
| --- | --- | --- |
]],

  c = [[

## The C interface

`include/tempo.h` declares it and says of each function what it takes, gives and owns: failure, ownership, units and
threads at its head, then arrays, environments of the host's, programs, functions, callbacks, parameters, runs, steps,
states, explain and profile. Link with `-ltempo`. [Programs in C](../c.md) shows it. LuaJIT's `ffi.cdef` takes
`build/tempo.cdef`, which the build makes from the header.
]],
}
