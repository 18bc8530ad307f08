/* nvrtc ARCH FILE: NVRTC's PTX of a text of CUDA C, on stdout; nvrtc: is it here? Its log on
 * stderr. Built with the options of gpu/cuda.c, and -lineinfo. TEMPO_NVRTC names the library or its
 * folder. Status 77: there is none. */
#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct program program;
static int (*create)(program **, const char *, const char *, int, const char **, const char **);
static int (*compile)(program *, int, const char *const *);
static int (*log_size)(program *, size_t *), (*get_log)(program *, char *);
static int (*ptx_size)(program *, size_t *), (*get_ptx)(program *, char *);

static void *found(const char *pattern) {
  glob_t g;
  void *lib = NULL;
  if (glob(pattern, GLOB_TILDE, NULL, &g) == 0)
    for (size_t i = 0; i < g.gl_pathc && !lib; i++) lib = dlopen(g.gl_pathv[i], RTLD_NOW);
  globfree(&g);
  return lib;
}

/* The named one, the loader's, the toolkit's, that of PyPI's wheels. */
static void *library(void) {
  static const char *const places[] = { "/usr/local/cuda/lib64/libnvrtc.so.1[23]",
    "/usr/lib/python3/dist-packages/nvidia/*/lib/libnvrtc.so.1[23]",
    "/usr/local/lib/python3*/*-packages/nvidia/*/lib/libnvrtc.so.1[23]",
    "~/.local/lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so.1[23]" };
  const char *named = getenv("TEMPO_NVRTC");
  char pattern[4096];
  void *lib = NULL;
  if (named && *named) {
    if ((lib = dlopen(named, RTLD_NOW))) return lib;
    snprintf(pattern, sizeof pattern, "%s/libnvrtc.so.1[23]", named);
    return found(pattern);
  }
  if (!lib) lib = dlopen("libnvrtc.so.13", RTLD_NOW);
  if (!lib) lib = dlopen("libnvrtc.so.12", RTLD_NOW);
  for (size_t i = 0; !lib && i < sizeof places / sizeof *places; i++) lib = found(places[i]);
  return lib;
}

static char *whole(const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  fseek(f, 0, SEEK_END);
  long n = ftell(f);
  rewind(f);
  char *text = malloc((size_t)n + 1);
  n = (long)fread(text, 1, (size_t)n, f);
  text[n] = 0;
  fclose(f);
  return text;
}

int main(int argc, char **argv) {
  void *lib = library();
  if (!lib) return fputs("nvrtc: no libnvrtc.so.13 or .12 here\n", stderr), 77;
  if (argc < 3) return 0;
  *(void **)&create = dlsym(lib, "nvrtcCreateProgram");
  *(void **)&compile = dlsym(lib, "nvrtcCompileProgram");
  *(void **)&log_size = dlsym(lib, "nvrtcGetProgramLogSize");
  *(void **)&get_log = dlsym(lib, "nvrtcGetProgramLog");
  *(void **)&ptx_size = dlsym(lib, "nvrtcGetPTXSize");
  *(void **)&get_ptx = dlsym(lib, "nvrtcGetPTX");
  char *text = whole(argv[2]), arch[64];
  if (!text) return perror(argv[2]), 1;
  snprintf(arch, sizeof arch, "--gpu-architecture=%s", argv[1]);
  const char *options[] = { arch, "--fmad=false", "-lineinfo" };
  program *p;
  size_t n = 0;
  if (create(&p, text, argv[2], 0, NULL, NULL)) return 1;
  int status = compile(p, 3, options);
  if (!log_size(p, &n) && n > 1) {
    char *log = malloc(n);
    get_log(p, log);
    fputs(log, stderr);
  }
  if (status || ptx_size(p, &n)) return 1;
  char *ptx = malloc(n);
  get_ptx(p, ptx);
  fwrite(ptx, 1, n - 1, stdout);
  return 0;
}
