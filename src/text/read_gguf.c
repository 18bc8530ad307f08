/* read_gguf: the vocabulary in GGUF's metadata, read as llama.cpp reads it. "gpt2" is byte-level
 * BPE, cut by the patterns of tokenizer.ggml.pre (pre.def); "llama" is SentencePiece's BPE by
 * scores; "t5" its Unigram; "gemma4" BPE by merges on characters. Others are refused. */
#include "text/priv.h"

/* The facts of tokenizer.ggml.*: numbers that are missing are -1, texts NULL. */
typedef struct {
  const char *model, *pre, *name; /* name: general.name */
  int n, nmerge;
  tp_chars *token, *merge;
  const uint8_t *score, *kind; /* n numbers, not aligned; NULL: none */
  int64_t add_bos, add_space_prefix, remove_extra_whitespaces;
  tp_chars charsmap;
} tp_gguf_vocab;

typedef struct {
  const char *name;
  const char *const *pattern;
  bool ignore_merges, add_bos;
} pre_row;

#define P(NAME, ...) static const char *const pre_##NAME[] = { __VA_ARGS__, NULL };
#include "text/pre.def"
#undef P
#define N(name, NAME, ignore, bos) { name, pre_##NAME, ignore, bos },
static const pre_row pres[] = {
#include "text/pre.def"
};
#undef N

static bool add_cuts(tp_tokenizer *t, const char *const *pattern, tp_error *err) {
  for (; *pattern; pattern++) {
    tp_split cut = { .kind = TP_STEP_CUT };
    cut.re = tp_pattern_new(t, tp_chars_of(*pattern), false, false, err);
    if (!cut.re) return false;
    TP_PUSH(&t->a, &t->split, cut);
  }
  return true;
}

static bool add_pre(tp_tokenizer *t, const char *name, tp_error *err) {
  for (size_t k = 0; k < TP_LEN(pres); k++) {
    if (strcmp(name, pres[k].name)) continue;
    t->ignore_merges = pres[k].ignore_merges;
    t->add_bos = pres[k].add_bos;
    return add_cuts(t, pres[k].pattern, err);
  }
  return tp_text_fail(t, err, "tokenizer.ggml.pre is '%.60s', which is not known", name);
}

static tp_piece_kind kind_of(const tp_gguf_vocab *v, size_t i) {
  int32_t kind = TP_PIECE_NORMAL;
  if (v->kind) memcpy(&kind, v->kind + 4 * i, sizeof kind);
  return kind > TP_PIECE_NONE && kind <= TP_PIECE_BYTE ? (tp_piece_kind)kind : TP_PIECE_NORMAL;
}

static bool is_any(tp_chars x, const char *const *names) {
  for (; *names; names++)
    if (tp_chars_same(x, tp_chars_of(*names))) return true;
  return false;
}

/* Phi-3's files do not say that its tokens take the white space behind them along. */
static bool takes_space(const tp_gguf_vocab *v, tp_chars token) {
  static const char *const not [] = { "<unk>", "<s>", "<|endoftext|>", NULL };
  bool phi =
      v->name && (strstr(v->name, "phi-3") || strstr(v->name, "Phi-3") || strstr(v->name, "phi3"));
  return phi && !is_any(token, not );
}

static bool put_tokens(tp_tokenizer *t, const tp_gguf_vocab *v, tp_error *err) {
  if (!tp_pieces_room(t, v->n, err)) return false;
  for (int id = 0; id < t->n; id++) {
    tp_chars text = v->token[id], bytes;
    float score = 0;
    tp_piece_kind kind = kind_of(v, (size_t)id);
    bool stands_out = kind >= TP_PIECE_UNKNOWN && kind <= TP_PIECE_USER;
    bool literal = stands_out || !t->byte_level || !tp_bytes_of(t, text, &bytes);
    if (v->score) memcpy(&score, v->score + 4 * (size_t)id, sizeof score);
    tp_piece_set(t, id, literal ? text : bytes, score == score ? score : 0, kind);
    if (literal && t->byte_level && !stands_out) t->piece[id].text.n = 0; /* in no word */
    if (!stands_out) continue;
    tp_added added = { .text = t->piece[id].text,
      .id = id,
      .special = kind != TP_PIECE_USER,
      .rstrip = takes_space(v, text) };
    if (!tp_added_put(t, added, false, err)) return false;
  }
  return true;
}

/* "a b": the first space that is not the first byte */
static void put_merges(tp_tokenizer *t, const tp_gguf_vocab *v) {
  for (int i = 0; i < v->nmerge; i++) {
    tp_chars x = v->merge[i], l, r;
    const char *space = x.n > 1 ? memchr(x.s + 1, ' ', x.n - 1) : NULL;
    if (!space) continue;
    l = (tp_chars){ x.s, (size_t)(space - x.s) };
    r = (tp_chars){ space + 1, x.n - l.n - 1 };
    if (t->byte_level && (!tp_bytes_of(t, l, &l) || !tp_bytes_of(t, r, &r))) continue;
    tp_merge_put(t, l, r, (uint32_t)i);
  }
}

static void add_norm(tp_tokenizer *t, tp_norm s) { TP_PUSH(&t->a, &t->norm, s); }

static bool fill_bpe(tp_tokenizer *t, const tp_gguf_vocab *v, tp_error *err) {
  t->byte_level = true;
  if (!add_pre(t, v->pre ? v->pre : "default", err) || !put_tokens(t, v, err)) return false;
  tp_pieces_done(t, false);
  put_merges(t, v);
  return true;
}

/* lines are words */
static bool fill_gemma(tp_tokenizer *t, const tp_gguf_vocab *v, tp_error *err) {
  static const char *const lines[] = { "[^\\n]+|[\\n]+", NULL };
  t->byte_fallback = t->ignore_merges = t->add_bos = true;
  if (!add_cuts(t, lines, err) || !put_tokens(t, v, err)) return false;
  add_norm(t, (tp_norm){ .kind = TP_NORM_REPLACE, .from = { " ", 1 }, .to = { TP_BAR, 3 } });
  tp_pieces_done(t, true);
  put_merges(t, v);
  return true;
}

static bool fill_scores(tp_tokenizer *t, const tp_gguf_vocab *v, tp_error *err) {
  t->model = TP_MODEL_TEXTS;
  t->byte_fallback = t->add_bos = true;
  t->strip = v->add_space_prefix != 0;
  if (!v->score) return tp_text_fail(t, err, "tokenizer.ggml.scores is missing");
  if (!put_tokens(t, v, err)) return false;
  if (t->strip) add_norm(t, (tp_norm){ .kind = TP_NORM_PREPEND, .to = { TP_BAR, 3 } });
  add_norm(t, (tp_norm){ .kind = TP_NORM_REPLACE, .from = { " ", 1 }, .to = { TP_BAR, 3 } });
  tp_pieces_done(t, true);
  tp_rank_scores(t);
  return true;
}

static bool fill_unigram(tp_tokenizer *t, const tp_gguf_vocab *v, tp_error *err) {
  t->model = TP_MODEL_UNIGRAM;
  t->fuse_unk = true;
  t->strip = v->add_space_prefix != 0;
  if (!v->score) return tp_text_fail(t, err, "tokenizer.ggml.scores is missing");
  if (!tp_charsmap_ok(v->charsmap))
    return tp_text_fail(t, err, "tokenizer.ggml.precompiled_charsmap is broken");
  if (!put_tokens(t, v, err)) return false;
  add_norm(t,
      (tp_norm){ .kind = TP_NORM_PIECES,
          .dummy = t->strip,
          .merge = v->remove_extra_whitespaces > 0,
          .charsmap = tp_chars_dup(t, v->charsmap) });
  tp_pieces_done(t, true);
  return tp_unigram_done(t, false, err);
}

static bool fill_by_model(tp_tokenizer *t, const tp_gguf_vocab *v, tp_error *err) {
  static const struct {
    const char *model;
    bool (*fill)(tp_tokenizer *, const tp_gguf_vocab *, tp_error *);
  } kinds[] = { { "gpt2", fill_bpe }, { "llama", fill_scores }, { "t5", fill_unigram },
    { "gemma4", fill_gemma } };
  for (size_t k = 0; v->model && k < TP_LEN(kinds); k++)
    if (!strcmp(kinds[k].model, v->model)) return kinds[k].fill(t, v, err);
  return tp_text_fail(t, err,
      "tokenizer.ggml.model is '%.60s': gpt2, llama, t5 and gemma4 are read",
      v->model ? v->model : "missing");
}

/* ---- metadata ---- */

static const tp_meta *meta_at(const tp_weights *w, const char *name) {
  char key[80];
  snprintf(key, sizeof key, "tokenizer.%s", name);
  return tp_weights_meta(w, key);
}

static tp_chars meta_text(const tp_meta *m) {
  bool is = m && m->type == TP_META_TEXT;
  return (tp_chars){ is ? (const char *)m->p : "", is ? m->n : 0 };
}

/* with a 0 behind; NULL: missing */
static char *meta_string(tp_tokenizer *t, const tp_meta *m) {
  tp_chars x = meta_text(m);
  return x.n ? tp_printf(&t->a, "%.*s", (int)TP_MIN(x.n, 256), x.s) : NULL;
}

static int64_t meta_int(const tp_weights *w, const char *name) {
  int64_t v;
  const tp_meta *m = meta_at(w, name);
  if (m && m->type == TP_META_BOOL) return tp_meta_number(m) != 0;
  return m && tp_meta_integer(m, &v) ? v : -1;
}

static tp_chars *meta_texts(tp_tokenizer *t, const tp_meta *m, int *n) {
  *n = 0;
  if (!m || m->type != TP_META_LIST || m->of != TP_META_TEXT || m->n > 1 << 24) return NULL;
  tp_meta rest = *m, item;
  tp_chars *v = TP_NEWN(&t->a, tp_chars, m->n);
  while (tp_meta_next(&rest, &item)) v[(*n)++] = meta_text(&item);
  return v;
}

/* n numbers of 4 bytes; NULL: no such list */
static const uint8_t *meta_numbers(const tp_meta *m, tp_meta_type of, int n) {
  return m && m->type == TP_META_LIST && m->of == of && m->n >= (uint64_t)n ? m->p : NULL;
}

static int id_below(const tp_tokenizer *t, int64_t id) {
  return id >= 0 && id < t->n ? (int)id : -1;
}

static bool fill_gguf(tp_tokenizer *t, const void *weights, tp_error *err) {
  const tp_weights *w = weights;
  const tp_meta *map = meta_at(w, "ggml.precompiled_charsmap");
  tp_gguf_vocab v = { .model = meta_string(t, meta_at(w, "ggml.model")),
    .pre = meta_string(t, meta_at(w, "ggml.pre")),
    .name = meta_string(t, tp_weights_meta(w, "general.name")),
    .add_bos = meta_int(w, "ggml.add_bos_token"),
    .add_space_prefix = meta_int(w, "ggml.add_space_prefix"),
    .remove_extra_whitespaces = meta_int(w, "ggml.remove_extra_whitespaces") };
  v.token = meta_texts(t, meta_at(w, "ggml.tokens"), &v.n);
  v.merge = meta_texts(t, meta_at(w, "ggml.merges"), &v.nmerge);
  v.score = meta_numbers(meta_at(w, "ggml.scores"), TP_META_F32, v.n);
  v.kind = meta_numbers(meta_at(w, "ggml.token_type"), TP_META_I32, v.n);
  if (map && map->type == TP_META_LIST && tp_meta_size(map->of) == 1)
    v.charsmap = (tp_chars){ (const char *)map->p, map->n };
  if (!fill_by_model(t, &v, err)) return false;
  t->bos = id_below(t, meta_int(w, "ggml.bos_token_id"));
  t->eos = id_below(t, meta_int(w, "ggml.eos_token_id"));
  t->eot = id_below(t, meta_int(w, "ggml.eot_token_id"));
  if (!t->byte_level) t->unk = id_below(t, meta_int(w, "ggml.unknown_token_id"));
  if (v.add_bos >= 0) t->add_bos = v.add_bos;
  t->chat = tp_chars_dup(t, meta_text(meta_at(w, "chat_template")));
  return true;
}

tp_tokenizer *tp_tokenizer_gguf(const tp_weights *w, tp_error *err) {
  return tp_tokenizer_filled(w->path, fill_gguf, w, err);
}
