/* Inside src/gpu: what both drivers are made of. library.c opens libraries, things.c keeps what was
 * made with a device. */
#ifndef TP_GPU_PRIV_H
#define TP_GPU_PRIV_H
#include "gpu/gpu.h"
#include "io/io.h"

/* ---- library.c ---- */
/* A folder, or a pattern of glob(3) for folders: what the variable says, then `path`. Without the
 * variable there is none; variable NULL: the path alone; both NULL: where the system looks. */
typedef struct tp_gfolder {
  const char *variable, *path;
} tp_gfolder;
/* Opens the first of `names` in the first folder that has one. It stays open. NULL: why. */
void *tp_gpu_open(const char *const *names, int nfolder, const tp_gfolder *folder, tp_buf *why);
/* fn[i]: the function of that name; false: the library `of` is too old, which lacks one */
bool tp_gpu_functions(
    const char *of, void *library, int n, const char *const *names, void *fn, tp_buf *why);

/* ---- things.c ---- */
/* Kinds of things, in the order in which they are released. */
typedef enum tp_gkind {
  TP_G_MARK,
  TP_G_KERNEL,
  TP_G_MODULE,
  TP_G_QUEUE,
  TP_G_MEM,
  TP_G_KINDS
} tp_gkind;
/* Each struct of gpu.h but tp_gdev begins with one. handle: the library's; NULL: there is none
 * yet. */
typedef struct tp_gthing {
  tp_gdev *dev;
  tp_gkind kind;
  void *handle;
  struct tp_gthing *next, **at;
} tp_gthing;
struct tp_gdev {
  tp_gspec spec;
  void (*release)(tp_gthing *x); /* its handle, and what else the library gave for it */
  tp_gthing *made[TP_G_KINDS];
};
/* host: where it lies for us, if it is pinned; far: it is the host's, for kernels */
struct tp_gmem {
  tp_gthing is;
  char *host;
  bool far;
  int64_t bytes;
};
struct tp_gmodule {
  tp_gthing is;
};
struct tp_gkernel {
  tp_gthing is;
};
struct tp_gmark {
  tp_gthing is;
};
/* blas: cuBLAS's handle for it, with its workspace; no_blas: there is none */
struct tp_gqueue {
  tp_gthing is;
  void *blas;
  tp_gmem *space;
  bool no_blas;
};
void *tp_gpu_make(tp_gdev *d, tp_gkind kind, size_t size, tp_error *err); /* NULL: no memory */
void *tp_gpu_drop(void *thing);                                           /* NULL */
void tp_gpu_drop_all(tp_gdev *d);

/* ---- things.c: what drivers have in common ---- */
/* A struct of that size with the spec of device `which`; NULL: it cannot be opened. */
tp_gdev *tp_gpu_opened(const tp_gdriver *of, int which, size_t size, tp_error *err);
const tp_gspec *tp_gpu_spec(const tp_gdev *d);
void tp_gpu_drop_mem(tp_gmem *m);
char *tp_gpu_host(tp_gmem *m);
bool tp_gpu_no_room(const tp_gdev *d, int64_t bytes, tp_gside side, tp_error *err);
/* The module whose image the cache has, if the device takes it. */
tp_gmodule *tp_gpu_cached(
    tp_gdev *d, const char *name, tp_gmodule *(*load)(tp_gdev *, const char *, size_t, tp_error *));
/* the compiler refused a text */
bool tp_gpu_refused(const tp_gdev *d, const char *compiler, const char *log, tp_error *err);
/* Does the device take as many threads and parameters? */
bool tp_gpu_fits(const tp_gdev *d, const tp_glaunch *l, tp_error *err);
#endif
