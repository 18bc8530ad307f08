/* tokenizer: opens the bytes of a tokenizer's file, whatever kind it is, and uses it, for
 * tokenizer_test.c and the fuzzer. */
#ifndef TOKENIZER_H
#define TOKENIZER_H
#include "text/text.h"
#include "weights.h"

/* The bytes' end and a text of all kinds, there and back. */
static void use_tokenizer(tp_tokenizer *t, tp_chars x) {
  static const char kinds[] = "Hello wörld, 你好 😀 12345  <s> <|x|>\n\xff\xc3 e\xcc\x81 ";
  tp_error err = { 0 };
  tp_arena a;
  tp_ids ids = { 0 };
  tp_chars piece, end = { x.s + (x.n > 64 ? x.n - 64 : 0), TP_MIN(x.n, 64) };
  tp_scratch_init(&a);
  bool ok = tp_tokenizer_encode(t, (tp_chars){ kinds, sizeof kinds - 1 }, true, &a, &ids, &err) &&
      tp_tokenizer_encode(t, end, false, &a, &ids, &err);
  if (!ok && !err.code) abort();
  for (int k = 0; k < ids.n; k++) {
    if (!tp_tokenizer_piece(t, ids.v[k], true, &piece)) abort();
    read_bytes(piece.s, piece.n);
  }
  tp_arena_free(&a);
}

static void drop_tokenizer(void *t) { tp_tokenizer_free(t); }

static bool open_tokenizer(tp_weights *w, const void *from, tp_error *err) {
  const bytes_t *b = from;
  tp_chars x = { b->p, b->n };
  w->path = b->path;
  bool gguf = b->n >= 4 && !memcmp(x.s, "GGUF", 4);
  if (gguf && !open_bytes(w, &(bytes_t){ b->path, b->p, b->n, gguf_of }, err)) return false;
  tp_tokenizer *t = gguf     ? tp_tokenizer_gguf(w, err)
      : b->n && *x.s == '{'  ? tp_tokenizer_json(x, b->path, err)
      : b->n && *x.s == '\n' ? tp_tokenizer_sentencepiece(x, b->path, err)
                             : tp_tokenizer_tiktoken(x, "\\w+|\\s+|.", 1,
                                   &(tp_special){ { "<|x|>", 5 }, 1000 }, b->path, err);
  if (!t) return false;
  tp_hold h;
  tp_hold_set(&h, drop_tokenizer, t);
  use_tokenizer(t, x);
  tp_hold_end(&h);
  tp_tokenizer_free(t);
  return true;
}
#endif
