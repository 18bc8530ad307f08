/* http: requests and replies on their way between two threads, and the limits of clients.
 *
 * A request is libmicrohttpd's until its body is whole, then both sides hold it. While there is
 * nothing to send, libmicrohttpd leaves its connection alone (it is asleep), and so sees neither
 * that its client left nor that time passes. `look`, which the caller's thread runs ten times a
 * second, does: it asks each socket, and shuts those that have ended (libmicrohttpd at times misses
 * that within a request) or whose time is over, so that libmicrohttpd closes them. A socket is open
 * as long as its tp_hconn is in the list, under the lock. */
#include "http/priv.h"
#include "os/os.h"

enum { HTTP_WORD = 4096 }; /* the longest path and the longest header */

/* ---- the server ---- */

static void unref_server(tp_http *s) {
  pthread_mutex_lock(&s->lock);
  bool last = --s->refs == 0;
  pthread_mutex_unlock(&s->lock);
  if (!last) return;
  pthread_mutex_destroy(&s->lock);
  pthread_cond_destroy(&s->came);
  tp_free(s);
}

tp_http *tp_http_open(const char *host, int port, const tp_hlimits *l, tp_error *err) {
  const char *why = "";
  tp_http *s = tp_calloc(sizeof *s);
  if (!s) return tp_no_memory(err, TP_NOWHERE), NULL;
  *s = (tp_http){ .limits = *l, .port = port, .refs = 1, .last = &s->first };
  pthread_mutex_init(&s->lock, NULL);
  pthread_cond_init(&s->came, NULL);
  int fd = tp_mhd_open(err) ? tp_os_listen(host, &s->port, &why) : -1;
  if (fd < 0) tp_fail(err, TP_E_FILE, TP_NOWHERE, "cannot listen at %s:%d: %s", host, port, why);
  if (fd >= 0 && tp_mhd_start(s, fd, err)) return s;
  unref_server(s);
  return NULL;
}

int tp_http_port(const tp_http *s) { return s->port; }

static void wake(tp_hreq *r) {
  if (r->asleep) tp_mhd_wake(r->connection);
  r->asleep = false;
}

/* Its client gets no further byte. */
static void drop(tp_hreq *r) {
  r->gone = true;
  if (r->asleep) wake(r);
  else if (r->conn) tp_os_socket_cut(r->conn->fd);
}

static bool is_stalled(const tp_hreq *r, double now) {
  const tp_hlimits *l = &r->s->limits;
  size_t unsent = r->out.n - r->sent;
  return r->kind == TP_H_STREAM && unsent &&
      (unsent > (size_t)l->unsent || now - r->moved > l->stalled);
}

static bool is_answered(const tp_hreq *r) { return r->kind == TP_H_WHOLE || r->ended; }

static void look(tp_http *s) {
  double now = tp_now();
  if (now - s->looked < 0.1) return;
  s->looked = now;
  for (tp_hconn *c = s->conns; c; c = c->next) {
    tp_hreq *r = c->busy;
    if (r && !is_answered(r)) {
      if (!r->gone && (tp_os_socket_ended(c->fd) || is_stalled(r, now))) drop(r);
    } else if (now - c->since > s->limits.idle || (!r && tp_os_socket_ended(c->fd))) {
      tp_os_socket_shut(c->fd);
    }
  }
}

tp_hreq *tp_http_next(tp_http *s, double seconds) {
  pthread_mutex_lock(&s->lock);
  look(s);
  if (!s->first && seconds > 0) tp_os_wait(&s->came, &s->lock, TP_MIN(seconds, 60));
  tp_hreq *r = s->first;
  if (r && !(s->first = r->next)) s->last = &s->first;
  pthread_mutex_unlock(&s->lock);
  return r;
}

static bool is_sending(tp_http *s) {
  bool some = false;
  pthread_mutex_lock(&s->lock);
  look(s);
  for (tp_hconn *c = s->conns; c && !some; c = c->next) some = c->busy && is_answered(c->busy);
  pthread_mutex_unlock(&s->lock);
  return some;
}

void tp_http_close(tp_http *s, double linger) {
  if (!s->daemon) return;
  double end = tp_now() + linger;
  pthread_mutex_lock(&s->lock);
  s->closing = true;
  pthread_mutex_unlock(&s->lock);
  while (is_sending(s) && tp_now() < end) tp_os_sleep(0.01);
  pthread_mutex_lock(&s->lock);
  for (tp_hconn *c = s->conns; c; c = c->next)
    if (c->busy) drop(c->busy);
  pthread_mutex_unlock(&s->lock);
  tp_mhd_stop(s);
  for (tp_hreq *r; (r = tp_http_next(s, 0));) tp_hreq_free(r);
}

void tp_http_free(tp_http *s) {
  if (s) tp_http_close(s, 0), unref_server(s);
}

/* ---- connections ---- */

tp_hconn *tp_hconn_open(tp_http *s, int fd) {
  tp_hconn *c = tp_calloc(sizeof *c);
  if (!c) return NULL;
  pthread_mutex_lock(&s->lock);
  *c = (tp_hconn){ s->conns, &s->conns, fd, tp_now(), NULL };
  if (c->next) c->next->link = &c->next;
  s->conns = c;
  pthread_mutex_unlock(&s->lock);
  return c;
}

void tp_hconn_close(tp_http *s, tp_hconn *c) {
  if (!c) return;
  pthread_mutex_lock(&s->lock);
  if (c->next) c->next->link = c->link;
  *c->link = c->next;
  pthread_mutex_unlock(&s->lock);
  tp_free(c);
}

/* ---- requests ---- */

static char *copy(const char *s) {
  size_t n = strlen(s) + 1;
  char *p = n <= HTTP_WORD ? tp_alloc(n) : NULL;
  return p ? memcpy(p, s, n) : NULL;
}

/* tp_putn, which returns under the lock too when there is no memory. */
static bool store(tp_buf *b, const char *p, size_t n) {
  if (b->cap - b->n < n) {
    size_t cap = TP_MAX(b->cap * 2, TP_MAX(b->n + n, 256));
    char *s = tp_realloc(b->s, cap);
    if (!s) return false;
    b->s = s;
    b->cap = cap;
  }
  if (n) memcpy(b->s + b->n, p, n);
  b->n += n;
  return true;
}

/* Under the lock: it counts to 0 at one of its two sides. */
static void unref(tp_hreq *r) {
  tp_http *s = r->s;
  bool last = --r->refs == 0;
  pthread_mutex_unlock(&s->lock);
  if (!last) return;
  tp_free(r->method);
  tp_free(r->path);
  tp_free(r->authorization);
  tp_buf_free(&r->body);
  tp_buf_free(&r->out);
  tp_free(r);
  unref_server(s);
}

tp_hreq *tp_hreq_new(tp_http *s, tp_hconn *c, void *connection, const char *method,
    const char *path, const char *authorization) {
  tp_hreq *r = c ? tp_calloc(sizeof *r) : NULL;
  if (!r) return NULL;
  *r = (tp_hreq){ .s = s, .conn = c, .connection = connection, .refs = 1 };
  pthread_mutex_lock(&s->lock);
  s->refs++;
  r->method = copy(method);
  r->path = copy(path);
  r->authorization = copy(authorization);
  tp_buf_init(&r->body);
  tp_buf_init(&r->out);
  if (!r->method || !r->path || !r->authorization) return unref(r), NULL;
  pthread_mutex_unlock(&s->lock);
  return r;
}

bool tp_hreq_take(tp_hreq *r, const char *p, size_t n) {
  size_t limit = (size_t)r->s->limits.body;
  if (r->large || n > limit - r->body.n) {
    r->large = true;
    r->sent += n;
    return r->sent <= 16 * limit;
  }
  return store(&r->body, p, n);
}

tp_hkind tp_hreq_turn(tp_hreq *r) {
  tp_http *s = r->s;
  pthread_mutex_lock(&s->lock);
  if (!r->asked && !r->gone && !s->closing) {
    r->asked = true;
    r->conn->busy = r;
    r->refs++;
    *s->last = r;
    s->last = &r->next;
    pthread_cond_signal(&s->came);
  }
  tp_hkind kind = r->asked && !r->gone ? r->kind : TP_H_NONE;
  r->asleep = kind == TP_H_WAITS;
  if (r->asleep) tp_mhd_sleep(r->connection);
  pthread_mutex_unlock(&s->lock);
  return kind;
}

int64_t tp_hreq_part(tp_hreq *r, char *p, size_t n) {
  pthread_mutex_lock(&r->s->lock);
  int64_t part = (int64_t)TP_MIN(n, r->out.n - r->sent);
  if (r->gone) part = -2;
  else if (!part && r->ended) part = -1;
  r->asleep = part == 0;
  if (r->asleep) tp_mhd_sleep(r->connection);
  if (part > 0) {
    memcpy(p, r->out.s + r->sent, (size_t)part);
    r->sent += (size_t)part;
    r->moved = tp_now();
  }
  if (r->sent == r->out.n) r->sent = r->out.n = 0;
  pthread_mutex_unlock(&r->s->lock);
  return part;
}

void tp_hreq_done(tp_hreq *r) {
  pthread_mutex_lock(&r->s->lock);
  r->gone = true;
  r->conn->busy = NULL;
  r->conn->since = tp_now();
  r->conn = NULL;
  r->connection = NULL;
  unref(r);
}

/* ---- for the caller ---- */

const char *tp_hreq_method(const tp_hreq *r) { return r->method; }
const char *tp_hreq_path(const tp_hreq *r) { return r->path; }
const char *tp_hreq_authorization(const tp_hreq *r) { return r->authorization; }

const char *tp_hreq_body(const tp_hreq *r, size_t *n) {
  *n = r->body.n;
  return r->body.n ? r->body.s : "";
}

/* Adds bytes to what is sent. A client for which there is no memory is dropped. */
static void put(tp_hreq *r, const char *text, size_t n) {
  if (!r->out.n) r->moved = tp_now();
  if (r->sent > r->out.n / 2) { /* what was sent makes room */
    memmove(r->out.s, r->out.s + r->sent, r->out.n -= r->sent);
    r->sent = 0;
  }
  if (!store(&r->out, text, n) || is_stalled(r, tp_now())) drop(r);
  else wake(r);
}

static void answer(tp_hreq *r, tp_hkind kind, int status, const char *type) {
  r->kind = kind;
  r->status = status;
  snprintf(r->type, sizeof r->type, "%s", type);
  if (r->conn) r->conn->since = tp_now();
}

void tp_hreq_reply(tp_hreq *r, int status, const char *type, const char *text, size_t n) {
  pthread_mutex_lock(&r->s->lock);
  if (!r->gone && r->kind == TP_H_WAITS) {
    answer(r, TP_H_WHOLE, status, type);
    put(r, text, n);
  }
  pthread_mutex_unlock(&r->s->lock);
}

void tp_hreq_begin(tp_hreq *r, const char *type) {
  pthread_mutex_lock(&r->s->lock);
  if (!r->gone && r->kind == TP_H_WAITS) answer(r, TP_H_STREAM, 200, type), wake(r);
  pthread_mutex_unlock(&r->s->lock);
}

void tp_hreq_write(tp_hreq *r, const char *text, size_t n) {
  pthread_mutex_lock(&r->s->lock);
  if (!r->gone && r->kind == TP_H_STREAM && !r->ended && n) put(r, text, n);
  pthread_mutex_unlock(&r->s->lock);
}

void tp_hreq_end(tp_hreq *r) {
  pthread_mutex_lock(&r->s->lock);
  if (!r->gone && r->kind == TP_H_STREAM && !r->ended) {
    r->ended = true;
    r->conn->since = tp_now();
    wake(r);
  }
  pthread_mutex_unlock(&r->s->lock);
}

bool tp_hreq_gone(tp_hreq *r) {
  pthread_mutex_lock(&r->s->lock);
  bool gone = r->gone;
  pthread_mutex_unlock(&r->s->lock);
  return gone;
}

void tp_hreq_free(tp_hreq *r) {
  if (!r) return;
  pthread_mutex_lock(&r->s->lock);
  if (!r->gone && !is_answered(r)) drop(r);
  unref(r);
}
