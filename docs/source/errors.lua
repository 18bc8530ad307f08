-- Words for the rows of errs.def, which have none of their own.
return {
  callback = "a Lua function of `P:call`, `P:source` or `P:sink` gave what its spec does not say, or was used after its time",
  input = "what a call was given, or met while running: missing and unknown inputs, indices out of range, integers divided by 0",
  bound = "bounds at a call: missing, unknown, not needed, no integer, negative",
  option = "an argument or option of the wrong kind or name, and Lua's traps",
  dtype = "a dtype that an operator does not take, or that differs from a declaration",
  shape = "extents that do not fit, axes that do not exist",
  ragged = "a range over a dim on which the spatial shape depends: reduce or pad first",
  affine = "an index that is not made of dims, bounds and integers by `+ - *`, `//`, `%`, min and max",
  cycle = "a value that needs itself",
  undefined = "a needed point of a declared tensor without a branch, or a branch that can never be first",
  domain = "a needed read outside a domain, with a witness point",
  device = "a device or tier that this machine or build does not have",
  file = "a file that cannot be read, written or understood",
  memory = "a call that takes more than the machine has or than the limit, or no memory",
  nan = "under `check = \"nan\"`: a NaN or an infinity that was made of finite operands",
}
