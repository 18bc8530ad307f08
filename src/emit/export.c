/* export.c: a plan for given bounds as C99 that stands alone. Loops are those of native code; every
 * other region is a call of the library (kernels/prelude/export.h) over windows, of which a program
 * has the sections that it uses. What waits for ticks is a function that is entered again: a switch
 * over where it stands, with the variables of the loops around in the object. Everything that a run
 * writes is in the object, or the caller's. */
#include "emit/priv.h"
#include "base/env.h"

typedef struct {
  tp_emit e;
  const tp_export *x;
  tp_buf *c; /* the file */
  /* bytes of callbacks' arrays, of the arena; by buffer where in it */
  int64_t room, arena, *place;
  int rank, operands, nstop, npart;
} exporter;

/* ---- what can be exported ---- */

static const struct {
  const char *fn, *section;
  bool faults;
} in_library[TP_NOP] = {
  [TP_OP_MATMUL] = { "matmul", "matmul" },
  [TP_OP_CONV] = { "conv", "conv" },
  [TP_OP_CONV_DATA] = { "conv", "conv" },
  [TP_OP_CONV_WEIGHT] = { "conv", "conv" },
  [TP_OP_FOLD] = { "fold", "fold" },
  [TP_OP_SCAN] = { "scan", "scan" },
  [TP_OP_CUMPROD] = { "scan", "scan" },
  [TP_OP_RECUR] = { "recur", "recur" },
  [TP_OP_ARGMAX] = { "arg", "arg", true },
  [TP_OP_ARGMIN] = { "arg", "arg", true },
  [TP_OP_SORT] = { "sort", "sort" },
  [TP_OP_INDEX_SELECT] = { "index_select", "index_select", true },
  [TP_OP_INDEX_ADD] = { "index_add", "index_add", true },
  [TP_OP_GATHER] = { "gather", "gather", true },
  [TP_OP_PUT] = { "put_at", "put" },
  [TP_OP_SCATTER_ADD] = { "scatter_add", "scatter_add", true },
  [TP_OP_MATMUL_AT] = { "matmul_at", "matmul_at", true },
  [TP_OP_RAND] = { "draw", "rand" },
  [TP_OP_ENV_RESET] = { "env_run", "env", true },
  [TP_OP_ENV_OBS] = { "env_run", "env", true },
  [TP_OP_ENV_STEP] = { "env_run", "env", true },
};

static bool is_env(const tp_region *r) { return r->kind == TP_RG_OP && tp_op_is_env(r->op); }

static int fn_of(const tp_plan *p, const tp_pnode *x) {
  return x->kind == TP_P_REGION && x->rg->kind == TP_RG_CALL ? p->calls.v[x->rg->call].fn : 0;
}

static bool refused(const tp_region *r, tp_error *err, tp_code code, const char *why) {
  char name[256];
  return tp_fail(err, code, r->pos, "%s: export: %s: %s", tp_code_word(code),
      tp_who_label(&r->who, tp_region_op(r), name, sizeof name), why);
}

static bool region_goes(tp_emit *e, const tp_pnode *x, tp_error *err) {
  const tp_region *r = x->rg;
  if (r->check)
    return refused(
        r, err, TP_E_OPTION, "code that stands alone does not look for NaN: compile without check");
  if (r->kind == TP_RG_CALL)
    return !r->nrows ||
        refused(r, err, TP_E_DEVICE, "a callback over rows that end by data cannot be exported");
  if (is_env(r) && !tp_env_text(r->how.str))
    return refused(r, err, TP_E_DEVICE,
        "the environment is the host's, and its source is not known here: step it by inputs, or by "
        "a callback");
  if (r->kind == TP_RG_PINIT || tp_emit_knows(e, x) ||
      (r->kind == TP_RG_OP && in_library[r->op].fn))
    return true;
  return refused(r, err, TP_E_DEVICE, "this operator cannot be exported");
}

static bool all_go(tp_emit *e, const tp_pnode *x, tp_error *err) {
  TP_EACH_NODE (k, x) {
    if (k.x->rg && !region_goes(e, k.x, err)) return false;
    if (k.x->kind == TP_P_LOAD && k.x->nrows)
      return tp_fail(err, TP_E_DEVICE, e->p->bufs.v[k.x->nd.buf]->pos,
          "device: export: an end that is the greatest of rows that may have ended cannot be "
          "exported");
  }
  return true;
}

/* ---- sizes ---- */

static void measure_windows(exporter *w, const tp_pnode *x) {
  TP_EACH_NODE (k, x) {
    const tp_region *r = k.x->rg;
    for (int i = 0; i < tp_node_windows(k.x); i++)
      w->rank = TP_MAX(w->rank, (r ? r->nlead : 0) + tp_node_window(k.x, i)->rank);
    if (r && r->kind == TP_RG_CALL) w->operands = TP_MAX(w->operands, r->nin + r->nout);
  }
}

static int64_t most_of(const tp_ix *e, const int64_t *lo, const int64_t *hi) {
  int64_t least, most;
  tp_ix_range(e, lo, hi, &least, &most);
  return TP_MAX(most, 0);
}

static tp_dtype operand_type(const exporter *w, const tp_region *r, int i) {
  const tp_nd *nd = tp_window_at(r, i);
  if (nd->buf >= 0) return w->e.p->bufs.v[nd->buf]->dtype;
  return r->kind == TP_RG_CALL ? w->e.p->calls.v[r->call].res[i - r->nin] : TP_U8;
}

/* Dense arrays for a callback. */
static void measure_call(void *ud, const tp_pnode *x, const int64_t *lo, const int64_t *hi) {
  exporter *w = ud;
  int64_t all = 0;
  if (!fn_of(w->e.p, x)) {
    if (x->kind != TP_P_REGION || x->rg->kind != TP_RG_CALL) return;
  } else return;
  for (int i = 0; i < x->rg->nin + x->rg->nout; i++) {
    const tp_nd *nd = tp_window_at(x->rg, i);
    int64_t n = tp_dtype_size(operand_type(w, x->rg, i));
    for (int k = 0; k < x->rg->nlead; k++) n = tp_times_bytes(n, most_of(x->rg->lead[k], lo, hi));
    for (int k = 0; k < nd->rank; k++) n = tp_times_bytes(n, most_of(nd->shape[k], lo, hi));
    all = tp_sum_bytes(all, tp_sum_bytes(n, 63) / 64 * 64);
  }
  w->room = TP_MAX(w->room, all);
}

static bool measure(exporter *w, tp_error *err) {
  const tp_plan *p = w->e.p;
  int64_t *bytes = TP_NEWN(w->e.a, int64_t, p->bufs.n + 1);
  w->place = TP_NEWN(w->e.a, int64_t, p->bufs.n + 1);
  w->rank = w->operands = 1;
  measure_windows(w, p->body);
  w->arena = tp_plan_color(p, w->x->env, NULL, bytes, w->place);
  if (!tp_plan_reach(p, w->x->env, measure_call, w)) tp_oom();
  return (w->arena >= 0 && w->arena <= PTRDIFF_MAX / 2 && w->room <= PTRDIFF_MAX / 2) ||
      tp_fail(err, TP_E_MEMORY, w->x->pos, "memory: export: sizes overflow for these bounds");
}

/* ---- windows ---- */

static void put_extent(tp_emit *e, const tp_ix *n) {
  int64_t v;
  bool known = tp_ix_is_const(n, &v) && v >= 0;
  if (!known) tp_puts(e->b, "tp_index_max(0, ");
  tp_emit_ix(e, n);
  if (!known) tp_puts(e->b, ")");
}

/* Axes from `first` on of nlead leading ones and its own. */
static void put_axes(tp_emit *e, const tp_region *r, const tp_nd *nd, int first, bool strides) {
  const tp_ix *zero = tp_ix_const(e->ix, 0);
  int n = (r ? r->nlead : 0) + nd->rank, lead = n - nd->rank;
  tp_puts(e->b, "{ ");
  for (int i = first; i < n; i++) {
    if (i > first) tp_puts(e->b, ", ");
    if (strides) tp_emit_ix(e, i >= lead ? nd->stride[i - lead] : nd->lead ? nd->lead[i] : zero);
    else put_extent(e, i >= lead ? nd->shape[i - lead] : r->lead[i]);
  }
  tp_puts(e->b, first < n ? " }" : "0 }");
}

/* where: element that it begins at; NULL: that of the window. */
static void put_window(
    tp_emit *e, const tp_region *r, const tp_nd *nd, tp_dtype d, int first, bool place) {
  if (nd->buf >= 0) {
    e->buf[nd->buf] = true;
    tp_putf(e->b, "{ (char *)(b%d", nd->buf);
    if (place) {
      tp_puts(e->b, " + ");
      tp_emit_place(e, nd, nd->off);
      for (int i = 0; i < first && nd->lead; i++) {
        tp_putf(e->b, " + x%d*", i);
        tp_emit_ix(e, nd->lead[i]);
      }
    }
    tp_puts(e->b, "), ");
  } else tp_puts(e->b, "{ NULL, ");
  tp_putf(e->b, "TPX_%s, %d, ",
      (const char *[]){
#define D(N, t, c, b, f) #N,
#include "base/dtypes.def"
#undef D
      }[d],
      (r ? r->nlead : 0) + nd->rank - first);
  put_axes(e, r, nd, first, false);
  tp_puts(e->b, ", ");
  put_axes(e, r, nd, first, true);
  if (nd->wrap >= 0) {
    tp_putf(e->b, ", %d, ", nd->wrap - first);
    tp_emit_ix(e, nd->wlo);
    tp_puts(e->b, ", tp_index_max(1, ");
    tp_emit_ix(e, nd->wmod);
    tp_puts(e->b, ") }");
  } else tp_puts(e->b, ", -1, 0, 0 }");
}

static void put_operands(exporter *w, const tp_region *r, int first) {
  tp_emit *e = &w->e;
  int n = r->nin + r->nout, all = TP_MAX(n, r->kind == TP_RG_OP && r->op == TP_OP_SORT ? 3 : 1);
  tp_emit_line(e, "tpx_window v[%d] = {\n", all);
  for (int i = 0; i < n; i++) {
    tp_putf(e->b, "%*s", 2 * e->depth + 2, "");
    put_window(e, r, tp_window_at(r, i), operand_type(w, r, i), first, true);
    tp_puts(e->b, ",\n");
  }
  for (int i = n; i < all; i++) tp_emit_line(e, "  { NULL, 0, 0, { 0 }, { 0 }, -1, 0, 0 },\n");
  tp_emit_line(e, "};\n");
}

/* ---- operators ---- */

static bool any_half(const exporter *w, const tp_region *r) {
  bool any = false;
  for (int i = 0; i < r->nin + r->nout; i++) any |= tp_half(operand_type(w, r, i));
  return any;
}

/* Does the operator go through f32 where operand i is a 16-bit float? */
static bool goes_wide(const exporter *w, const tp_region *r, int i) {
  if (r->kind != TP_RG_OP || !any_half(w, r)) return false;
  return (r->op == TP_OP_MATMUL && i >= r->nin) || tp_is_conv(r->op) || r->op == TP_OP_FOLD;
}

static bool works(const exporter *w, const tp_region *r) {
  bool any = is_env(r) ||
      (r->kind == TP_RG_OP &&
          (r->op == TP_OP_SORT || r->op == TP_OP_INDEX_ADD || r->op == TP_OP_SCATTER_ADD));
  for (int i = 0; i < r->nin + r->nout; i++)
    any |= goes_wide(w, r, i) ||
        (i < r->nin && tp_window_at(r, i)->wrap >= 0 && !tp_knows_rings(w->e.p, r));
  return any;
}

static void put_ready(exporter *w, const tp_region *r) {
  tp_emit *e = &w->e;
  if (works(w, r)) {
    if (r->work) {
      e->buf[r->work->id] = true;
      tp_emit_line(e, "char *work = (char *)b%d;\n", r->work->id);
    } else tp_emit_line(e, "char *work = NULL;\n");
  }
  for (int i = 0; i < r->nin; i++)
    if (r->in[i].wrap >= 0 && !tp_knows_rings(e->p, r))
      tp_emit_line(e, "tpx_unwrap(&v[%d], &work);\n", i);
  for (int i = 0; i < r->nin + r->nout; i++)
    if (goes_wide(w, r, i)) tp_emit_line(e, "const tpx_window o%d = v[%d];\n", i, i);
  for (int i = 0; i < r->nin + r->nout; i++)
    if (goes_wide(w, r, i))
      tp_emit_line(e, "v[%d] = tpx_wide(&v[%d], %d, &work);\n", i, i, i < r->nin || r->acc);
}

static const char *how_text(tp_emit *e, const tp_how *h) {
  tp_buf b;
  tp_hold hold;
  tp_buf_hold(&b, &hold);
  for (int i = 0; i < h->naxes; i++) tp_putf(&b, "%s%d", i ? ", " : "", h->axes[i]);
  const char *text = tp_strdup(e->a, b.n ? b.s : "0");
  tp_buf_drop(&b, &hold);
  return text;
}

static void put_env(exporter *w, const tp_pnode *x) {
  const tp_env *v = tp_env_find(x->rg->how.str);
  const char *p = tp_env_text(x->rg->how.str)->prefix;
  int what = x->rg->op == TP_OP_ENV_RESET ? 0 : x->rg->op == TP_OP_ENV_OBS ? 1 : 2;
  tp_emit_line(&w->e,
      "static const tpx_env env_is = { %d, %lld, %s_reset, %s_observe, %s_step };\n", v->nactions,
      (long long)tp_env_lane(v), p, p, p);
  tp_emit_line(&w->e, "TP_END_IF(tpx_env_run(h, %d, &env_is, %d, v, work));\n", x->pos, what);
}

/* Of a draw or a call: where it stands. */
static void put_coordinates(tp_emit *e, const tp_region *r) {
  tp_emit_indent(e);
  tp_puts(e->b, "const int64_t point[] = { ");
  for (int k = 0; k < r->ncoord; k++) {
    if (k) tp_puts(e->b, ", ");
    tp_emit_ix(e, r->coord[k]);
  }
  tp_puts(e->b, r->ncoord ? " };\n" : "0 };\n");
}

/* Numbers of one point of the leading axes at a time: coordinates are in the symbols of these. */
static void put_draw(exporter *w, const tp_pnode *x) {
  tp_emit *e = &w->e;
  const tp_region *r = x->rg;
  const tp_how *h = &r->how;
  if (h->rand == TP_RAND_RANDINT && h->i[0] >= h->i[1]) {
    tp_emit_line(e, "TP_END_IF(h->fault(h->exec, %d, TPX_FAULT_RANGE, NULL));\n", x->pos);
    return;
  }
  for (int i = 0; i < r->nlead; i++) {
    tp_emit_lead(e, r, i);
    bool named = false;
    for (int k = 0; k < r->ncoord; k++) named |= tp_ix_mentions(r->coord[k], r->leadvar[i]);
    if (!named) continue;
    tp_emit_indent(e);
    tp_putf(e->b, "const int64_t s%d = ", r->leadvar[i]->id);
    tp_emit_ix(e, r->leadlo[i]);
    tp_putf(e->b, " + x%d;\n", i);
  }
  put_operands(w, r, r->nlead);
  put_coordinates(e, r);
  tp_emit_line(e, "tpx_draw(&v[0], h->seed, %lluULL, %d, point, %d, %a, %lldLL, %lldLL);\n",
      (unsigned long long)h->hash, r->ncoord, (int)h->rand, h->f[0], (long long)h->i[0],
      (long long)h->i[1]);
  for (int i = 0; i < r->nlead; i++) {
    e->depth--;
    tp_emit_line(e, "}\n");
  }
}

static void put_conv(exporter *w, const tp_region *r) {
  const int *role = tp_conv_roles(r->op);
  int of[3];
  for (int i = 0; i < 3; i++) of[role[i]] = i;
  tp_emit_line(&w->e, "static const int how[] = { %s };\n", how_text(&w->e, &r->how));
  tp_emit_line(&w->e, "tpx_conv(%d, %d, how, &v[%d], &v[%d], &v[%d], %d);\n",
      r->op == TP_OP_CONV            ? 0
          : r->op == TP_OP_CONV_DATA ? 1
                                     : 2,
      r->nlead, of[TP_CX], of[TP_CW], of[TP_CY], r->acc);
}

static void put_operator(exporter *w, const tp_pnode *x) {
  tp_emit *e = &w->e;
  const tp_region *r = x->rg;
  const tp_how *h = &r->how;
  int axis = r->nlead + h->axis;
  char with[160] = "";
  switch (r->op) {
  case TP_OP_RAND: put_draw(w, x); return;
  case TP_OP_ENV_RESET:
  case TP_OP_ENV_OBS:
  case TP_OP_ENV_STEP: put_env(w, x); return;
  case TP_OP_CONV:
  case TP_OP_CONV_DATA:
  case TP_OP_CONV_WEIGHT: put_conv(w, r); return;
  case TP_OP_MATMUL: snprintf(with, sizeof with, "v, %d", r->acc); break;
  case TP_OP_FOLD:
    snprintf(with, sizeof with, "&v[0], &v[1], %d, %lld, %lld", axis, (long long)h->i[0],
        (long long)h->i[1]);
    break;
  case TP_OP_SCAN:
  case TP_OP_CUMPROD:
    snprintf(with, sizeof with, "&v[0], &v[1], %d, %d, %d, %a", axis, h->flag,
        r->op == TP_OP_CUMPROD, h->f[0]);
    break;
  case TP_OP_RECUR:
    snprintf(with, sizeof with, "&v[0], &v[1], &v[2], %d, %d", axis, h->flag);
    break;
  case TP_OP_ARGMAX:
  case TP_OP_ARGMIN:
    snprintf(
        with, sizeof with, "&v[0], &v[1], %d, %d, %d", axis, h->keepdim, r->op == TP_OP_ARGMAX);
    break;
  case TP_OP_SORT:
    snprintf(with, sizeof with, "&v[0], &v[1], &v[2], %d, %d, work", axis, h->flag);
    break;
  case TP_OP_INDEX_SELECT:
    snprintf(with, sizeof with, "&v[0], &v[1], &v[2], %d, %d", r->nlead, axis);
    break;
  case TP_OP_INDEX_ADD:
    snprintf(with, sizeof with, "&v[0], &v[1], &v[2], &v[3], %d, %d, work", r->nlead, axis);
    break;
  case TP_OP_GATHER: snprintf(with, sizeof with, "&v[0], &v[1], &v[2], %d", axis); break;
  case TP_OP_PUT: snprintf(with, sizeof with, "&v[0], &v[1], &v[2], &v[3], %d", axis); break;
  case TP_OP_MATMUL_AT: snprintf(with, sizeof with, "v, %d", r->nlead); break;
  case TP_OP_SCATTER_ADD:
    snprintf(with, sizeof with, "&v[0], &v[1], &v[2], &v[3], %d, work", axis);
    break;
  default: (void)TP_NEVER(true);
  }
  if (in_library[r->op].faults)
    tp_emit_line(e, "TP_END_IF(tpx_%s(h, %d, %s));\n", in_library[r->op].fn, x->pos, with);
  else tp_emit_line(e, "tpx_%s(%s);\n", in_library[r->op].fn, with);
}

/* A loaded value takes the place of the first one: its buffer is there if it was loaded. */
static void put_first(exporter *w, const tp_region *r) {
  bool loads = r->nin > 1 && w->e.p->bufs.v[r->in[1].buf]->kind == TP_BUF_PARAM;
  if (loads)
    tp_emit_line(&w->e, "tpx_copy(&v[%d], h->base[%d] ? &v[1] : &v[0]);\n", r->nin, r->in[1].buf);
  else tp_emit_line(&w->e, "tpx_copy(&v[%d], &v[0]);\n", r->nin);
}

/* A call over no rows stands for no point of its domain. */
static bool no_rows(const exporter *w, const tp_callee *c) {
  bool none = false;
  for (int d = 0; d < c->ndom; d++)
    none |= (c->over >> d & 1) && w->x->env[c->dom[d]->bound->id] == 0;
  return none;
}

static void put_callback(exporter *w, const tp_pnode *x, const tp_callee *c) {
  tp_emit *e = &w->e;
  const tp_region *r = x->rg;
  if (c->fn == TP_FN_FEED) tp_emit_line(e, "tpx_take(&v[0], h->values[%d]);\n", c->slot);
  else if (c->fn == TP_FN_SHOW) tp_emit_line(e, "tpx_show(&v[0], h->shown[%d]);\n", c->slot);
  else {
    put_coordinates(e, r);
    tp_emit_line(e, "TP_END_IF(tpx_call(h, %d, %d, point, v, %d, %d, h->room));\n", x->pos, c->fn,
        r->nin, r->nout);
  }
}

/* The greatest end, or a bool, becomes a symbol. */
static void put_end_of(exporter *w, const tp_pnode *x) {
  tp_emit *e = &w->e;
  int v = x->var->id;
  tp_emit_indent(e);
  tp_puts(e->b, "const tpx_window v = ");
  put_window(e, NULL, &x->nd, e->p->bufs.v[x->nd.buf]->dtype, 0, false);
  tp_puts(e->b, ";\n");
  tp_emit_indent(e);
  e->sym[v] = true;
  tp_putf(e->b, "s%d = env[%d] = tpx_end(&v, ", v, v);
  tp_emit_place(e, &x->nd, x->nd.off);
  tp_puts(e->b, ", ");
  tp_emit_ix(e, e->p->bufs.v[x->nd.buf]->size);
  tp_puts(e->b, ", ");
  tp_emit_ix(e, x->given);
  tp_puts(e->b, ");\n");
}

void tp_emit_leaf(tp_emit *e, const tp_pnode *x) {
  exporter *w = (exporter *)e;
  const tp_region *r = x->rg;
  const tp_callee *c =
      x->kind == TP_P_REGION && r->kind == TP_RG_CALL ? &e->p->calls.v[r->call] : NULL;
  if (c && no_rows(w, c)) return;
  tp_emit_line(e, "{ /* %d */\n", x->pos);
  e->depth++;
  if (x->kind == TP_P_LOAD) put_end_of(w, x);
  else {
    bool draws = r->kind == TP_RG_OP && r->op == TP_OP_RAND;
    if (!draws) {
      put_operands(w, r, 0);
      put_ready(w, r);
    }
    if (c) put_callback(w, x, c);
    else if (r->kind == TP_RG_PINIT) put_first(w, r);
    else put_operator(w, x);
    for (int i = r->nin; i < r->nin + r->nout; i++)
      if (goes_wide(w, r, i)) tp_emit_line(e, "tpx_narrow(&o%d, &v[%d]);\n", i, i);
  }
  e->depth--;
  tp_emit_line(e, "}\n");
}

/* ---- what runs when ---- a function for what has no tick inside, one that is entered again for
 * the rest */

typedef TP_VEC(const tp_pnode *) nodes;

static void put_group(exporter *w, nodes *group) {
  char head[48];
  if (!group->n) return;
  snprintf(head, sizeof head, "static int tpx_part_%d", w->npart);
  tp_emit_function(&w->e, head, group->v, group->n);
  tp_emit_line(&w->e, "if (tpx_part_%d(h)) return TPX_FAILED;\n", w->npart++);
  group->n = 0;
}

static void put_flow(exporter *w, const tp_pnode *x);

static void put_flow_for(exporter *w, const tp_pnode *x) {
  tp_emit *e = &w->e;
  tp_emit_indent(e);
  e->sym[x->var->id] = true;
  tp_putf(e->b, "for (s%d = ", x->var->id);
  tp_emit_ix(e, x->step > 0 ? x->lo : tp_ix_addc(e->ix, x->hi, -1));
  tp_putf(e->b, "; s%d %s ", x->var->id, x->step > 0 ? "<" : ">=");
  tp_emit_ix(e, x->step > 0 ? x->hi : x->lo);
  tp_putf(e->b, "; s%d += %d) {\n", x->var->id, x->step);
  e->depth++;
  put_flow(w, x->kid[0]);
  e->depth--;
  tp_emit_line(e, "}\n");
}

static void put_flow_if(exporter *w, const tp_pnode *x) {
  tp_emit *e = &w->e;
  for (int i = 0; i < x->n; i++) {
    tp_emit_indent(e);
    if (i == 0) {
      tp_puts(e->b, "if (");
      tp_emit_ix(e, x->cond);
      tp_puts(e->b, ") {\n");
    } else tp_puts(e->b, "else {\n");
    e->depth++;
    put_flow(w, x->kid[i]);
    e->depth--;
    tp_emit_line(e, "}\n");
  }
}

static void collect(exporter *w, const tp_pnode *x, nodes *group) {
  if (tp_is_row(x)) {
    for (int i = 0; i < x->n; i++) collect(w, x->kid[i], group);
    return;
  }
  if (!tp_plan_ticks(w->e.p, x)) {
    TP_PUSH(w->e.a, group, x);
    return;
  }
  put_group(w, group);
  if (x->kind == TP_P_FOR) put_flow_for(w, x);
  else if (x->kind == TP_P_IF) put_flow_if(w, x);
  else {
    w->nstop++;
    tp_emit_line(&w->e, "h->at = %d;\n", w->nstop);
    tp_emit_line(&w->e, "return TPX_WAITS;\n");
    tp_emit_line(&w->e, "case %d:;\n", w->nstop);
  }
}

static void put_flow(exporter *w, const tp_pnode *x) {
  nodes group = { 0 };
  collect(w, x, &group);
  put_group(w, &group);
}

/* Symbols are places in the object here: they outlive a step. */
static void put_run(exporter *w, tp_buf *c) {
  tp_emit *e = &w->e;
  tp_buf b;
  tp_hold hold;
  tp_buf_hold(&b, &hold);
  e->done = c;
  e->b = &b;
  w->nstop = w->npart = e->nfn = 0;
  e->sym = TP_NEWN(e->a, bool, tp_nsym(e->ix));
  e->buf = TP_NEWN(e->a, bool, e->p->bufs.n + 1);
  e->depth = 1;
  put_flow(w, e->p->body);
  tp_puts(c, "\nenum { TPX_FAILED, TPX_WAITS, TPX_OVER };\n");
  for (int i = 0; i < tp_nsym(e->ix); i++)
    if (e->sym[i] && tp_sym_at(e->ix, i)->kind == TP_SYM_BOUND)
      tp_putf(c, "#define s%d ((int64_t)%lld)\n", i, (long long)e->given[i]);
    else if (e->sym[i]) tp_putf(c, "#define s%d (h->env[%d])\n", i, i);
  tp_puts(c, "static int tpx_run(tp_host *h) {\n  switch (h->at) {\n  case 0:;\n");
  tp_putn(c, b.s ? b.s : "", b.n);
  tp_puts(c, "  }\n  return TPX_OVER;\n}\n");
  for (int i = 0; i < tp_nsym(e->ix); i++)
    if (e->sym[i]) tp_putf(c, "#undef s%d\n", i);
  c->failed |= b.failed;
  tp_buf_drop(&b, &hold);
}

/* Twice: for nobody, to count what is alike, and into the file. */
static void put_runs(exporter *w) {
  tp_buf nobody;
  tp_hold hold;
  tp_hmap texts;
  tp_hmap_init(&texts, w->e.a);
  w->e.texts = &texts;
  w->e.counts = true;
  tp_buf_hold(&nobody, &hold);
  put_run(w, &nobody);
  tp_buf_drop(&nobody, &hold);
  w->e.counts = false;
  put_run(w, w->c);
}

/* ---- the library ---- */

static const char *const sections[] = { "base", "unwrap", "wide", "matmul", "conv", "fold", "scan",
  "recur", "arg", "sort", "indices", "index_select", "index_add", "gather", "put", "scatter_add",
  "matmul_at", "rand", "end", "env", "call", "ticks" };
enum { NSECTION = sizeof sections / sizeof *sections };

static void need_section(bool *on, const char *name) {
  for (int i = 0; i < NSECTION; i++) on[i] |= strcmp(sections[i], name) == 0;
}

static void mark_region(const exporter *w, const tp_region *r, bool *on) {
  int fn = r->kind == TP_RG_CALL ? w->e.p->calls.v[r->call].fn : 0;
  for (int i = 0; i < r->nin; i++)
    if (r->in[i].wrap >= 0) need_section(on, "unwrap");
  for (int i = 0; i < r->nin + r->nout; i++)
    if (goes_wide(w, r, i)) need_section(on, "wide");
  if (r->kind == TP_RG_CALL) need_section(on, fn < 0 ? "ticks" : "call");
  if (r->kind == TP_RG_OP) need_section(on, in_library[r->op].section);
  if (r->kind == TP_RG_OP && tp_ops[r->op].cls == TP_CLS_GATH) need_section(on, "indices");
  if (r->op == TP_OP_MATMUL_AT) need_section(on, "matmul");
}

static void mark_sections_of(exporter *w, const tp_pnode *x, bool *on) {
  if (x->kind == TP_P_LOAD) need_section(on, "end");
  if (x->kind == TP_P_REGION && (x->rg->kind != TP_RG_OP || !tp_emit_knows(&w->e, x)))
    mark_region(w, x->rg, on);
  for (int i = 0; i < x->n; i++) mark_sections_of(w, x->kid[i], on);
}

static void put_library(exporter *w) {
  bool on[NSECTION] = { true };
  mark_sections_of(w, w->e.p->body, on);
  for (const char *s = tp_prelude_export, *next; s; s = next) {
    int name = 0;
    next = strstr(s + 1, "/* > ");
    for (int i = 0; i < NSECTION; i++)
      if (strncmp(s + 5, sections[i], strlen(sections[i])) == 0 &&
          s[5 + strlen(sections[i])] == ' ')
        name = i;
    if (on[name]) tp_putn(w->c, s, next ? (size_t)(next - s) : strlen(s));
  }
}

/* ---- the object ---- */

static void put_upper(tp_buf *b, const char *s) {
  for (; *s; s++) tp_putf(b, "%c", *s >= 'a' && *s <= 'z' ? *s - 'a' + 'A' : *s);
}

/* Where something stands in the script, inside a comment: the name of a chunk can be any text. */
static void put_pos(tp_buf *b, tp_pos pos) {
  for (const char *s = pos.file ? pos.file : "?"; *s; s++)
    tp_putf(b, "%c", *s == '*' || *s == '\\' || (unsigned char)*s < ' ' ? '_' : *s);
  tp_putf(b, ":%d", pos.line);
}

/* Text with %n for the name, %N for the name in capitals, %% for a percent sign. */
static void put_text(const exporter *w, tp_buf *b, const char *s) {
  for (; *s; s++) {
    if (s[0] != '%') tp_putn(b, s, 1);
    else if (*++s == 'n') tp_puts(b, w->x->name);
    else if (*s == 'N') put_upper(b, w->x->name);
    else tp_puts(b, "%");
  }
}

static void put_shape(tp_buf *b, const tp_export_array *v) {
  tp_putf(b, "%s ", tp_dtype_name(v->dtype));
  for (int i = 0; i < v->rank; i++) tp_putf(b, "[%lld]", (long long)v->shape[i]);
}

static bool any_of(const tp_export_array *v, int n, bool ticks) {
  bool any = false;
  for (int i = 0; i < n; i++) any |= v[i].as && v[i].ticks == ticks;
  return any;
}

static void put_struct(const exporter *w, tp_buf *b, const char *what, const tp_export_array *v,
    int n, bool ticks, bool in) {
  tp_putf(b, "\ntypedef struct %s_%s {\n", w->x->name, what);
  for (int i = 0; i < n; i++) {
    if (!v[i].as || v[i].ticks != ticks) continue;
    tp_putf(b, "  %s%s *%s;%*s/* ", in ? "const " : "", tp_emit_type(v[i].dtype), v[i].as,
        TP_MAX(1, 30 - (int)strlen(v[i].as)), "");
    put_shape(b, &v[i]);
    tp_puts(b, " */\n");
  }
  if (!any_of(v, n, ticks)) tp_puts(b, "  int none;\n");
  tp_putf(b, "} %s_%s;\n", w->x->name, what);
}

static void put_calls(const exporter *w, tp_buf *b) {
  const tp_plan *p = w->e.p;
  bool any = false;
  for (int i = 0; i < p->calls.n; i++) {
    if (p->calls.v[i].fn < 0) continue;
    if (!any) tp_puts(b, "\n/* Which function of the host's: `call` of the object. */\nenum {\n");
    any = true;
    tp_puts(b, "  ");
    put_upper(b, w->x->name);
    tp_putf(b, "_CALL_%d = %d,%*s/* ", p->calls.v[i].fn, p->calls.v[i].fn, 20, "");
    put_pos(b, p->calls.v[i].pos);
    tp_putf(b, "%s%s */\n", p->calls.v[i].name ? " " : "",
        p->calls.v[i].name ? p->calls.v[i].name : "");
  }
  if (any) tp_puts(b, "};\n");
}

static void put_bounds(const exporter *w, tp_buf *b) {
  if (!w->x->nbound) return;
  tp_puts(b, "\n/* What it was exported for. */\n");
  for (int i = 0; i < w->x->nbound; i++) {
    tp_puts(b, "#define ");
    put_upper(b, w->x->name);
    tp_puts(b, "_");
    /* of the other names of that kind */
    const char *name = w->x->bounds[i]->name,
               *mine = strcmp(name, "WEIGHTS") && strncmp(name, "CALL_", 5) ? "" : "_";
    tp_putf(b, "%s%s %lld%*s/* %s */\n", name, mine, (long long)w->x->env[w->x->bounds[i]->id], 10,
        "", name);
  }
}

static void put_header(const exporter *w, tp_buf *b) {
  const tp_export *x = w->x;
  put_text(w, b, "/* %n: made by tempo from ");
  put_pos(b, x->pos);
  put_text(w, b,
      ". C99 and libm; it allocates nothing, and all that it writes is in the object or in arrays "
      "of yours. Arrays are dense and row major. */\n"
      "#ifndef TEMPO_EXPORT_%N_H\n#define TEMPO_EXPORT_%N_H\n#include <stddef.h>\n#include "
      "<stdint.h>\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
  put_bounds(w, b);
  put_struct(w, b, "inputs", x->in, x->nin, false, true);
  put_struct(w, b, "outputs", x->out, x->nout, false, false);
  if (x->ticks) put_struct(w, b, "values", x->in, x->nin, true, true);
  if (x->ticks) put_struct(w, b, "shown", x->out, x->nout, true, false);
  put_calls(w, b);
  put_text(w, b, "\n#define %N_WEIGHTS ");
  tp_putf(b, "%lld%*s/* bytes of the file of weights */\n",
      (long long)(16 + 8 * x->nparam + x->weights), 10, "");
  put_text(w, b,
      "\n/* %n_init fills it. */\ntypedef struct %n {\n  uint64_t seed;                            "
      "    /* of random numbers */\n"
      "  /* A function of the host's, at a point of its domain: results are zeroed before. 0: the "
      "run fails. */\n"
      "  int (*call)(void *user, int which, const int64_t *point, const void *const *in, void "
      "*const *out);\n  void *user;\n"
      "  const char *error, *where;                    /* what failed last; NULL: nothing has */\n"
      "  struct {                                      /* the rest is its own */\n    int at, "
      "over;\n    void *in[");
  tp_putf(b, "%d], *out[%d];\n    int64_t env[%d];\n    uint64_t have[%d], made[%d];\n",
      TP_MAX(x->nin, 1), TP_MAX(x->nout, 1), TP_MAX(tp_nsym(w->e.ix), 1), TP_MAX(x->nparam, 1),
      TP_MAX(x->nparam, 1));
  tp_putf(b, "    union { double d; int64_t i; unsigned char b[%lld]; } first, last;\n",
      (long long)TP_MAX(x->weights, 8));
  tp_putf(b, "    union { double d; int64_t i; unsigned char b[%lld]; } room;\n",
      (long long)TP_MAX(w->room, 8));
  tp_putf(b, "    union { double d; int64_t i; unsigned char b[%lld]; } arena;\n  } own;\n} ",
      (long long)TP_MAX(w->arena, 8));
  put_text(w, b,
      "%n;\n\nvoid %n_init(%n *a);\n"
      "/* Takes parameters, as the file of weights has them; without any they begin as the program "
      "says. 0: not these. */\nint %n_load(%n *a, const void *weights, size_t n);\n"
      "/* The newest parameters: %N_WEIGHTS bytes. */\nvoid %n_save(const %n *a, void "
      "*weights);\n");
  put_text(w, b,
      x->ticks ? "/* Begins a run: arrays stay the caller's, and in use until it is over. 0: "
                 "failed. */\nint %n_start(%n *a, const %n_inputs *in, const %n_outputs *out);\n"
                 "/* Goes to the next tick. *done: it was the last. Of what is shown NULL is left "
                 "out. 0: failed. */\n"
                 "int %n_step(%n *a, const %n_values *values, const %n_shown *shown, int *done);\n"
               : "/* 0: failed, and a->error and a->where say why. */\nint %n_run(%n *a, const "
                 "%n_inputs *in, const %n_outputs *out);\n");
  put_text(w, b, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
}

/* ---- the file ---- */

static void put_constant(const exporter *w, const tp_pbuf *x) {
  static const char *const word[] = {
    [1] = "uint8_t", [2] = "uint16_t", [4] = "uint32_t", [8] = "uint64_t"
  };
  int size = tp_dtype_size(x->dtype);
  int64_t n = x->data ? x->data->count : 0;
  tp_putf(w->c, "\nstatic const %s c%d[%lld] = {", word[size], x->id, (long long)TP_MAX(n, 1));
  for (int64_t i = 0; i < n; i++) {
    uint64_t v = 0;
    memcpy(&v, (const char *)x->data->data + i * size, (size_t)size);
    tp_putf(w->c, "%s%llu%s", i % 12 ? " " : "\n  ", (unsigned long long)v,
        size == 8       ? "ULL,"
            : size == 4 ? "U,"
                        : ",");
  }
  tp_puts(w->c, n ? "\n};\n" : " 0 };\n");
}

static void put_quoted(tp_buf *b, const char *s) {
  for (; *s; s++)
    if ((unsigned char)*s < 32) tp_puts(b, " ");
    else tp_putf(b, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
}

static void put_where(exporter *w, const tp_pnode *x) {
  char name[256];
  if (x->kind == TP_P_REGION) {
    tp_putf(w->c, "    case %d: return \"", x->pos);
    put_quoted(w->c, x->rg->pos.file ? x->rg->pos.file : "?");
    tp_putf(w->c, ":%d: ", x->rg->pos.line);
    put_quoted(w->c, tp_who_label(&x->rg->who, tp_region_op(x->rg), name, sizeof name));
    tp_puts(w->c, "\";\n");
  }
  for (int i = 0; i < x->n; i++) put_where(w, x->kid[i]);
}

static const char head[] =
    "#include <math.h>\n#include <string.h>\n"
    "#ifdef __clang__\n#pragma STDC FP_CONTRACT OFF\n#pragma clang diagnostic ignored "
    "\"-Wunknown-warning-option\"\n#pragma clang diagnostic ignored "
    "\"-Wbitwise-instead-of-logical\"\n#pragma clang diagnostic ignored "
    "\"-Wparentheses-equality\"\n#elif defined(__GNUC__) && !defined(__STRICT_ANSI__)\n#pragma GCC "
    "optimize(\"fp-contract=off\")\n#endif\n"
    "#ifdef __GNUC__\n#define TP_FN static inline __attribute__((__unused__))\n#define TP_ONCE "
    "static __attribute__((__noinline__, __unused__))\n#define TPX_ALIAS "
    "__attribute__((__may_alias__))\n#else\n#define TP_FN static inline\n#define TPX_ALIAS\n"
    "#define __builtin_expect(x, y) (x)\n#endif\n#if !defined(__GNUC__) || "
    "defined(__clang__)\n#define TP_IVDEP\n#endif\n#define TP_ALONE\n"
    "typedef uint8_t TPX_ALIAS tpx_bool, tpx_u8;\ntypedef uint16_t TPX_ALIAS tpx_f16, "
    "tpx_bf16;\ntypedef int32_t TPX_ALIAS tpx_i32;\ntypedef int64_t TPX_ALIAS tpx_i64;\n"
    "typedef float TPX_ALIAS tpx_f32;\ntypedef double TPX_ALIAS tpx_f64;\n";

static const char fused[] =
    "/* The same bits everywhere: what is fused is written as fma, nothing else may be. Without "
    "-DTP_FMA=0 processors that have no fma do it in libm. */\n"
    "#ifndef TP_FMA\n#define TP_FMA 1\n#endif\n";

static const char unfused[] =
    "/* The same bits everywhere, and those of the program: nothing is fused. */\n#undef "
    "TP_FMA\n#define TP_FMA 0\n"
    "#include <float.h>\n#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16\n#error floats are "
    "computed in another type: -msse2 -mfpmath=sse\n#endif\n";

static const char host[] =
    "\nstatic int tpx_host(void *exec, int which, const int64_t *point, const void *const *in, "
    "void *const *out) {\n"
    "  %n *a = (%n *)exec;\n  return a->call && a->call(a->user, which, point, in, out);\n}\n";

static const char foot[] =
    "\nstatic int tpx_fault(void *exec, int pos, int what, const int64_t *at) {\n"
    "  static const char *const why[] = { \"\", \"integer division by zero\", \"integer power with "
    "a negative exponent\", \"a fold of nothing\", \"an index is outside\",\n"
    "                                     \"no integer in the range\", \"nothing to choose from\", "
    "\"an action is outside\", \"the host's function failed\" };\n"
    "  %n *a = (%n *)exec;\n  (void)at;\n  a->error = why[what];\n  a->where = tpx_where(pos);\n  "
    "return 1;\n}\n"
    "\nvoid %n_init(%n *a) {\n  memset(a, 0, sizeof *a);\n  a->seed = TPX_SEED;\n  a->own.over = "
    "1;\n}\n"
    "\n/* A number that says byte order and version, bytes of all, which parameters are there, and "
    "they. */\n"
    "static const uint64_t tpx_magic = 0x31746867692e7074ULL;\n"
    "\nint %n_load(%n *a, const void *weights, size_t n) {\n  const unsigned char *p = (const "
    "unsigned char *)weights;\n  uint64_t v;\n"
    "  if (n != %N_WEIGHTS) return 0;\n  memcpy(&v, p, 8);\n  if (v != tpx_magic) return 0;\n  "
    "memcpy(&v, p + 8, 8);\n  if (v != TPX_PARAMS) return 0;\n"
    "  memcpy(a->own.have, p + 16, 8 * TPX_NPARAM);\n  memcpy(a->own.made, a->own.have, 8 * "
    "TPX_NPARAM);\n  memcpy(a->own.first.b, p + 16 + 8 * TPX_NPARAM, TPX_PARAMS);\n  "
    "memcpy(a->own.last.b, a->own.first.b, TPX_PARAMS);\n  return 1;\n}\n"
    "\nvoid %n_save(const %n *a, void *weights) {\n  unsigned char *p = (unsigned char "
    "*)weights;\n  uint64_t v = TPX_PARAMS;\n"
    "  memcpy(p, &tpx_magic, 8);\n  memcpy(p + 8, &v, 8);\n  memcpy(p + 16, a->own.made, 8 * "
    "TPX_NPARAM);\n  memcpy(p + 16 + 8 * TPX_NPARAM, a->own.last.b, TPX_PARAMS);\n}\n";

/* Where each buffer lies. */
static void put_bases(const exporter *w) {
  tp_buf *c = w->c;
  tp_puts(c, "  char *base[TPX_BUFFERS + 1] = { NULL };\n");
  for (int i = 0; i < w->e.p->bufs.n; i++) {
    const tp_pbuf *b = w->e.p->bufs.v[i];
    const tp_export_array *o = b->kind == TP_BUF_OUTPUT ? &w->x->out[b->slot] : NULL;
    if (tp_in_arena(b) && w->place[i] >= 0)
      tp_putf(c, "  base[%d] = (char *)a->own.arena.b + %lld;\n", i, (long long)w->place[i]);
    else if (b->kind == TP_BUF_CONST) tp_putf(c, "  base[%d] = (char *)(uintptr_t)c%d;\n", i, i);
    else if (b->kind == TP_BUF_INPUT && w->x->in[b->slot].as && !w->x->in[b->slot].ticks)
      tp_putf(c, "  base[%d] = (char *)a->own.in[%d];\n", i, b->slot);
    else if (o && o->param >= 0)
      tp_putf(c, "  base[%d] = (char *)a->own.last.b + %lld;\n", i,
          (long long)w->x->param[o->param].at);
    else if (o && o->as && !o->ticks)
      tp_putf(c, "  base[%d] = (char *)a->own.out[%d];\n", i, b->slot);
    else if (b->kind == TP_BUF_PARAM)
      tp_putf(c, "  base[%d] = a->own.have[%d] ? (char *)a->own.first.b + %lld : NULL;\n", i,
          b->slot, (long long)w->x->param[b->slot].at);
  }
}

/* Arrays that are whole: all must be given, but for those without elements. */
static void put_given(const exporter *w) {
  tp_buf *c = w->c;
  const tp_export *x = w->x;
  tp_puts(
      c, "  (void)in, (void)out;\n  a->error = a->where = NULL;\n  a->own.at = a->own.over = 0;\n");
  for (int i = 0; i < x->nin; i++)
    if (x->in[i].as && !x->in[i].ticks) {
      tp_putf(c, "  a->own.in[%d] = (void *)(uintptr_t)in->%s;\n", i, x->in[i].as);
      if (x->in[i].bytes)
        tp_putf(c, "  if (!in->%s) return tpx_missing(a, \"%s\");\n", x->in[i].as, x->in[i].as);
    }
  for (int i = 0; i < x->nout; i++)
    if (x->out[i].as && !x->out[i].ticks) {
      tp_putf(c, "  a->own.out[%d] = (void *)out->%s;\n", i, x->out[i].as);
      if (x->out[i].bytes)
        tp_putf(c, "  if (!out->%s) return tpx_missing(a, \"%s\");\n  memset(out->%s, 0, %lld);\n",
            x->out[i].as, x->out[i].as, x->out[i].as, (long long)x->out[i].bytes);
    }
}

static bool any_array(const tp_export *x) {
  bool any = false;
  for (int i = 0; i < x->nin; i++) any |= x->in[i].as && x->in[i].bytes;
  for (int i = 0; i < x->nout; i++) any |= x->out[i].as && x->out[i].bytes && !x->out[i].ticks;
  return any;
}

static void put_tick_arrays(const exporter *w) {
  const tp_export *x = w->x;
  tp_buf *c = w->c;
  tp_putf(c,
      "  const void *values[%d] = { NULL };\n  void *show[%d] = { NULL };\n  (void)given, "
      "(void)shown;\n",
      TP_MAX(x->nin, 1), TP_MAX(x->nout, 1));
  for (int i = 0; i < x->nin; i++)
    if (x->in[i].as && x->in[i].ticks) {
      tp_putf(c, "  if (given) values[%d] = given->%s;\n", i, x->in[i].as);
      if (x->in[i].bytes)
        tp_putf(c, "  if (given && !values[%d]) return tpx_missing(a, \"%s\");\n", i, x->in[i].as);
    }
  for (int i = 0; i < x->nout; i++)
    if (x->out[i].as && x->out[i].ticks)
      tp_putf(c, "  if (shown) show[%d] = shown->%s;\n", i, x->out[i].as);
  tp_puts(c, "  h.values = values;\n  h.shown = show;\n");
}

static void put_go(const exporter *w) {
  tp_buf *c = w->c;
  put_text(w, c,
      w->x->ticks ? "\nstatic int tpx_go(%n *a, const %n_values *given, const %n_shown *shown) {\n"
                  : "\nstatic int tpx_go(%n *a) {\n");
  tp_puts(c, "  const unsigned char goes_on = 0;\n  int stands;\n");
  put_bases(w);
  tp_puts(c,
      "  tp_host h = { 0 };\n  h.env = a->own.env;\n  h.base = base;\n  h.cancel = &goes_on;\n  "
      "h.exec = a;\n  h.fault = tpx_fault;\n  h.seed = a->seed;\n"
      "  h.room = (char *)a->own.room.b;\n  h.at = a->own.at;\n");
  if (w->x->ticks) put_tick_arrays(w);
  tp_puts(c,
      "  stands = tpx_run(&h);\n  a->own.at = h.at;\n  a->own.over = stands == TPX_WAITS ? 0 : "
      "stands == TPX_OVER ? 2 : 1;\n");
  for (int i = 0; i < w->e.p->bufs.n; i++) {
    const tp_pbuf *b = w->e.p->bufs.v[i];
    const tp_export_array *o = b->holds < 0 ? NULL : &w->x->out[b->holds];
    if (o && w->place[i] >= 0)
      tp_putf(c, "  if (stands == TPX_WAITS) memcpy(a->own.last.b + %lld, base[%d], %lld);\n",
          (long long)w->x->param[o->param].at, i, (long long)o->bytes);
  }
  for (int k = 0; k < w->x->nparam; k++)
    tp_putf(c, "  if (stands != TPX_FAILED) a->own.made[%d] = 1;\n", k);
  tp_puts(c, "  return stands;\n}\n");
}

static void put_doors(const exporter *w) {
  tp_buf *c = w->c;
  bool ticks = w->x->ticks;
  if (any_array(w->x))
    put_text(w, c,
        "\nstatic int tpx_missing(%n *a, const char *what) {\n  a->error = \"an array is not "
        "given\";\n  a->where = what;\n  return 0;\n}\n");
  put_go(w);
  put_text(w, c,
      ticks ? "\nint %n_start(%n *a, const %n_inputs *in, const %n_outputs *out) {\n"
            : "\nint %n_run(%n *a, const %n_inputs *in, const %n_outputs *out) {\n");
  put_given(w);
  put_text(w, c,
      ticks ? "  return tpx_go(a, NULL, NULL) != TPX_FAILED;\n}\n"
              "\nint %n_step(%n *a, const %n_values *values, const %n_shown *shown, int *done) {\n "
              " int stands = TPX_OVER;\n"
              "  if (a->own.over == 1) { a->error = \"no run is going on\"; a->where = \"\"; "
              "return 0; }\n"
              "  if (!a->own.over) stands = tpx_go(a, values, shown);\n"
              "  *done = stands == TPX_OVER;\n  if (stands == TPX_OVER) a->own.over = 1;\n  return "
              "stands != TPX_FAILED;\n}\n"
            : "  return tpx_go(a) != TPX_FAILED;\n}\n");
}

static bool calls_host(const tp_plan *p, const tp_pnode *x) {
  TP_EACH_NODE (k, x)
    if (k.x->rg && k.x->rg->kind == TP_RG_CALL && fn_of(p, k.x) >= 0) return true;
  return false;
}

static void put_file(exporter *w) {
  tp_buf *c = w->c;
  const tp_export *x = w->x;
  put_text(w, c, "/* %n.c: made by tempo. %n.h says what it is. */\n#include \"%n.h\"\n");
  tp_puts(c, head);
  tp_puts(c, w->e.p->reproducible ? unfused : fused);
  tp_putf(c,
      "#define TPX_RANK %d\n#define TPX_OPERANDS %d\n#define TPX_SEED %lluULL\n#define TPX_BUFFERS "
      "%d\n#define TPX_NPARAM %d\n#define TPX_PARAMS %lld\n",
      w->rank, w->operands, (unsigned long long)x->seed, w->e.p->bufs.n, x->nparam,
      (long long)x->weights);
  tp_puts(c, tp_prelude);
  if (calls_host(w->e.p, w->e.p->body)) put_text(w, c, host);
  put_library(w);
}

static void put_code(exporter *w) {
  put_file(w);
  for (int i = 0; i < w->e.p->bufs.n; i++)
    if (w->e.p->bufs.v[i]->kind == TP_BUF_CONST) put_constant(w, w->e.p->bufs.v[i]);
  tp_emit_environments(w->c, w->e.p, w->e.a);
  put_runs(w);
  tp_puts(w->c, "\nstatic const char *tpx_where(int pos) {\n  switch (pos) {\n");
  put_where(w, w->e.p->body);
  tp_puts(w->c, "  }\n  return \"\";\n}\n");
  put_text(w, w->c, foot);
  put_doors(w);
}

/* ---- weights, and an example ---- */

static void put_weights(const exporter *w, tp_buf *b) {
  const tp_export *x = w->x;
  uint64_t magic = 0x31746867692e7074ULL, bytes = (uint64_t)x->weights;
  tp_putn(b, (const char *)&magic, 8);
  tp_putn(b, (const char *)&bytes, 8);
  for (int k = 0; k < x->nparam; k++) {
    uint64_t have = x->param[k].value != NULL;
    tp_putn(b, (const char *)&have, 8);
  }
  for (int k = 0; k < x->nparam; k++) {
    int64_t end = k + 1 < x->nparam ? x->param[k + 1].at : x->weights, n = end - x->param[k].at,
            used = x->param[k].value ? x->param[k].bytes : 0;
    if (used) tp_putn(b, x->param[k].value->data, (size_t)used);
    for (; used < n; used++) tp_putn(b, "", 1);
  }
}

static void put_members(const exporter *w, tp_buf *b, const char *var, const char *what,
    const tp_export_array *v, int n, bool ticks) {
  for (int i = 0; i < n; i++)
    if (v[i].as && v[i].ticks == ticks)
      tp_putf(b, "  static %s %s_%s[%lld];\n", tp_emit_type(v[i].dtype), var, v[i].as,
          (long long)TP_MAX(v[i].bytes / tp_dtype_size(v[i].dtype), 1));
  tp_putf(b, "  %s_%s %s = { ", w->x->name, what, var);
  for (int i = 0, any = 0; i < n; i++)
    if (v[i].as && v[i].ticks == ticks) tp_putf(b, "%s%s_%s", any++ ? ", " : "", var, v[i].as);
  tp_puts(b, any_of(v, n, ticks) ? " };\n" : "0 };\n");
}

static void put_example(const exporter *w, tp_buf *b) {
  const tp_export *x = w->x;
  put_text(w, b,
      "/* How %n is used: cc -std=c99 -O2 %n_main.c %n.c -lm */\n#include <stdio.h>\n#include "
      "\"%n.h\"\n\nstatic %n a;\n\nint main(void) {\n  static unsigned char "
      "weights[%N_WEIGHTS];\n");
  put_members(w, b, "in", "inputs", x->in, x->nin, false);
  put_members(w, b, "out", "outputs", x->out, x->nout, false);
  if (x->ticks) put_members(w, b, "values", "values", x->in, x->nin, true);
  if (x->ticks) put_members(w, b, "shown", "shown", x->out, x->nout, true);
  put_text(w, b,
      "  FILE *f = fopen(\"%n.weights\", \"rb\");\n  size_t n = f ? fread(weights, 1, sizeof "
      "weights, f) : 0;\n  if (f) fclose(f);\n  %n_init(&a);\n"
      "  if (!%n_load(&a, weights, n)) return fputs(\"%n.weights is not what it was\\n\", stderr), "
      "1;\n");
  put_text(w, b,
      x->ticks ? "  int done = 0, ok = %n_start(&a, &in, &out);\n"
               : "  int ok = %n_run(&a, &in, &out);\n");
  if (x->ticks)
    put_text(w, b,
        x->endless ? "  for (int tick = 0; tick < 100 && ok && !done; tick++) ok = %n_step(&a, "
                     "&values, &shown, &done);\n"
                   : "  while (ok && !done) ok = %n_step(&a, &values, &shown, &done);\n");
  put_text(w, b, "  if (!ok) return fprintf(stderr, \"%%s: %%s\\n\", a.where, a.error), 1;\n");
  for (int i = 0; i < x->nout; i++)
    if (x->out[i].as && x->out[i].bytes && !tp_half(x->out[i].dtype))
      tp_putf(b, "  printf(\"%s[0] = %s\\n\", (%s)%s_%s[0]);\n", x->out[i].as,
          tp_dtype_float(x->out[i].dtype) ? "%g" : "%ld",
          tp_dtype_float(x->out[i].dtype) ? "double" : "long", x->out[i].ticks ? "shown" : "out",
          x->out[i].as);
  tp_puts(b, "  return 0;\n}\n");
}

bool tp_emit_export(tp_export_text *to, const tp_plan *p, const tp_export *x, tp_error *err) {
  tp_arena a;
  tp_scratch_init(&a);
  exporter w = {
    .e = { .p = p, .given = x->env, .ix = p->ix, .a = &a, .done = &to->c }, .x = x, .c = &to->c
  };
  w.e.as = TP_NEWN(&a, const tp_region *, p->npos + 1);
  bool ok = all_go(&w.e, p->body, err) && measure(&w, err);
  if (ok) {
    put_code(&w);
    put_header(&w, &to->h);
    put_example(&w, &to->example);
    put_weights(&w, &to->weights);
  }
  tp_arena_free(&a);
  return ok;
}
