/* os: all that depends on the operating system. Rank 0: it knows no other folder. posix.c,
 * files.c and limits.c are for Linux, macOS and other POSIX systems, windows.c has the
 * same functions for Windows. Threads and locks are POSIX's on each of them (pthread.h: on Windows
 * mingw-w64's winpthreads). A function that fails says why in errno, unless its comment says
 * otherwise. */
#ifndef TP_OS_H
#define TP_OS_H
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- time ---- */
double tp_os_clock(void);        /* seconds of a clock that never goes back */
double tp_os_thread_clock(void); /* seconds that this thread has run; infinite: not known finely */
void tp_os_sleep(double seconds);

/* ---- the process ---- */
int64_t tp_os_process(void);                            /* its number */
void tp_os_setenv(const char *name, const char *value); /* NULL: removes it */
/* Starts a thread to which no signal goes. t: for pthread_join; NULL: nothing joins it. stack: in
 * bytes; 0: the system's choice. */
bool tp_os_thread(pthread_t *t, size_t stack, void *(*fn)(void *), void *arg);
void tp_os_at_fork(void (*before)(void), void (*after)(void), void (*in_child)(void));
/* Does the processor have ARM's sdot, which adds up the products of four bytes? */
bool tp_os_has_dots(void);
/* Lines that describe the processor, up to n - 1 bytes of them. */
void tp_os_processor(char *text, size_t n);

/* ---- memory ---- */
int64_t tp_os_page(void); /* bytes */
/* For tp_os_aligned_free. align: a power of two; n: a multiple of it. */
void *tp_os_aligned(size_t align, size_t n);
void tp_os_aligned_free(void *p);
/* Zeros that take no memory until they are touched. */
void *tp_os_pages(size_t n);
void tp_os_pages_free(void *p, size_t n);
void tp_os_huge(void *p, size_t n); /* huge pages are welcome here */
typedef struct {
  int64_t bytes;
  const char *whose; /* "that this machine has" */
} tp_os_limit;
/* Limits of what a process may have; `back` bytes that it has will be given back. Returns how many:
 * at most 4. */
int tp_os_limits(int64_t back, tp_os_limit v[4]);
/* The least limit of the control groups under `root` ("": the system's); INT64_MAX: none. */
int64_t tp_os_group_memory(const char *root);

/* ---- a file as memory, that ends with the process ---- */
typedef struct {
  void *room;   /* its address space */
  char *p;      /* at a multiple of `align` */
  int64_t size; /* of the file */
  size_t whole; /* of the address space */
} tp_os_map;
/* In the folder `dir`, all of its space taken. 0, or the errno. */
int tp_os_map_new(tp_os_map *m, const char *dir, int64_t bytes, int64_t align);
void tp_os_map_free(tp_os_map *m);
/* Takes a file's space; 0, or the errno. */
int tp_os_take(int fd, int64_t bytes);
/* A regular file, to be read as memory: its bytes, for tp_os_unmap; NULL: `why` says so. It may be
 * empty. If other code cuts the file, reading what is gone kills the process (POSIX), or cutting
 * it fails (Windows). */
void *tp_os_map_file(const char *path, int64_t *size, const char **why);
void tp_os_unmap(void *p, size_t n);
/* The folder for it when TMPDIR names none. */
const char *tp_os_scratch(void);
/* The system reads it soon, maps it to read or to write, or takes its pages. */
typedef enum { TP_OS_ASK, TP_OS_READ, TP_OS_WRITE, TP_OS_LEAVE } tp_os_advice;
void tp_os_advise(char *p, int64_t n, tp_os_advice what);
/* Can pages be mapped before they are touched? It is far cheaper than faults. */
bool tp_os_populates(void);

/* ---- files ---- */
typedef enum { TP_OS_NONE, TP_OS_FILE, TP_OS_FOLDER, TP_OS_OTHER } tp_os_kind;
/* Follows links. mode: NULL, or gets the permissions. */
tp_os_kind tp_os_look(const char *path, int *mode);
/* Tells a regular file from one that replaces it: size, time, number. False: there is none. */
bool tp_os_stamp(const char *path, int64_t of[4]);
/* A regular file, for reading; a pipe without a writer is refused, not waited for. NULL: `why` says
 * so. */
FILE *tp_os_read(const char *path, int64_t *size, const char **why);
/* n bytes as a file, for reading. */
FILE *tp_os_bytes(void *p, size_t n);
char *tp_os_real(const char *path); /* without links; for free() */
/* A new file, for writing; NULL: it failed, EEXIST: there is one. */
FILE *tp_os_create(const char *path, int mode);
/* A file without a name in the folder of `path`, which a dying process takes along; NULL: the file
 * system has none. tp_os_name gives it a name. */
FILE *tp_os_create_unnamed(const char *path, int mode);
bool tp_os_name(FILE *f, const char *path);
bool tp_os_chmod(FILE *f, int mode);
bool tp_os_sync(FILE *f);                            /* brings it to the disk */
void tp_os_sync_folder(const char *file);            /* the same for its folder, if possible */
bool tp_os_rename(const char *from, const char *to); /* replaces `to` */
bool tp_os_link(const char *from, const char *to);
/* Replaces what the file has by n bytes; only the user may read it. */
bool tp_os_write(const char *path, const char *text, size_t n);
void tp_os_touch(const char *path);            /* now */
bool tp_os_mkdir(const char *path, bool mine); /* mine: only the user may enter it */
bool tp_os_mkdir_new(char *path);              /* the six X at its end become other letters */
bool tp_os_is_mine(const char *folder); /* a folder, no link, into which only the user writes */
/* Calls for each path of a pattern with `*`, until one answers true. */
void tp_os_glob(const char *pattern, bool (*each)(void *ud, const char *path), void *ud);
/* Calls for each name in a folder. */
void tp_os_list(const char *folder, void (*each)(void *ud, const char *name), void *ud);

/* ---- libraries ---- */
void *tp_os_open(const char *path);
const char *tp_os_open_error(bool *absent); /* absent: there is no such file */
void *tp_os_symbol(void *library, const char *name);
void tp_os_close(void *library);
/* The file whose code has the address. False: it is not known. */
bool tp_os_file_of(const void *address, char *path, size_t n);
void tp_os_stay(const void *address); /* never unloads that file */

/* ---- sockets: not on Windows ---- */
/* One that listens; *port: 0 becomes one that is free. -1: `why` says why not. */
int tp_os_listen(const char *host, int *port, const char **why);
bool tp_os_socket_ended(int fd); /* the other side sends nothing any more */
/* For both directions; what it has not sent yet is lost once it is closed. */
void tp_os_socket_cut(int fd);
void tp_os_socket_shut(int fd); /* the same, and what it has not sent yet goes */
void tp_os_socket_close(int fd);
/* Waits for the condition, at most so long. */
void tp_os_wait(pthread_cond_t *c, pthread_mutex_t *m, double seconds);

/* ---- a child process ---- */
typedef struct {
  int64_t pid, owner; /* owner: the process whose child it is: after a fork others know of it */
  int told;           /* the end of a pipe for its messages; -1: none */
} tp_os_child;
/* Without our files, signals and the terminal's keys; its output goes to the pipe. */
bool tp_os_spawn(tp_os_child *c, char **argv);
/* Reads what it said: bytes; 0: it has closed the pipe; -1: nothing yet. */
long tp_os_hear(tp_os_child *c, char *p, size_t n);
void tp_os_await(tp_os_child *c, int ms); /* until it says something, or time is over */
/* 1: it ended; 0: it runs; -1: other code has waited for it, or it is no child of this process. */
int tp_os_ended(tp_os_child *c);
void tp_os_kill(tp_os_child *c); /* with its own children */
void tp_os_deaf(tp_os_child *c); /* closes the pipe */
#endif
