/* priv: one tokenizer, whatever file it came from. */
#ifndef TP_TEXT_PRIV_H
#define TP_TEXT_PRIV_H
#include "text/text.h"

/* Limits on untrusted files. A trie is walked from each byte of a text, so that its longest entry
 * bounds the work a byte. */
enum { TP_MAXSTEPS = 32, TP_MAXENTRY = 256, TP_MAXRULE = 65536 };
#define TP_MAXTEXT ((size_t)1 << 30)

/* ---- maps (map.c): open addressing, nothing is ever taken out ---- */
typedef struct {
  uint64_t key;
  uint32_t a, b;
} tp_map_pair;
typedef struct {
  tp_arena *a;
  tp_map_pair *v; /* key UINT64_MAX: free */
  size_t n, cap;
} tp_pairs;
const tp_map_pair *tp_pairs_get(const tp_pairs *m, uint64_t key);
/* The first value of a key stays. */
void tp_pairs_put(tp_pairs *m, uint64_t key, uint32_t a, uint32_t b);
static inline uint64_t tp_pair_key(int32_t l, int32_t r) {
  return (uint64_t)(uint32_t)l << 32 | (uint32_t)r;
}

/* Texts to numbers: node 0 is the root; an edge is (node, byte). */
typedef struct {
  tp_pairs edge;         /* a: the node it leads to */
  TP_VEC(int32_t) value; /* by node; -1: no entry ends here */
  bool starts[256];      /* has the root this edge? */
} tp_trie;
void tp_trie_put(tp_arena *a, tp_trie *t, tp_chars text, int value);
/* The node behind it; -1: none. */
static inline int tp_trie_step(const tp_trie *t, int node, char c) {
  if (!node && !t->starts[(unsigned char)c]) return -1;
  const tp_map_pair *p = tp_pairs_get(&t->edge, (uint64_t)(uint32_t)node << 8 | (unsigned char)c);
  return p ? (int)p->a : -1;
}
/* The longest entry with which x begins: its value, or -1. */
int tp_trie_match(const tp_trie *t, tp_chars x, size_t *n);

/* ---- pieces ---- */
/* SentencePiece's numbers, which GGUF has too, but for the last two */
typedef enum {
  TP_PIECE_NONE,
  TP_PIECE_NORMAL,
  TP_PIECE_UNKNOWN,
  TP_PIECE_CONTROL,
  TP_PIECE_USER,
  TP_PIECE_UNUSED,
  TP_PIECE_BYTE
} tp_piece_kind;
typedef struct {
  tp_chars text; /* as it stands in words */
  tp_chars out;  /* as it stands in texts */
  double score;
  uint32_t rank; /* the lower, the earlier it is made of two */
  uint8_t kind;
  uint8_t whole; /* of a word equal to it: 0: unknown, 1: becomes this id alone, 2: does not */
} tp_vocab_piece;

/* ---- added tokens ---- */
typedef struct {
  tp_chars text;
  int32_t id;
  bool special, lstrip, rstrip, single;
} tp_added;

/* ---- steps ---- */
typedef struct tp_pattern tp_pattern; /* split.c */
typedef struct {
  enum {
    TP_NORM_FORM,    /* form: utf8proc's options */
    TP_NORM_PREPEND, /* to */
    TP_NORM_REPLACE, /* from, or what the pattern matches, => to */
    TP_NORM_LOWER,
    TP_NORM_STRIP, /* white space at the left, the right end */
    TP_NORM_MARKS, /* leaves out combining marks */
    TP_NORM_PIECES /* SentencePiece's: see normal.c */
  } kind;
  int form;
  tp_chars from, to;
  tp_pattern *re;
  bool left, right;
  bool dummy, merge; /* a space in front; runs of spaces become one, at the ends none */
  tp_chars charsmap;
} tp_norm;
typedef enum {
  TP_CUT_ISOLATED,
  TP_CUT_REMOVED,
  TP_CUT_CONTIGUOUS,
  TP_CUT_WITH_PREVIOUS,
  TP_CUT_WITH_NEXT
} tp_cut_kind;
typedef struct {
  enum {
    TP_STEP_CUT,   /* cuts at the pattern's matches */
    TP_STEP_SPACE, /* puts a space in front */
    TP_STEP_BYTES, /* bytes => the characters that stand for them */
    TP_STEP_META   /* spaces => with, and one in front */
  } kind;
  tp_pattern *re;
  tp_cut_kind cut;
  bool invert;
  tp_chars with;
  enum { TP_FRONT_NEVER, TP_FRONT_FIRST, TP_FRONT_ALWAYS } front;
} tp_split;

struct tp_tokenizer {
  tp_arena a; /* all of it, but for patterns */
  const char *label;
  int n; /* ids are below */
  tp_vocab_piece *piece;
  struct {
    uint32_t hash, id1; /* id1: the id and one; 0: free */
  } * slot;             /* pieces that words are made of, by text */
  size_t nslot;
  /* what makes a word's ids. MERGES: pairs of ids in `merge`, by rank; TEXTS: any neighbours whose
   * text together is a piece, by its rank; UNIGRAM: the greatest sum of scores */
  enum { TP_MODEL_MERGES, TP_MODEL_TEXTS, TP_MODEL_UNIGRAM } model;
  tp_pairs merge;  /* a: rank, b: the id of both together */
  bool byte_level; /* symbols are bytes, not characters */
  bool mapped;     /* words come as characters that stand for bytes */
  bool bars;       /* no piece has a "▁" behind another character: a word ends in front of each */
  bool ignore_merges; /* a word that is a piece is that piece */
  bool fuse_unk, byte_fallback;
  bool single;       /* sums of scores are floats */
  bool strip;        /* tp_tokenizer_strips */
  int32_t byte[256]; /* ids of bytes; -1: none */
  int bos, eos, eot, unk;
  bool add_bos;
  tp_chars chat;
  double unk_score;
  tp_trie unigram; /* pieces */
  tp_trie user;    /* pieces that stand out in rewritten texts; no merge touches them */
  uint32_t *cut;   /* of unused pieces: bytes of the left half; NULL: there are none */
  TP_VEC(tp_added) added;
  tp_trie early, late; /* indices of added tokens: found in the text as it comes, as rewritten */
  TP_VEC(tp_norm) norm;
  TP_VEC(tp_split) split;
  TP_VEC(tp_pattern *) patterns;
};

/* one text on its way; everything that it holds goes with tp_work_end */
typedef struct {
  int32_t prev, next; /* bytes at which the neighbours begin; next 0: it is part of another */
  int32_t id;         /* -1: no piece */
} tp_symbol;
typedef struct {
  uint64_t at; /* rank, place */
  uint32_t n;
  int32_t id;
} tp_merge_offer;
typedef struct {
  tp_tokenizer *t;
  tp_arena *a;
  tp_ids *out;
  bool special;
  tp_error *err;
  tp_hold hold;
  tp_buf norm[2], step[TP_MAXSTEPS], room, heap;
  int64_t work;     /* that patterns may still take beyond the usual */
  int32_t last_unk; /* where in out the latest unknown ended; -1: elsewhere */
  struct {          /* bpe.c */
    tp_chars x;
    tp_symbol *s;
    tp_merge_offer *h;
    size_t nh, caph;
  } w;
} tp_encoding;

/* ---- build.c: readers fill a tokenizer ---- */
typedef bool tp_tokenizer_fill(tp_tokenizer *t, const void *from, tp_error *err);
/* A new one, filled; NULL: fill failed. */
tp_tokenizer *tp_tokenizer_filled(
    const char *label, tp_tokenizer_fill *fill, const void *from, tp_error *err);
/* Room for n ids, made before any piece. */
bool tp_pieces_room(tp_tokenizer *t, int64_t n, tp_error *err);
tp_chars tp_chars_dup(tp_tokenizer *t, tp_chars x);
static inline tp_chars tp_chars_of(const char *s) {
  return s ? (tp_chars){ s, strlen(s) } : (tp_chars){ 0 };
}
static inline bool tp_chars_same(tp_chars a, tp_chars b) {
  return a.n == b.n && (!a.n || !memcmp(a.s, b.s, a.n));
}
/* Copies the text. `out` is that text; byte pieces <0xNN> become their byte. */
void tp_piece_set(tp_tokenizer *t, int id, tp_chars text, double score, tp_piece_kind kind);
/* For a vocabulary of bytes: characters that stand for bytes become them. One that holds another
 * character stays as it is, and no word has it. */
bool tp_bytes_of(tp_tokenizer *t, tp_chars text, tp_chars *out);
/* Which pieces words are made of is known: makes `slot`, `byte`, and in `out` "▁" => " " if
 * `spaces`. */
void tp_pieces_done(tp_tokenizer *t, bool spaces);
/* The id of a text among pieces of words; -1. */
int tp_piece_find(const tp_tokenizer *t, tp_chars x);
bool tp_merge_put(tp_tokenizer *t, tp_chars left, tp_chars right, uint32_t rank);
void tp_rank_scores(tp_tokenizer *t);                           /* equal scores have equal ranks */
bool tp_unigram_done(tp_tokenizer *t, bool all, tp_error *err); /* all: least score of all kinds */
/* late: it is found in rewritten texts. The text is not copied. */
bool tp_added_put(tp_tokenizer *t, tp_added added, bool late, tp_error *err);

/* ---- chars.c ---- */
/* The first character and its length, at least 1; -1: it is no UTF-8. x is not empty. */
int32_t tp_utf8(tp_chars x, size_t *n);
/* How many bytes from the start are UTF-8; if none are, how many are not. */
size_t tp_utf8_run(tp_chars x, bool *valid);
bool tp_is_space(int32_t c);
/* U+0100 for byte 0, ...: the characters of byte-level vocabularies; -1: it stands for none */
int tp_byte_char(int byte);
int tp_char_byte(int32_t c);
void tp_put_utf8(tp_buf *b, int32_t c);
#define TP_BAR "\xe2\x96\x81" /* "▁", which stands for a space */
/* The next "▁" of x with another character in front, or its end. */
const char *tp_bar_behind(tp_chars x);
bool tp_text_fail(const tp_tokenizer *t, tp_error *err, const char *fmt, ...) TP_PRINTF(3, 4);

/* ---- normal.c ---- */
bool tp_is_word(int32_t c);
/* Rewrites x by all steps; what it gives lives until the next call. */
bool tp_normal(tp_encoding *e, tp_chars x, tp_chars *out);
enum { TP_FORM_C, TP_FORM_D, TP_FORM_KC, TP_FORM_KD };
bool tp_utf8proc_open(const tp_tokenizer *t, tp_error *err);
bool tp_charsmap_ok(tp_chars map);

/* ---- pattern.c ---- */
/* ruby: the source is Oniguruma's, in which ^ and $ are the ends of lines. literal: a text. Lives
 * as long as t. */
tp_pattern *tp_pattern_new(
    tp_tokenizer *t, tp_chars source, bool ruby, bool literal, tp_error *err);
void tp_pattern_free(tp_pattern *p);
/* The next match at or behind `from` in a text that is UTF-8. 1: found; 0: none; -1: error. */
int tp_pattern_find(
    tp_encoding *e, const tp_pattern *p, tp_chars x, size_t from, size_t *lo, size_t *hi);

/* ---- split.c ---- */
/* mapped: characters that stand for bytes */
bool tp_word(tp_encoding *e, tp_chars x, bool mapped);
/* Cuts x by the steps from k on; each word becomes ids. first: x begins the text. */
bool tp_split_run(tp_encoding *e, int k, tp_chars x, bool first);

/* ---- tokenizer.c ---- */
/* for a text of so many bytes; its fields up to err are set */
void tp_encoding_begin(tp_encoding *e, size_t bytes);
void tp_encoding_end(tp_encoding *e);

/* ---- bpe.c, unigram.c: a word's ids ---- */
void tp_by_pairs(tp_encoding *e, tp_chars x);
void tp_unigram(tp_encoding *e, tp_chars x);
void tp_put_unknown(tp_encoding *e, tp_chars x);
static inline void tp_put_id(tp_encoding *e, int32_t id) { TP_PUSH(e->a, e->out, id); }
#endif
