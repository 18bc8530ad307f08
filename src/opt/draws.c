/* draws: an environment draws the uniforms of its step itself.
 *
 *   env_step {str e} state, action, (rand {hash h} : f64 [n])  =>  env_step {str e, hash h} state,
 *                                                                  action
 *
 * A draw's number depends on hash, point and element only, so these are the same numbers if the
 * draw has the step's own points. Those of a reset are made only where an episode ends. */
#include "opt/opt.h"

static bool same_dims(const tp_node *a, const tp_node *b) {
  bool same = a->ndom == b->ndom;
  for (int d = 0; d < a->ndom && same; d++) same = a->dom[d] == b->dom[d];
  return same;
}

/* Do the step's state and action alone have all its dims? */
static bool stays_there(const tp_node *n) {
  bool all = true;
  for (int d = 0; d < n->ndom && all; d++) {
    all = false;
    for (int k = 0; k < 2; k++) {
      const tp_node *x = n->in[k].src.node;
      for (int i = 0; i < x->ndom; i++) all |= x->dom[i] == n->dom[d];
    }
  }
  return all;
}

static bool draws_itself(const tp_node *n) {
  const tp_node *u = n->op == TP_OP_ENV_STEP && n->nin == 3 ? n->in[2].src.node : NULL;
  return u && u->op == TP_OP_RAND && !u->nin && u->attr.rand == TP_RAND_UNIFORM &&
      u->out[0].dtype == TP_F64 && same_dims(u, n) && stays_there(n);
}

bool tp_pass_draws(tp_work *job, tp_error *err) {
  (void)err;
  TP_NODES (n, job->g->nodes) {
    if (!draws_itself(n)) continue;
    n->attr.hash = n->in[2].src.node->attr.hash;
    n->nin = 2;
    tp_tell(job->g, "draws", n->pos,
        tp_printf(&job->g->arena, "%s: draws where it resets", tp_title(&job->g->arena, n)));
  }
  return true;
}
