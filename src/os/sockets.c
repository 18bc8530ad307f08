/* sockets: those of the HTTP server. Windows has no such server: nothing listens there. */
#include "os/os.h"
#ifndef _WIN32
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifndef SOCK_CLOEXEC
#define SOCK_CLOEXEC 0 /* macOS */
#endif

static int listen_at(const struct addrinfo *a) {
  int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol), on = 1;
  if (fd < 0) return -1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (!bind(fd, a->ai_addr, a->ai_addrlen) && !listen(fd, SOMAXCONN)) return fd;
  int why = errno;
  close(fd);
  errno = why;
  return -1;
}

static int port_of(int fd) {
  struct sockaddr_storage a;
  socklen_t n = sizeof a;
  if (getsockname(fd, (struct sockaddr *)&a, &n)) return 0;
  return ntohs(a.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&a)->sin6_port
                                       : ((struct sockaddr_in *)&a)->sin_port);
}

int tp_os_listen(const char *host, int *port, const char **why) {
  struct addrinfo *found = NULL,
                  how = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV };
  char name[16];
  int fd = -1;
  snprintf(name, sizeof name, "%d", *port);
  int unknown = getaddrinfo(host, name, &how, &found);
  if (unknown) return *why = gai_strerror(unknown), -1;
  for (const struct addrinfo *a = found; a && fd < 0; a = a->ai_next) fd = listen_at(a);
  if (fd < 0) *why = strerror(errno);
  else *port = port_of(fd);
  freeaddrinfo(found);
  return fd;
}

bool tp_os_socket_ended(int fd) {
  char c;
  ssize_t n = recv(fd, &c, 1, MSG_PEEK | MSG_DONTWAIT);
  return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

void tp_os_socket_cut(int fd) {
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){ 1, 0 }, sizeof(struct linger));
  tp_os_socket_shut(fd);
}

void tp_os_socket_shut(int fd) { shutdown(fd, SHUT_RDWR); }
void tp_os_socket_close(int fd) { close(fd); }

void tp_os_wait(pthread_cond_t *c, pthread_mutex_t *m, double seconds) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  double at = (double)t.tv_nsec / 1e9 + seconds;
  t.tv_sec += (time_t)at;
  t.tv_nsec = (long)((at - (double)(time_t)at) * 1e9);
  pthread_cond_timedwait(c, m, &t);
}
#else
int tp_os_listen(const char *host, int *port, const char **why) {
  *why = "there is no server on Windows";
  return -1;
}
bool tp_os_socket_ended(int fd) { return true; }
void tp_os_socket_cut(int fd) {}
void tp_os_socket_shut(int fd) {}
void tp_os_socket_close(int fd) {}
void tp_os_wait(pthread_cond_t *c, pthread_mutex_t *m, double seconds) {}
#endif
