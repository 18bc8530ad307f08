/* memo: kept answers (memo.c), for the files that ask isl. */
#ifndef TP_INDEX_MEMO_H
#define TP_INDEX_MEMO_H
#include "index/isl.h"
#include "index/priv.h"

typedef struct {
  bool set;
  void *p;
} tp_held;
typedef struct tp_memo {
  tp_ictx *c;
  tp_arena arena;
  tp_hmap answers, objects;
  TP_VEC(tp_held) held;
  int nbound, nsym; /* bounds and symbols when the last question was asked */
} tp_memo;

typedef enum {
  /* operations, and a question */
  TP_ASK_AND,
  TP_ASK_OR,
  TP_ASK_MINUS,
  TP_ASK_APPLY,
  TP_ASK_RESTRICT,
  TP_ASK_INTO,
  TP_ASK_COMPOSE,
  TP_ASK_JOIN,
  TP_ASK_SUBSET,
  /* the first word of a key: chains of conditions, objects made of expressions */
  TP_ASK_FIRST,
  TP_ASK_BOX,
  TP_ASK_COND,
  TP_ASK_REL
} tp_ask;

TP_GIVE isl_ctx *tp_memo_ctx(tp_ictx *c); /* a new context of isl; NULL: no memory */
tp_memo *tp_memo_of(isl_ctx *ctx);        /* ready to take an answer */
void tp_memo_close(tp_ictx *c);
void *tp_memo_op(tp_ask what, TP_TAKE void *a, TP_TAKE void *b);
/* For bounds >= 0: is a inside b (NULL: empty)? False too where isl cannot say. */
bool tp_memo_subset(tp_ictx *c, tp_set *a, tp_set *b);
/* The object kept under this key, NULL: none; keeps one. */
TP_GIVE void *tp_memo_made(tp_ictx *c, bool set, const void *key, size_t n);
TP_GIVE void *tp_memo_make(tp_ictx *c, bool set, const void *key, size_t n, TP_TAKE void *made);
#endif
