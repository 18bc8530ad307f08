/* read_gguf: the vocabulary in GGUF's metadata, read as llama.cpp reads it. "gpt2" is byte-level
 * BPE, cut by the patterns of tokenizer.ggml.pre (pre.def); "llama" is SentencePiece's BPE by
 * scores; "t5" its Unigram; "gemma4" BPE by merges on characters. Others are refused. */
#include "text/priv.h"

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

static const char bar[] = "\xe2\x96\x81";

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

static tp_piece_kind kind_of(const tp_gguf_vocab *v, int64_t i) {
  int32_t kind = v->kind ? v->kind[i] : TP_PIECE_NORMAL;
  return kind > TP_PIECE_NONE && kind <= TP_PIECE_BYTE ? (tp_piece_kind)kind : TP_PIECE_NORMAL;
}

static bool is_any(tp_chars x, const char *const *names) {
  for (; *names; names++)
    if (tp_chars_same(x, tp_chars_of(*names))) return true;
  return false;
}

/* Phi-3's files do not say that its tokens take the white space behind them along. */
static bool takes_space(const tp_gguf_vocab *v, tp_chars token) {
  static const char *const not[] = { "<unk>", "<s>", "<|endoftext|>", NULL };
  bool phi = v->name && (strstr(v->name, "phi-3") || strstr(v->name, "Phi-3") || strstr(v->name, "phi3"));
  return phi && !is_any(token, not);
}

static bool put_tokens(tp_tokenizer *t, const tp_gguf_vocab *v, tp_error *err) {
  if (!tp_pieces_room(t, v->n, err)) return false;
  for (int id = 0; id < t->n; id++) {
    tp_chars text = v->token(v->ud, id), bytes;
    tp_piece_kind kind = kind_of(v, id);
    bool stands_out = kind >= TP_PIECE_UNKNOWN && kind <= TP_PIECE_USER;
    bool literal = stands_out || !t->byte_level || !tp_bytes_of(t, text, &bytes);
    tp_piece_set(t, id, literal ? text : bytes, v->score ? v->score[id] : 0, kind);
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
  for (int64_t i = 0; i < v->nmerge; i++) {
    tp_chars x = v->merge(v->ud, i), l, r;
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
  add_norm(t, (tp_norm){ .kind = TP_NORM_REPLACE, .from = { " ", 1 }, .to = { bar, 3 } });
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
  if (t->strip) add_norm(t, (tp_norm){ .kind = TP_NORM_PREPEND, .to = { bar, 3 } });
  add_norm(t, (tp_norm){ .kind = TP_NORM_REPLACE, .from = { " ", 1 }, .to = { bar, 3 } });
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
  add_norm(t, (tp_norm){ .kind = TP_NORM_PIECES,
                  .dummy = t->strip,
                  .merge = v->remove_extra_whitespaces > 0,
                  .charsmap = tp_chars_dup(t, v->charsmap) });
  tp_pieces_done(t, true);
  return tp_unigram_done(t, false, err);
}

static bool fill_gguf(tp_tokenizer *t, const void *vocab, tp_error *err) {
  const tp_gguf_vocab *v = vocab;
  static const struct {
    const char *model;
    bool (*fill)(tp_tokenizer *, const tp_gguf_vocab *, tp_error *);
  } kinds[] = { { "gpt2", fill_bpe }, { "llama", fill_scores }, { "t5", fill_unigram },
    { "gemma4", fill_gemma } };
  size_t k = 0;
  if (!v->model) return tp_text_fail(t, err, "tokenizer.ggml.model is missing");
  while (k < TP_LEN(kinds) && strcmp(kinds[k].model, v->model)) k++;
  if (k == TP_LEN(kinds))
    return tp_text_fail(t, err, "tokenizer.ggml.model is '%.60s'; gpt2, llama, t5 and gemma4 are read",
        v->model);
  if (!kinds[k].fill(t, v, err)) return false;
  t->bos = v->bos >= 0 && v->bos < t->n ? (int)v->bos : -1;
  t->eos = v->eos >= 0 && v->eos < t->n ? (int)v->eos : -1;
  if (v->unk >= 0 && v->unk < t->n && !t->byte_level) t->unk = (int)v->unk;
  if (v->add_bos >= 0) t->add_bos = v->add_bos;
  return true;
}

tp_tokenizer *tp_tokenizer_gguf(const tp_gguf_vocab *v, const char *label, tp_error *err) {
  return tp_tokenizer_filled(label, fill_gguf, v, err);
}
