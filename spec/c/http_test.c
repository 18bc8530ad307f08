/* http: clients at once, each with a thread and a raw socket: most ask rightly and get their own
 * text, others stall, leave, send rubbish or too much, or a byte now and then. Nothing that those
 * do is seen by the rest, and closing leaves no thread and no descriptor. */
#include "http/http.h"
#include "check.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { CLIENTS = 64, PARTS = 40, BODY = 20000 };
static int port, rounds = 3; /* requests that a good client sends */
static atomic_int running;

/* ---- the server: a thread that answers as an engine would, a part of each stream a step ---- */

typedef struct {
  tp_hreq *r;
  int part;
  bool endless;
} stream;

static tp_hlimits limits = { BODY, 60000, 256, 3.0, 1.5 };
static atomic_int gone_seen, streams_cut;
static atomic_bool stops;

static void begin(tp_hreq *r, stream *open, int *n) {
  size_t len;
  const char *body = tp_hreq_body(r, &len), *path = tp_hreq_path(r);
  if (!strcmp(path, "/whole")) tp_hreq_reply(r, 200, "text/plain", body, len), tp_hreq_free(r);
  else if (!strcmp(path, "/drop") || !strcmp(path, "/")) tp_hreq_free(r);
  else if (!strcmp(path, "/method"))
    tp_hreq_reply(r, 405, "text/plain", tp_hreq_method(r), strlen(tp_hreq_method(r))),
        tp_hreq_free(r);
  else {
    open[(*n)++] = (stream){ r, 0, !strcmp(path, "/endless") };
    if (strcmp(path, "/never")) tp_hreq_begin(r, "text/event-stream");
  }
}

/* False: it is over. */
static bool advance(stream *s) {
  static char much[2000];
  size_t n;
  const char *body = tp_hreq_body(s->r, &n), *path = tp_hreq_path(s->r);
  bool gone = tp_hreq_gone(s->r);
  if (!gone && s->endless) memset(much, 'x', sizeof much), tp_hreq_write(s->r, much, sizeof much);
  else if (!gone && strcmp(path, "/never")) tp_hreq_write(s->r, body, n);
  gone_seen += gone;
  streams_cut += gone && s->endless;
  if (!gone && (s->endless || !strcmp(path, "/never") || ++s->part < PARTS)) return true;
  tp_hreq_end(s->r);
  tp_hreq_free(s->r);
  return false;
}

static void *serve(void *arg) {
  tp_http *s = arg;
  static stream open[1024];
  int n = 0;
  while (!stops || n) {
    tp_hreq *r;
    while ((r = tp_http_next(s, n ? 0 : 0.02))) begin(r, open, &n);
    for (int k = 0; k < n; k++)
      if (!advance(&open[k])) open[k--] = open[--n];
    usleep(1000);
  }
  tp_http_close(s, 2);
  tp_http_free(s);
  return NULL;
}

/* ---- a client ---- */

static int dial(void) {
  struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
  struct timeval t = { 20, 0 };
  inet_pton(AF_INET, "127.0.0.1", &a.sin_addr);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
  if (connect(fd, (struct sockaddr *)&a, sizeof a)) return close(fd), -1;
  return fd;
}

static bool say(int fd, const char *p, size_t n) {
  for (ssize_t k; n; p += k, n -= (size_t)k)
    if ((k = send(fd, p, n, MSG_NOSIGNAL)) <= 0) return false;
  return true;
}

static bool ask(int fd, const char *method, const char *path, const char *body) {
  char head[256];
  int n = snprintf(head, sizeof head, "%s %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n",
      method, path, strlen(body));
  return say(fd, head, (size_t)n) && say(fd, body, strlen(body));
}

typedef struct {
  char head[4096], *body;
  size_t n;
  int status;
} reply;

static bool byte_of(int fd, char *c) { return recv(fd, c, 1, 0) == 1; }

static bool line_of(int fd, char *line, size_t n) {
  size_t k = 0;
  while (k + 1 < n && byte_of(fd, &line[k]) && line[k++] != '\n') {}
  line[k] = 0;
  return k && line[k - 1] == '\n';
}

static bool append(int fd, reply *r, size_t n) {
  r->body = realloc(r->body, r->n + n + 1);
  for (ssize_t k; n; n -= (size_t)k, r->n += (size_t)k)
    if ((k = recv(fd, r->body + r->n, n, 0)) <= 0) return false;
  r->body[r->n] = 0;
  return true;
}

/* A whole reply of either kind; false: it broke off. */
static bool hear(int fd, reply *r) {
  char line[512];
  size_t length = 0, chunk = 1;
  bool chunked = false;
  *r = (reply){ 0 };
  if (!line_of(fd, line, sizeof line) || sscanf(line, "HTTP/1.1 %d", &r->status) != 1) return false;
  while (line_of(fd, line, sizeof line) && line[0] != '\r') {
    sscanf(line, "Content-Length: %zu", &length);
    chunked |= !strncmp(line, "Transfer-Encoding: chunked", 26);
  }
  if (!chunked) return append(fd, r, length);
  while (chunk) {
    if (!line_of(fd, line, sizeof line) || sscanf(line, "%zx", &chunk) != 1) return false;
    if (chunk && !append(fd, r, chunk)) return false;
    if (!line_of(fd, line, sizeof line)) return false;
  }
  return true;
}

static bool is_closed(int fd) {
  char c[512];
  ssize_t n;
  while ((n = recv(fd, c, sizeof c, 0)) > 0) {}
  return n == 0 || errno == ECONNRESET;
}

/* One client and what it saw: main counts `passed`, since CHECK is not for threads. */
typedef struct {
  pthread_t t;
  int k;
  bool ok;
  const char *what;
} client;

static bool good(int k) {
  char text[64];
  reply r;
  bool ok = true;
  int fd = dial();
  for (int round = 0; ok && round < rounds; round++) { /* one connection, several requests */
    snprintf(text, sizeof text, "client %d, round %d;", k, round);
    bool streams = (k + round) % 2;
    ok = ask(fd, "POST", streams ? "/stream" : "/whole", text) && hear(fd, &r) && r.status == 200 &&
        r.n == strlen(text) * (streams ? PARTS : 1);
    for (size_t at = 0; ok && at < r.n; at += strlen(text))
      ok = !strncmp(r.body + at, text, strlen(text));
    free(r.body);
  }
  close(fd);
  return ok;
}

static bool pipelines(int k) {
  reply a, b;
  int fd = dial();
  bool ok = ask(fd, "POST", "/whole", "one") && ask(fd, "POST", "/stream", "two") &&
      ask(fd, "DELETE", "/method", "") && hear(fd, &a) && !strcmp(a.body, "one") && hear(fd, &b) &&
      b.n == 3 * PARTS;
  free(a.body), free(b.body);
  ok = ok && hear(fd, &a) && a.status == 405 && !strcmp(a.body, "DELETE");
  free(a.body);
  close(fd);
  return ok;
}

static bool stalls(int k) { /* reads nothing of an endless stream */
  int fd = dial(), small = 1024;
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  bool ok = ask(fd, "POST", "/endless", "x");
  for (int i = 0; i < 1500 && streams_cut < 2; i++) usleep(10000); /* its own, and that of leaves */
  ok = ok && is_closed(fd);
  close(fd);
  return ok;
}

static bool leaves(int k) { /* in the middle of a stream */
  char c[100];
  int fd = dial();
  bool ok = ask(fd, "POST", "/endless", "x") && recv(fd, c, sizeof c, MSG_WAITALL) == sizeof c;
  close(fd);
  return ok;
}

static bool leaves_early(int k) { /* before there is a reply */
  int fd = dial();
  bool ok = ask(fd, "POST", "/never", "x");
  usleep(50000);
  close(fd);
  return ok;
}

static bool rubbish(int k) {
  static const char *const v[] = { "\r\n\r\n\r\n", "GET\r\n\r\n", "\x16\x03\x01\x02\x01\x01\xfc",
    "POST /whole HTTP/1.1\r\nHost: x\r\nContent-Length: -4\r\n\r\nabcd",
    "POST /whole HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\nabcd",
    "POST /whole HTTP/9.7\r\n\r\n", "GET / HTTP/1.1\r\nHost\r\n: : :\r\n\r\n",
    "POST /whole HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n",
    "GET /%00%ff%zz HTTP/1.1\r\nHost: x\r\n\r\n", "\xff\xff\xff\xff\xff\xff HTTP/1.1\r\n\r\n" };
  for (size_t i = 0; i < TP_LEN(v); i++) {
    int fd = dial();
    say(fd, v[i], strlen(v[i]));
    shutdown(fd, SHUT_WR);
    if (!is_closed(fd)) return false;
    close(fd);
  }
  return true;
}

static bool long_head(int k) { /* the headers never end */
  char line[] = "X-Header: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n";
  int fd = dial();
  bool ok = say(fd, "GET / HTTP/1.1\r\n", 16);
  for (int i = 0; i < 100000 && say(fd, line, sizeof line - 1); i++) {}
  ok = ok && is_closed(fd);
  close(fd);
  return ok;
}

static bool large(int k) { /* announced, it is refused before it is sent */
  reply r;
  int fd = dial();
  const char *head = "POST /whole HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n";
  bool ok = say(fd, head, strlen(head)) && hear(fd, &r) && r.status == 413 && r.body[0] == '{';
  free(r.body);
  close(fd);
  return ok;
}

static bool large_chunks(int k) { /* not announced: refused at its end, cut if there is none */
  static const char head[] =
      "POST /whole HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  char chunk[1007] = "3e8\r\n";
  reply r = { 0 };
  memset(chunk + 5, 'x', 1000);
  memcpy(chunk + 1005, "\r\n", 2);
  int fd = dial();
  bool ok = say(fd, head, sizeof head - 1);
  for (int i = 0; i < 25; i++) ok = ok && say(fd, chunk, sizeof chunk);
  ok = ok && say(fd, "0\r\n\r\n", 5) && hear(fd, &r) && r.status == 413;
  free(r.body);
  close(fd);
  fd = dial();
  ok = ok && say(fd, head, sizeof head - 1);
  for (int i = 0; i < 100000 && say(fd, chunk, sizeof chunk); i++) {}
  ok = ok && is_closed(fd);
  close(fd);
  return ok;
}

static bool drips(int k) { /* a byte of its request now and then */
  int fd = dial();
  const char *text = "POST /whole HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nabcd";
  bool cut = false;
  for (int i = 0; text[i] && !cut; i++) cut = !say(fd, text + i, 1) || (usleep(100000), false);
  cut = is_closed(fd);
  close(fd);
  return cut;
}

static bool silent(int k) {
  int fd = dial();
  bool cut = is_closed(fd);
  close(fd);
  return cut;
}

static bool dropped(int k) {
  int fd = dial();
  bool ok = ask(fd, "POST", "/drop", "x") && is_closed(fd);
  close(fd);
  return ok;
}

static bool slow_reader(int k) { /* reads a whole reply, in small pieces */
  static char text[BODY];
  reply r;
  memset(text, 'y', sizeof text - 1);
  int fd = dial();
  bool ok = ask(fd, "POST", "/whole", text);
  usleep(300000);
  ok = ok && hear(fd, &r) && r.n == sizeof text - 1 && !memcmp(r.body, text, r.n);
  free(r.body);
  close(fd);
  return ok;
}

static const struct {
  const char *what;
  bool (*does)(int k);
} odd[] = { { "stalls", stalls }, { "leaves", leaves }, { "leaves early", leaves_early },
  { "rubbish", rubbish }, { "long head", long_head }, { "large", large },
  { "large chunks", large_chunks }, { "drips", drips }, { "silent", silent },
  { "dropped", dropped }, { "pipelines", pipelines }, { "slow reader", slow_reader } };

static void *run(void *arg) {
  client *c = arg;
  bool is_odd = c->k < (int)TP_LEN(odd);
  c->what = is_odd ? odd[c->k].what : "good";
  c->ok = is_odd ? odd[c->k].does(c->k) : good(c->k);
  running--;
  return NULL;
}

static int entries(const char *folder) {
  DIR *d = opendir(folder);
  int n = 0;
  while (d && readdir(d)) n++;
  if (d) closedir(d);
  return n;
}

static void many(void) {
  static client c[CLIENTS];
  tp_error err = { 0 };
  pthread_t t;
  int threads = entries("/proc/self/task"), files = entries("/proc/self/fd");
  tp_http *s = tp_http_open("127.0.0.1", 0, &limits, &err);
  if (!CHECKF(s != NULL, "%s", err.msg)) return;
  stops = false;
  port = tp_http_port(s);
  pthread_create(&t, NULL, serve, s);
  running = CLIENTS;
  for (int k = 0; k < CLIENTS; k++) c[k].k = k, pthread_create(&c[k].t, NULL, run, &c[k]);
  for (int k = 0; k < CLIENTS; k++) {
    pthread_join(c[k].t, NULL);
    CHECKF(c[k].ok, "client %d: %s", k, c[k].what);
  }
  CHECK(!running);
  stops = true;
  pthread_join(t, NULL);
  CHECKF(gone_seen == 3 && streams_cut == 2, "%d, %d", gone_seen,
      streams_cut); /* stalls, leaves, leaves early */
  for (int k = 0; k < 100 && entries("/proc/self/task") > threads; k++) usleep(10000);
  CHECK(entries("/proc/self/task") == threads);
  CHECK(entries("/proc/self/fd") == files);
}

/* Each request of memory fails once: a client may lose its connection, the next one does not. */
static void without_memory(void) {
  tp_error err = { 0 };
  pthread_t t;
  stops = false;
  tp_http *s = tp_http_open("127.0.0.1", 0, &limits, &err);
  port = tp_http_port(s);
  pthread_create(&t, NULL, serve, s);
  rounds = 1;
  for (int n = 1; n < 24; n++) { /* a request takes up to eight */
    tp_fail_alloc(n / 2);
    good(n);
    tp_fail_alloc(0);
    CHECKF(good(n + 1), "after request %d failed", n / 2);
  }
  stops = true;
  pthread_join(t, NULL);
}

/* Closing sends what is answered, and cuts streams, waiting requests and idle connections. */
static void closes(void) {
  tp_error err = { 0 };
  reply r;
  size_t n;
  tp_http *s = tp_http_open("127.0.0.1", 0, &limits, &err);
  port = tp_http_port(s);
  int whole = dial(), begun = dial(), waits = dial(), idle = dial();
  CHECK(ask(whole, "POST", "/whole", "hello") && ask(begun, "POST", "/stream", "x"));
  tp_hreq *a = tp_http_next(s, 5), *b = tp_http_next(s, 5);
  if (strcmp(tp_hreq_path(a), "/whole")) {
    tp_hreq *c = a;
    a = b, b = c;
  }
  CHECK(ask(waits, "POST", "/whole", "x"));
  tp_hreq_begin(b, "text/plain");
  tp_hreq_write(b, "part", 4);
  tp_hreq_reply(a, 200, "text/plain", tp_hreq_body(a, &n), 5);
  tp_http_close(s, 2);
  tp_http_close(s, 2);
  CHECK(hear(whole, &r) && r.n == 5 && !strcmp(r.body, "hello"));
  free(r.body);
  CHECK(!hear(begun, &r) && r.n == 4);
  free(r.body);
  CHECK(is_closed(waits) && is_closed(idle));
  CHECK(tp_hreq_gone(b));
  tp_hreq_write(b, "late", 4);
  tp_hreq_end(b);
  tp_http_free(s);
  tp_hreq_free(a);
  tp_hreq_free(b);
  int fd[] = { whole, begun, waits, idle };
  for (int k = 0; k < 4; k++) close(fd[k]);
}

static void refuses(void) {
  tp_error err = { 0 };
  tp_http *s = tp_http_open("127.0.0.1", 0, &limits, &err);
  CHECK(s && !tp_http_open("127.0.0.1", tp_http_port(s), &limits, &err));
  CHECKF(strstr(err.msg, "file: cannot listen at 127.0.0.1:") != NULL, "%s", err.msg);
  err = (tp_error){ 0 };
  CHECK(!tp_http_open("no such host.", 0, &limits, &err) && err.code == TP_E_FILE);
  tp_http_free(s);
  tp_http_free(NULL);
}

int main(void) {
  refuses();
  closes();
  many();
  without_memory();
  return check_report();
}
