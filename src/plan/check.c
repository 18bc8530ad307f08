/* check: the rules that every region of a plan keeps, so that a device can prepare it without
 * checking again. The run checks whatever depends on bounds: extents, windows inside their buffers,
 * indices by data. */
#include "plan/plan.h"
#include "base/env.h"

typedef struct {
  const tp_plan *p;
  const tp_region *r;
  tp_pos at;
  tp_error *err;
} look;

static bool bad(const look *l, const char *what) {
  return tp_fail(l->err, TP_E_FILE, l->at, "file: %s: %s",
      l->r->kind == TP_RG_OP ? tp_ops[l->r->op].text : tp_rg_names[l->r->kind], what);
}

/* ---- windows ---- */

static tp_dtype dtype_of(const look *l, const tp_nd *x) {
  return x->buf < 0 ? TP_NDTYPE : l->p->bufs.v[x->buf]->dtype;
}

static bool window(const look *l, const tp_nd *x) {
  if (x->buf >= l->p->bufs.n) return bad(l, "there is no such buffer");
  if (x->rank < 0 || l->r->nlead + x->rank > TP_MAXRANK) return bad(l, "too many axes");
  if (x->nspan && (x->buf < 0 || x->nspan != l->p->bufs.v[x->buf]->ndim))
    return bad(l, "a span of other dims");
  if (l->r->kind == TP_RG_LOOP && x->rank) return bad(l, "a window has axes of its own");
  return x->wrap < l->r->nlead + x->rank || bad(l, "the axis that wraps is missing");
}

/* Is input k there? A parameter's loaded array may be missing, which only PINIT can deal with. */
static bool input(const look *l, int k) {
  const tp_nd *x = &l->r->in[k];
  if (!window(l, x)) return false;
  if (x->buf < 0) return bad(l, "an input is missing");
  bool loaded = l->r->kind == TP_RG_PINIT && k == 1;
  return (l->p->bufs.v[x->buf]->kind == TP_BUF_PARAM) == loaded ||
      bad(l, "a parameter's array is read by pinit alone");
}

static bool output(const look *l, int k) {
  const tp_nd *x = &l->r->out[k];
  const tp_region *r = l->r;
  bool several = r->kind == TP_RG_CALL || (r->kind == TP_RG_OP && tp_ops[r->op].nout > 1);
  if (!window(l, x)) return false;
  if (x->buf < 0) return several || bad(l, "the result is missing");
  if (x->wrap >= 0 && r->kind != TP_RG_CALL && !(r->kind == TP_RG_LOOP && tp_knows_rings(l->p, r)))
    return bad(l, "a result wraps");
  tp_bufkind kind = l->p->bufs.v[x->buf]->kind;
  return kind == TP_BUF_TEMP || kind == TP_BUF_OUTPUT ||
      bad(l, "the result's buffer is not to be written");
}

/* ---- how many ---- */

static bool counts(const look *l) {
  const tp_region *r = l->r;
  bool is = r->kind == TP_RG_OP, pinit = r->kind == TP_RG_PINIT;
  int nin = is ? tp_ops[r->op].nin : -1, nout = is ? tp_ops[r->op].nout : pinit ? 1 : -1;
  if ((nin >= 0 && r->nin != nin) || (pinit && (r->nin < 1 || r->nin > 2)))
    return bad(l, "the number of inputs is wrong");
  if (nout >= 0 ? r->nout != nout : r->kind == TP_RG_LOOP && r->nout < 1)
    return bad(l, "the number of results is wrong");
  bool sums = r->kind == TP_RG_LOOP ||
      (r->kind == TP_RG_OP && (r->op == TP_OP_MATMUL || r->op == TP_OP_CONV_WEIGHT));
  return !r->acc || sums || bad(l, "does not accumulate");
}

/* ---- elementwise ---- */

static bool elementwise(tp_op op) {
  return tp_op_is_elementwise(op) || op == TP_OP_DETACH || op == TP_OP_FILL || op == TP_OP_VALUE;
}

static bool micro_types(const look *l, const tp_micro *m) {
  tp_dtype d[3] = { TP_BOOL, TP_BOOL, TP_BOOL };
  for (int j = 0; j < tp_ops[m->op].nin; j++) d[j] = tp_operand_type(l->p, l->r, m->in[j]);
  switch (tp_ops[m->op].cls) {
  case TP_CLS_UN:
  case TP_CLS_UNF: return d[0] == m->dtype;
  case TP_CLS_BIN: return d[0] == d[1] && d[0] == m->dtype;
  case TP_CLS_CMP: return d[0] == d[1] && m->dtype == TP_BOOL;
  case TP_CLS_LOG: return d[0] == TP_BOOL && d[1] == TP_BOOL && m->dtype == TP_BOOL;
  case TP_CLS_SEL: return d[0] == TP_BOOL && d[1] == d[2] && d[1] == m->dtype;
  default: return true;
  }
}

static bool micros(const look *l) {
  const tp_region *r = l->r;
  for (int k = 0; k < r->nmicro; k++) {
    const tp_micro *m = &r->micro[k];
    if (!elementwise(m->op)) return bad(l, "an operator that is not elementwise");
    for (int j = 0; j < tp_ops[m->op].nin; j++)
      if (m->in[j] < 0 || m->in[j] >= r->nin + k)
        return bad(l, "an operand that comes after its use");
    if (!micro_types(l, m)) return bad(l, "operands of other dtypes");
  }
  for (int k = 0; k < r->nout; k++)
    if (r->outmicro[k] < 0 || r->outmicro[k] >= r->nmicro)
      return bad(l, "a result that nothing makes");
    else if (r->micro[r->outmicro[k]].dtype != dtype_of(l, &r->out[k]))
      return bad(l, "a result of another dtype");
  return true;
}

static bool loop_ok(const look *l) {
  const tp_region *r = l->r;
  if (r->npoint < 0 || r->npoint > r->nlead) return bad(l, "more dims than axes");
  if (r->sums >> r->nlead) return bad(l, "an axis that is folded is missing");
  if (r->nmicro) return micros(l);
  return (r->nin == 1 && r->nout == 1 && dtype_of(l, &r->in[0]) == dtype_of(l, &r->out[0])) ||
      bad(l, "no operator");
}

/* ---- other operators: dtypes ---- */

/* Do the dtypes fit? One letter for each window, inputs before results, the last one for all
 * further windows: s the same as all other s, h that of the result or 16 bits beside f32, i an
 * index, b bool, u u8, f f32, d f64, x any. */
static bool types(const look *l, const char *letters) {
  const tp_region *r = l->r;
  tp_dtype same = TP_NDTYPE;
  TP_WINDOWS (x, r) {
    tp_dtype d = dtype_of(l, x);
    char c = *letters;
    if (letters[1]) letters++;
    if (d == TP_NDTYPE) continue;
    if (c == 's' && same == TP_NDTYPE) same = d;
    tp_dtype made = dtype_of(l, &r->out[0]);
    bool ok = c == 's' ? d == same
        : c == 'h'     ? d == made || (made == TP_F32 && tp_half(d))
        : c == 'i'     ? d == TP_I64
        : c == 'b'     ? d == TP_BOOL
        : c == 'u'     ? d == TP_U8
        : c == 'f'     ? d == TP_F32
        : c == 'd'     ? d == TP_F64
                       : true;
    if (!ok) return bad(l, "operands of other dtypes");
  }
  return true;
}

static bool env_types(const look *l) {
  const tp_region *r = l->r;
  if (!r->how.str) return bad(l, "no environment");
  if (r->op == TP_OP_ENV_RESET)
    return r->nin <= 1 ? types(l, "d") : bad(l, "the number of inputs is wrong");
  if (r->op == TP_OP_ENV_OBS) return types(l, "df");
  const tp_env *e = tp_env_find(r->how.str);
  bool discrete = e && e->nactions;
  if (r->nin == 2) return types(l, discrete ? "didffbb" : "dfdffbb");
  return r->nin == 3 ? types(l, discrete ? "diddffbb" : "dfddffbb")
                     : bad(l, "the number of inputs is wrong");
}

/* ---- other operators: axes ---- */

/* Do the ranks of x, of the indices, of the addend and of the result fit, in an operator that picks
 * by data? */
static bool picks(const tp_region *r) {
  int x = r->in[0].rank, k = r->in[1].rank, o = r->out[0].rank;
  switch (r->op) {
  case TP_OP_INDEX_SELECT: return k <= 1 && o == x - 1 + k;
  case TP_OP_INDEX_ADD: return k <= 1 && o == x && r->in[2].rank == x - 1 + k;
  case TP_OP_GATHER: return k == x && o == x;
  case TP_OP_MATMUL_AT: return x >= 2 && k == x - 2 && o == x && r->in[2].rank == 3;
  default: return k == x && o == x && r->in[2].rank == x;
  }
}

static bool all_of_rank(const tp_region *r, int rank) {
  TP_WINDOWS (x, r)
    if (x->rank != rank) return false;
  return true;
}

/* Checks an OP. Elementwise operators and reductions are LOOPs. */
static bool op(const look *l) {
  const tp_region *r = l->r;
  bool loops = tp_ops[r->op].cls == TP_CLS_RED || tp_ops[r->op].cls == TP_CLS_TIME ||
      (tp_ops[r->op].cls == TP_CLS_MOVE && r->op != TP_OP_FOLD) || r->op == TP_OP_IOTA ||
      elementwise(r->op);
  if (loops) return bad(l, "is said by a loop");
  const tp_how *a = &r->how;
  const char *letters = "s";
  int x = r->nin ? r->in[0].rank : 0, o = r->nout ? r->out[0].rank : 0;
  bool fit = a->axis >= 0 && a->axis < (r->nin ? x : o);
  switch (tp_ops[r->op].cls) {
  case TP_CLS_ARG: letters = "xi", fit &= o == (a->keepdim ? x : x - 1); break;
  case TP_CLS_SCAN: fit &= all_of_rank(r, x); break;
  case TP_CLS_SORT: letters = "ssi", fit &= all_of_rank(r, x); break;
  case TP_CLS_MM: letters = "hhs", fit = x >= 2 && all_of_rank(r, x); break;
  case TP_CLS_CONV: fit = x >= 4 && all_of_rank(r, x) && a->naxes == 3 * (x - 3); break;
  case TP_CLS_MOVE: fit = x == o + 1 && a->axis >= 0 && a->axis < o; break;
  case TP_CLS_GATH: letters = r->nin == 2 ? "sis" : "siss", fit &= picks(r); break;
  case TP_CLS_FMT:
    letters = r->nin == 1 ? "uf" : "fuf", fit = x >= r->nin && all_of_rank(r, x);
    break;
  case TP_CLS_ENV: return env_types(l);
  case TP_CLS_SRC:
    return !r->nin || (r->nin == 1 && !x && types(l, "ix")) || bad(l, "a key is an i64 scalar");
  default: return true;
  }
  return types(l, letters) && (fit || bad(l, "the axes do not fit"));
}

/* n: how many axes nd begins with */
static bool rows_fit(const tp_rows *r, int n) {
  return r->nd.rank >= n && r->along >= -1 && r->along < n;
}

static bool end_ok(const tp_plan *p, const tp_nd *x, tp_pos at, tp_error *err) {
  bool ok = x->buf >= 0 && x->buf < p->bufs.n && x->rank >= 0 && x->rank <= TP_MAXRANK &&
      x->wrap < 0 && p->bufs.v[x->buf]->kind == TP_BUF_TEMP && p->bufs.v[x->buf]->dtype == TP_I64;
  return ok || tp_fail(err, TP_E_FILE, at, "file: an end is read from a temp of i64");
}

static bool load_ok(const tp_plan *p, const tp_pnode *x, tp_pos at, tp_error *err) {
  const tp_nd *d = &x->nd;
  bool ok = end_ok(p, d, at, err);
  for (int k = 0; k < x->nrows && ok; k++)
    ok = end_ok(p, &x->rows[k].nd, at, err) &&
        (rows_fit(&x->rows[k], d->rank) ||
            tp_fail(err, TP_E_FILE, at, "file: load: rows without the window's axes"));
  return ok;
}

static bool kept_ok(const tp_plan *p, const tp_pnode *x, tp_pos at, tp_error *err) {
  bool ok = x->buf >= 0 && x->buf < p->bufs.n && p->bufs.v[x->buf]->kind == TP_BUF_TEMP &&
      x->dim >= -1 && x->dim < p->bufs.v[x->buf]->ndim;
  return ok ||
      tp_fail(err, TP_E_FILE, at, "file: %s: rows of a temp are wanted",
          x->kind == TP_P_SPILL ? "spill" : "fetch");
}

/* Checks a CALL: dims in `over` lead the axes of all operands and results. */
static bool call_ok(const look *l) {
  const tp_region *r = l->r;
  if (r->call < 0 || r->call >= l->p->calls.n) return bad(l, "there is no such callback");
  const tp_callee *c = &l->p->calls.v[r->call];
  int nover = tp_callee_nover(c);
  if (r->ncoord != c->ndom - nover || (r->ncoord && !r->dim))
    return bad(l, "it is called at points of other dims");
  if (r->nout != c->nres) return bad(l, "the number of results is wrong");
  TP_WINDOWS (x, r)
    if (x->rank < nover) return bad(l, "an operand without its rows");
  for (int k = 0; k < r->nrows; k++) {
    if (!end_ok(l->p, &r->rows[k].nd, l->at, l->err)) return false;
    if (!rows_fit(&r->rows[k], nover))
      return bad(l, "rows that end need an axis for each dim of over");
  }
  return true;
}

/* Checks a region that is looked at for NaN: it is one operator on inputs and numbers, or a sum. */
static bool looked_at(const look *l) {
  const tp_region *r = l->r;
  int along = __builtin_popcount(r->along);
  if (along &&
      (!r->acc || !r->check || r->ncoord > 31 || r->along >> r->ncoord ||
          along > r->nlead - r->npoint))
    return bad(l, "a coordinate along an axis that is not there");
  if (!r->check) return true;
  if (r->kind == TP_RG_OP) return !r->acc || bad(l, "an operator that cannot be checked");
  if (r->acc)
    return r->nin == 1 || (r->nin == 2 && dtype_of(l, &r->in[1]) == TP_BOOL) ||
        bad(l, "a checked sum takes one input, and rows");
  if (r->sums && r->nmicro) return bad(l, "a checked fold takes what is there");
  for (int k = 0; k < r->nmicro; k++)
    if (r->nout != 1 || (k != r->outmicro[0] && r->micro[k].op != TP_OP_FILL))
      return bad(l, "several operators are checked at once");
  return true;
}

static bool region_ok(const tp_plan *p, const tp_region *r, tp_pos at, tp_error *err) {
  look l = { p, r, at, err };
  if (!counts(&l)) return false;
  for (int k = 0; k < r->nin + r->nout; k++)
    if (!(k < r->nin ? input(&l, k) : output(&l, k - r->nin))) return false;
  if (r->kind != TP_RG_CALL && r->nrows) return bad(&l, "only a call has rows that end");
  switch (r->kind) {
  case TP_RG_LOOP: return loop_ok(&l) && looked_at(&l);
  case TP_RG_OP: return op(&l) && looked_at(&l);
  case TP_RG_PINIT:
    return types(&l, "s") && (all_of_rank(r, r->out[0].rank) || bad(&l, "another rank"));
  case TP_RG_CALL: return call_ok(&l);
  case TP_NRG: break;
  }
  return !TP_NEVER(true);
}

bool tp_node_check(const tp_plan *p, const tp_pnode *x, tp_pos at, tp_error *err) {
  switch (x->kind) {
  case TP_P_REGION: return region_ok(p, x->rg, at, err);
  case TP_P_LOAD: return load_ok(p, x, at, err);
  case TP_P_SPILL:
  case TP_P_FETCH: return kept_ok(p, x, at, err);
  default: return true;
  }
}

bool tp_plan_check(const tp_plan *p, tp_error *err) {
  TP_EACH_NODE (k, p->body)
    if (!tp_node_check(p, k.x, k.x->rg ? k.x->rg->pos : (tp_pos){ 0 }, err)) return false;
  return true;
}
