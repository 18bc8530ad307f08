/* Shared by http.c and mhd.c. `lock` guards all that both threads touch; it is taken before
 * libmicrohttpd's own locks and never held while libmicrohttpd calls us. */
#ifndef TP_HTTP_PRIV_H
#define TP_HTTP_PRIV_H
#include "http/http.h"
#include <pthread.h>

typedef struct tp_hconn tp_hconn;

struct tp_http {
  pthread_mutex_t lock;
  pthread_cond_t came; /* a request */
  tp_hlimits limits;
  void *daemon; /* NULL: closed */
  int port, refs;
  bool closing;
  double looked; /* at the connections, for the last time */
  tp_hconn *conns;
  tp_hreq *first, **last; /* the queue */
};

/* one for each socket, as long as that is open */
struct tp_hconn {
  tp_hconn *next, **link;
  int fd;
  double since;  /* when its last request was done, or it was opened */
  tp_hreq *busy; /* its request, once that is whole; NULL: none */
};

typedef enum { TP_H_WAITS, TP_H_WHOLE, TP_H_STREAM, TP_H_NONE } tp_hkind;

struct tp_hreq {
  tp_http *s;
  tp_hreq *next; /* in the queue */
  tp_hconn *conn;
  void *connection; /* libmicrohttpd's; NULL: it has done with the request */
  char *method, *path, *authorization;
  tp_buf body, out;
  size_t sent; /* of `out`; of a body that is too large: bytes that were thrown away */
  int refs;    /* libmicrohttpd's and the caller's */
  tp_hkind kind;
  int status;
  char type[48];
  /* large: its body is too large; asleep: libmicrohttpd waits for tp_mhd_wake */
  bool asked, large, asleep, ended, gone;
  double moved; /* when the client last took a part of the stream, or there was none to take */
};

/* ---- http.c, for the thread of libmicrohttpd ---- */
tp_hconn *tp_hconn_open(tp_http *s, int fd); /* NULL: no memory */
void tp_hconn_close(tp_http *s, tp_hconn *c);
tp_hreq *tp_hreq_new(tp_http *s, tp_hconn *c, void *connection, const char *method,
    const char *path, const char *authorization);       /* NULL: no memory */
bool tp_hreq_take(tp_hreq *r, const char *p, size_t n); /* of the body; false: far too much */
/* The request is whole. How it is answered: WAITS: it is asleep now; NONE: not at all. */
tp_hkind tp_hreq_turn(tp_hreq *r);
/* The next bytes of a stream: 0: it is asleep now; -1: that was all; -2: it was cut. */
int64_t tp_hreq_part(tp_hreq *r, char *p, size_t n);
void tp_hreq_done(tp_hreq *r); /* libmicrohttpd forgets it */

/* ---- mhd.c ---- */
bool tp_mhd_open(tp_error *err);                      /* the library */
bool tp_mhd_start(tp_http *s, int fd, tp_error *err); /* takes the socket */
void tp_mhd_stop(tp_http *s);
void tp_mhd_sleep(void *connection);
void tp_mhd_wake(void *connection);
#endif
