/* read_sentencepiece: tokenizer.model. Debian's libsentencepiece has only an interface in C++,
 * whose symbols depend on compiler and version, so it cannot be opened at run time from C; and its
 * file is a small protocol buffer. So the file is read here (pieces, scores, kinds, what the
 * trainer and the normaliser were told), and bpe.c and unigram.c do what the library does. Broken
 * UTF-8 stays as it is where the vocabulary has bytes; the library makes U+FFFD of it. */
#include "text/priv.h"

/* ---- protocol buffers ---- */
typedef struct {
  tp_chars left;
  bool bad;
} proto;
typedef struct {
  int number;
  uint64_t value; /* of a number; bits of a float */
  tp_chars bytes; /* of a text or a message */
} proto_field;

static uint64_t take_varint(proto *p) {
  uint64_t v = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (!p->left.n) break;
    uint64_t byte = (unsigned char)*p->left.s++;
    p->left.n--;
    v |= (byte & 127) << shift;
    if (byte < 128) return v;
  }
  p->bad = true;
  return 0;
}

static tp_chars take_chars(proto *p, uint64_t n) {
  p->bad |= n > p->left.n;
  if (p->bad) return (tp_chars){ "", 0 };
  tp_chars x = { p->left.s, (size_t)n };
  p->left.s += n;
  p->left.n -= n;
  return x;
}

static bool next_field(proto *p, proto_field *f) {
  if (p->bad || !p->left.n) return false;
  uint64_t tag = take_varint(p);
  *f = (proto_field){ .number = (int)TP_MIN(tag >> 3, 1u << 30) };
  int kind = (int)(tag & 7), size = kind == 1 ? 8 : 4;
  if (kind == 0) f->value = take_varint(p);
  else if (kind == 2) f->bytes = take_chars(p, take_varint(p));
  else if (kind == 1 || kind == 5) {
    tp_chars x = take_chars(p, (uint64_t)size);
    if (x.n) memcpy(&f->value, x.s, x.n);
  } else p->bad = true;
  return !p->bad;
}

/* ---- the model ---- */
enum { FIELD_PIECE = 1, FIELD_TRAINER = 2, FIELD_NORMALISER = 3 };
enum { KIND_UNIGRAM = 1, KIND_BPE = 2 };
typedef struct {
  int64_t n, kind, unk, bos, eos;
  bool byte_fallback, suffix, dummy, merge, escape;
  tp_chars charsmap;
} sp_model;

static void read_trainer(sp_model *m, proto p) {
  for (proto_field f; next_field(&p, &f);) {
    int32_t v = (int32_t)f.value;
    if (f.number == 3) m->kind = v;
    else if (f.number == 24) m->suffix = v;
    else if (f.number == 35) m->byte_fallback = v;
    else if (f.number == 40) m->unk = v;
    else if (f.number == 41) m->bos = v;
    else if (f.number == 42) m->eos = v;
  }
}

static void read_normaliser(sp_model *m, proto p) {
  for (proto_field f; next_field(&p, &f);)
    if (f.number == 2) m->charsmap = f.bytes;
    else if (f.number == 3) m->dummy = f.value != 0;
    else if (f.number == 4) m->merge = f.value != 0;
    else if (f.number == 5) m->escape = f.value != 0;
}

static bool read_model(tp_tokenizer *t, proto p, sp_model *m, tp_error *err) {
  *m = (sp_model){
    .kind = KIND_UNIGRAM, .bos = 1, .eos = 2, .dummy = true, .merge = true, .escape = true
  };
  for (proto_field f; next_field(&p, &f);) {
    if (f.number == FIELD_PIECE) m->n++;
    else if (f.number == FIELD_TRAINER) read_trainer(m, (proto){ .left = f.bytes });
    else if (f.number == FIELD_NORMALISER) read_normaliser(m, (proto){ .left = f.bytes });
  }
  if (p.bad || !m->n) return tp_text_fail(t, err, "it is no SentencePiece model");
  if (m->kind != KIND_UNIGRAM && m->kind != KIND_BPE)
    return tp_text_fail(t, err, "its type is words or characters; Unigram and BPE are read");
  if (m->suffix || !m->escape)
    return tp_text_fail(t, err, "spaces behind words, or not escaped, are not read");
  if (!tp_charsmap_ok(m->charsmap)) return tp_text_fail(t, err, "its character map is broken");
  return true;
}

static bool put_piece_field(tp_tokenizer *t, int id, proto p, tp_error *err) {
  tp_chars text = { 0 };
  float score = 0;
  int64_t kind = TP_PIECE_NORMAL;
  for (proto_field f; next_field(&p, &f);) {
    if (f.number == 1) text = f.bytes;
    else if (f.number == 2) memcpy(&score, &f.value, sizeof score);
    else if (f.number == 3) kind = (int64_t)f.value;
  }
  if (p.bad || kind < TP_PIECE_NORMAL || kind > TP_PIECE_BYTE)
    return tp_text_fail(t, err, "piece %d is broken", id);
  tp_piece_set(t, id, text, score, (tp_piece_kind)kind);
  tp_vocab_piece *x = &t->piece[id];
  if (kind == TP_PIECE_UNKNOWN)
    x->out = tp_chars_of(" \xe2\x81\x87 "); /* as the library shows it */
  tp_added added = { .text = x->text, .id = id, .special = true };
  if (kind == TP_PIECE_CONTROL || kind == TP_PIECE_UNKNOWN)
    return tp_added_put(t, added, false, err);
  if (kind != TP_PIECE_USER) return true;
  if (text.n > TP_MAXENTRY)
    return tp_text_fail(t, err, "piece %d has more than %d bytes", id, TP_MAXENTRY);
  tp_trie_put(&t->a, &t->user, x->text, id);
  return true;
}

static int id_in(const tp_tokenizer *t, int64_t id) { return id >= 0 && id < t->n ? (int)id : -1; }

static bool fill_sentencepiece(tp_tokenizer *t, const void *bytes, tp_error *err) {
  sp_model m;
  proto p = { .left = *(const tp_chars *)bytes };
  int id = 0;
  if (!read_model(t, p, &m, err) || !tp_pieces_room(t, m.n, err)) return false;
  for (proto_field f; next_field(&p, &f);)
    if (f.number == FIELD_PIECE && !put_piece_field(t, id++, (proto){ .left = f.bytes }, err))
      return false;
  tp_norm s = { .kind = TP_NORM_PIECES, .dummy = m.dummy, .merge = m.merge };
  s.charsmap = tp_chars_dup(t, m.charsmap);
  TP_PUSH(&t->a, &t->norm, s);
  t->bos = id_in(t, m.bos);
  t->eos = id_in(t, m.eos);
  t->unk = id_in(t, m.unk);
  t->add_bos = t->bos >= 0;
  t->strip = m.dummy;
  t->byte_fallback = m.byte_fallback;
  t->fuse_unk = t->single = true;
  t->model = m.kind == KIND_BPE ? TP_MODEL_TEXTS : TP_MODEL_UNIGRAM;
  tp_pieces_done(t, true);
  tp_rank_scores(t);
  return t->model == TP_MODEL_TEXTS || tp_unigram_done(t, false, err);
}

tp_tokenizer *tp_tokenizer_sentencepiece(tp_chars bytes, const char *label, tp_error *err) {
  return tp_tokenizer_filled(label, fill_sentencepiece, &bytes, err);
}
