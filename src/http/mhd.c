/* mhd: libmicrohttpd, opened at run time. One thread of its own waits for all sockets (epoll where
 * there is one); it starts with all signals blocked, so Ctrl-C goes to the caller's threads. */
#include "http/priv.h"
#include "os/os.h"
#if defined(__has_include) && !defined(_WIN32)
#if __has_include(<microhttpd.h>)
#define HTTP_BUILT
#endif
#endif

#ifdef HTTP_BUILT
#include <microhttpd.h>

#define HTTP_SYMBOLS(X) \
  X(start_daemon) \
  X(stop_daemon) \
  X(get_connection_info) \
  X(lookup_connection_value) \
  X(create_response_from_buffer) \
  X(create_response_from_callback) \
  X(add_response_header) \
  X(queue_response) \
  X(destroy_response) \
  X(suspend_connection) \
  X(resume_connection)

static struct {
#define X(name) __typeof__(MHD_##name) *name;
  HTTP_SYMBOLS(X)
#undef X
  bool found;
} mhd;
static pthread_once_t mhd_once = PTHREAD_ONCE_INIT;

static void open_mhd(void) {
  static const char *const names[] = { "libmicrohttpd.so.12", "libmicrohttpd.so",
    "libmicrohttpd.dylib" };
  void *lib = NULL, *p;
  for (size_t i = 0; i < TP_LEN(names) && !lib; i++) lib = tp_os_open(names[i]);
  if (!lib) return;
  mhd.found = true;
#define X(name) \
  p = tp_os_symbol(lib, "MHD_" #name); \
  memcpy(&mhd.name, &p, sizeof p); \
  mhd.found = mhd.found && p;
  HTTP_SYMBOLS(X)
#undef X
}

bool tp_mhd_open(tp_error *err) {
  pthread_once(&mhd_once, open_mhd);
  return mhd.found ||
      tp_fail(err, TP_E_OPTION, TP_NOWHERE,
          "the server needs libmicrohttpd (Debian: apt-get install libmicrohttpd12)");
}

/* ---- called by its thread ---- */

static void on_connection(
    void *cls, struct MHD_Connection *c, void **own, enum MHD_ConnectionNotificationCode code) {
  if (code == MHD_CONNECTION_NOTIFY_CLOSED) tp_hconn_close(cls, *own), *own = NULL;
  else
    *own = tp_hconn_open(
        cls, mhd.get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd);
}

static const char *header(struct MHD_Connection *c, const char *name) {
  const char *v = mhd.lookup_connection_value(c, MHD_HEADER_KIND, name);
  return v ? v : "";
}

/* Gives libmicrohttpd the response, of which it keeps what it needs. */
static enum MHD_Result send_response(
    struct MHD_Connection *c, struct MHD_Response *p, int status, const char *type) {
  if (!p) return MHD_NO;
  mhd.add_response_header(p, MHD_HTTP_HEADER_CONTENT_TYPE, type);
  mhd.add_response_header(p, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
  if (status == 405) mhd.add_response_header(p, MHD_HTTP_HEADER_ALLOW, "GET, POST");
  if (status == 429 || status == 503) mhd.add_response_header(p, MHD_HTTP_HEADER_RETRY_AFTER, "1");
  enum MHD_Result sent = mhd.queue_response(c, (unsigned)status, p);
  mhd.destroy_response(p);
  return sent;
}

static enum MHD_Result refuse_large(struct MHD_Connection *c) {
  static char text[] = "{\"error\":{\"message\":\"the request's body is too large\","
                       "\"type\":\"invalid_request_error\",\"param\":null,\"code\":null}}";
  return send_response(c,
      mhd.create_response_from_buffer(sizeof text - 1, text, MHD_RESPMEM_PERSISTENT), 413,
      "application/json");
}

static ssize_t on_part(void *cls, uint64_t at, char *p, size_t n) {
  return (ssize_t)tp_hreq_part(cls, p, n); /* -1, -2: as MHD_CONTENT_READER_END_* */
}

static enum MHD_Result on_turn(tp_hreq *r, struct MHD_Connection *c) {
  if (r->large) return refuse_large(c);
  tp_hkind kind = tp_hreq_turn(r);
  if (kind == TP_H_NONE || kind == TP_H_WAITS) return kind == TP_H_WAITS ? MHD_YES : MHD_NO;
  return send_response(c,
      kind == TP_H_STREAM
          ? mhd.create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, on_part, r, NULL)
          : mhd.create_response_from_buffer(r->out.n, r->out.s, MHD_RESPMEM_PERSISTENT),
      r->status, r->type);
}

/* It calls for the headers, for each part of the body, and once more; after each sleep again. */
static enum MHD_Result on_request(void *cls, struct MHD_Connection *c, const char *path,
    const char *method, const char *version, const char *part, size_t *n, void **own) {
  tp_http *s = cls;
  tp_hreq *r = *own;
  if (r && !*n) return on_turn(r, c);
  if (r) {
    bool fits = tp_hreq_take(r, part, *n);
    *n = 0;
    return fits ? MHD_YES : MHD_NO;
  }
  tp_hconn *conn = mhd.get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
  r = *own = tp_hreq_new(s, conn, c, method, path, header(c, MHD_HTTP_HEADER_AUTHORIZATION));
  if (!r) return MHD_NO;
  const char *length = header(c, MHD_HTTP_HEADER_CONTENT_LENGTH), *end;
  return tp_read_double(length, &end) > (double)s->limits.body ? refuse_large(c) : MHD_YES;
}

static void on_done(
    void *cls, struct MHD_Connection *c, void **own, enum MHD_RequestTerminationCode code) {
  if (*own) tp_hreq_done(*own);
  *own = NULL;
}

/* ---- called by ours ---- */

typedef struct {
  tp_http *s;
  int fd;
} start_args;

static void *start_mhd(void *arg) {
  start_args *a = arg;
  tp_http *s = a->s;
  s->daemon = mhd.start_daemon(MHD_USE_AUTO_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL,
      NULL, on_request, s, MHD_OPTION_LISTEN_SOCKET, a->fd, MHD_OPTION_CONNECTION_LIMIT,
      (unsigned)s->limits.connections, MHD_OPTION_CONNECTION_TIMEOUT,
      (unsigned)TP_MIN(s->limits.idle, 1e6) + 1, MHD_OPTION_NOTIFY_COMPLETED, on_done, s,
      MHD_OPTION_NOTIFY_CONNECTION, on_connection, s, MHD_OPTION_END);
  return NULL;
}

/* In a thread without signals, whose thread inherits that. */
bool tp_mhd_start(tp_http *s, int fd, tp_error *err) {
  pthread_t t;
  if (tp_os_thread(&t, 0, start_mhd, &(start_args){ s, fd })) pthread_join(t, NULL);
  else tp_os_socket_close(fd);
  return s->daemon ||
      tp_fail(err, TP_E_MEMORY, TP_NOWHERE, "no thread or no descriptor for the server");
}

void tp_mhd_stop(tp_http *s) {
  mhd.stop_daemon(s->daemon);
  s->daemon = NULL;
}

void tp_mhd_sleep(void *connection) { mhd.suspend_connection(connection); }
void tp_mhd_wake(void *connection) { mhd.resume_connection(connection); }

#else /* without its header: there is no server, and nothing below is called */
bool tp_mhd_open(tp_error *err) {
  return tp_fail(err, TP_E_OPTION, TP_NOWHERE,
      "this build has no server: libmicrohttpd was missing (Debian: libmicrohttpd-dev)");
}
bool tp_mhd_start(tp_http *s, int fd, tp_error *err) { return false; }
void tp_mhd_stop(tp_http *s) {}
void tp_mhd_sleep(void *connection) {}
void tp_mhd_wake(void *connection) {}
#endif
