/* text: tokenizers, from texts to ids and back. Rank 3. A file of any kind (read_*.c) becomes one
 * description: pieces with ids, merges, steps that rewrite a text (normal.c) and that cut it
 * (split.c). tokenizer.c goes through a text: tokens that were added stand out first, what lies
 * between is rewritten, cut into words, and each word becomes ids (bpe.c, unigram.c).
 *
 * Text is bytes. If it is no UTF-8, no pattern and no rewriting step sees the broken bytes; they
 * are words of their own, so a vocabulary with bytes keeps them. One thread uses a tokenizer at a
 * time. PCRE2 and utf8proc are opened at run time by the first tokenizer that needs them. */
#ifndef TP_TEXT_H
#define TP_TEXT_H
#include "io/weights.h"

typedef struct tp_tokenizer tp_tokenizer;
typedef struct {
  const char *s;
  size_t n;
} tp_chars;
typedef TP_VEC(int32_t) tp_ids;

/* The readers need a guard; `label` is what messages call the file. Errors are of class file. */
TP_GIVE tp_tokenizer *tp_tokenizer_json(tp_chars text, const char *label, tp_error *err);
TP_GIVE tp_tokenizer *tp_tokenizer_sentencepiece(tp_chars bytes, const char *label, tp_error *err);
typedef struct {
  tp_chars text;
  int64_t id;
} tp_special;
/* pattern: PCRE2's, which cuts a text into words */
TP_GIVE tp_tokenizer *tp_tokenizer_tiktoken(tp_chars bytes, const char *pattern, int nspecial,
    const tp_special *special, const char *label, tp_error *err);
/* By a GGUF file's metadata, tokenizer.* */
TP_GIVE tp_tokenizer *tp_tokenizer_gguf(const tp_weights *w, tp_error *err);
tp_tokenizer *tp_tokenizer_free(TP_TAKE tp_tokenizer *t); /* NULL-safe, gives NULL */

/* The facts that the file gives; -1: nothing. */
typedef struct {
  int size, bos, eos, eot, unk; /* size: the greatest id and one; eot: the end of a turn */
  bool add_bos;                 /* texts for the model begin with bos */
  tp_chars chat;                /* the template of chats */
} tp_tokenizer_facts;
tp_tokenizer_facts tp_tokenizer_look(const tp_tokenizer *t);
/* The ids of a text, behind those in `out`, which is in arena a. special: special tokens in the
 * text are read as such. Needs a guard. */
bool tp_tokenizer_encode(
    tp_tokenizer *t, tp_chars text, bool special, tp_arena *a, tp_ids *out, tp_error *err);
/* The bytes of one id. special: of special ones too. False: there is no such id. */
bool tp_tokenizer_piece(const tp_tokenizer *t, int64_t id, bool special, tp_chars *out);
/* Is a space in front of a whole text left out? */
bool tp_tokenizer_strips(const tp_tokenizer *t);
/* The id of a piece or token whose text is exactly this; -1: there is none. */
int tp_tokenizer_find(const tp_tokenizer *t, tp_chars text);
#endif
