/* http: a small HTTP/1.1 server over libmicrohttpd, which is opened at run time. Rank 2; plain C.
 *
 * One thread of libmicrohttpd accepts, reads requests and sends replies. The caller's thread takes
 * whole requests from a queue and answers them in its own time; neither waits for the other. A
 * client can hold nothing but its own connection, and that within limits: a request is cut at
 * `body` bytes; a connection is closed that for `idle` seconds has no request with us, whether it
 * is silent, sends a byte now and then or does not read its reply; a stream ends whose client
 * leaves more than `unsent` bytes, or any for `stalled` seconds, unread.
 *
 * http.c has queues and limits, mhd.c all that knows libmicrohttpd. */
#ifndef TP_HTTP_H
#define TP_HTTP_H
#include "base/base.h"

typedef struct tp_http tp_http;
typedef struct tp_hreq tp_hreq;
typedef struct tp_hlimits {
  int64_t body, unsent; /* bytes */
  int connections;
  double idle, stalled; /* seconds */
} tp_hlimits;

/* Listens at once. port 0: a free one. NULL: error file (the address), option (the library). */
TP_GIVE tp_http *tp_http_open(const char *host, int port, const tp_hlimits *l, tp_error *err);
int tp_http_port(const tp_http *s);
/* Takes no further request, waits up to `linger` seconds until all replies are sent, cuts what is
 * left and ends the thread. Requests stay valid, their clients are gone. Any number of times. */
void tp_http_close(tp_http *s, double linger);
void tp_http_free(TP_TAKE tp_http *s); /* after tp_http_close; NULL is legal */

/* The next request, waiting for it up to `seconds`. NULL: none came. */
TP_GIVE tp_hreq *tp_http_next(tp_http *s, double seconds);
/* The request's words, as long as it is there: of its first line, of its headers ("": it has no
 * such header), and the body. */
const char *tp_hreq_method(const tp_hreq *r);
const char *tp_hreq_path(const tp_hreq *r);
const char *tp_hreq_authorization(const tp_hreq *r);
const char *tp_hreq_body(const tp_hreq *r, size_t *n);
/* A whole reply; a request has one, or one stream. */
void tp_hreq_reply(tp_hreq *r, int status, const char *type, const char *text, size_t n);
/* A reply in parts: begin, writes, end. */
void tp_hreq_begin(tp_hreq *r, const char *type);
void tp_hreq_write(tp_hreq *r, const char *text, size_t n);
void tp_hreq_end(tp_hreq *r);
bool tp_hreq_gone(tp_hreq *r);         /* no one reads a reply any more */
void tp_hreq_free(TP_TAKE tp_hreq *r); /* without a reply: its connection is closed */
#endif
