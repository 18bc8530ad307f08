/* windows: the functions of os.h on Windows, built by mingw-w64 (.ci/windows.sh). There is no child
 * process, so programs run in the interpreter; files are replaced as a whole here too. */
#ifdef _WIN32
#include "os/os.h"
#include <windows.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <math.h>
#include <share.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* ---- time ---- */

double tp_os_clock(void) {
  LARGE_INTEGER now, each;
  QueryPerformanceCounter(&now);
  QueryPerformanceFrequency(&each);
  return (double)now.QuadPart / (double)each.QuadPart;
}

double tp_os_thread_clock(void) { return INFINITY; } /* its steps are 15 ms */
void tp_os_sleep(double seconds) { Sleep((DWORD)ceil(seconds * 1e3)); }

/* ---- the process ---- */

int64_t tp_os_process(void) { return GetCurrentProcessId(); }
void tp_os_setenv(const char *name, const char *value) { _putenv_s(name, value ? value : ""); }

bool tp_os_thread(pthread_t *t, size_t stack, void *(*fn)(void *), void *arg) {
  pthread_attr_t how;
  pthread_t own;
  if (pthread_attr_init(&how)) return false;
  if (stack) pthread_attr_setstacksize(&how, stack);
  if (!t) pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
  bool ok = !pthread_create(t ? t : &own, &how, fn, arg);
  pthread_attr_destroy(&how);
  return ok;
}

void tp_os_at_fork(void (*before)(void), void (*after)(void), void (*in_child)(void)) {}

bool tp_os_has_dots(void) { return false; }
void tp_os_processor(char *text, size_t n) {
  const char *name = getenv("PROCESSOR_IDENTIFIER");
  snprintf(text, n, "%s", name ? name : "");
}

/* ---- memory ---- */

int64_t tp_os_page(void) {
  SYSTEM_INFO s;
  GetSystemInfo(&s);
  return s.dwPageSize;
}

void *tp_os_aligned(size_t align, size_t n) { return _aligned_malloc(n, align); }
void tp_os_aligned_free(void *p) { _aligned_free(p); }

void *tp_os_pages(size_t n) {
  return VirtualAlloc(NULL, n, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

void tp_os_pages_free(void *p, size_t n) { VirtualFree(p, 0, MEM_RELEASE); }
void tp_os_huge(void *p, size_t n) {}

int tp_os_limits(int64_t back, tp_os_limit v[4]) {
  MEMORYSTATUSEX s = { .dwLength = sizeof s };
  if (!GlobalMemoryStatusEx(&s)) return 0;
  v[0] = (tp_os_limit){ (int64_t)s.ullTotalPhys, "that this machine has" };
  v[1] = (tp_os_limit){ (int64_t)s.ullAvailPageFile + back, "that this system can still give" };
  return 2;
}

int64_t tp_os_group_memory(const char *root) { return INT64_MAX; }

/* ---- a file as memory ---- */

const char *tp_os_scratch(void) {
  const char *dir = getenv("TEMP");
  return dir && *dir ? dir : ".";
}

int tp_os_take(int fd, int64_t bytes) {
  return _chsize_s(fd, bytes); /* fills it with zeros, so the space is taken */
}

/* Windows maps at multiples of 64 KiB, as our buffers begin. The file goes when its view goes. */
int tp_os_map_new(tp_os_map *m, const char *dir, int64_t bytes, int64_t align) {
  char path[MAX_PATH];
  *m = (tp_os_map){ 0 };
  if (!GetTempFileNameA(dir, "tpo", 0, path)) return ENOENT;
  HANDLE f = CreateFileA(path, GENERIC_READ | GENERIC_WRITE, 0, NULL, CREATE_ALWAYS,
      FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, NULL);
  if (f == INVALID_HANDLE_VALUE) return EACCES;
  HANDLE whole = CreateFileMappingA(
      f, NULL, PAGE_READWRITE, (DWORD)((uint64_t)bytes >> 32), (DWORD)bytes, NULL);
  m->room = whole ? MapViewOfFile(whole, FILE_MAP_ALL_ACCESS, 0, 0, (size_t)bytes) : NULL;
  if (whole) CloseHandle(whole);
  CloseHandle(f);
  m->p = m->room;
  m->size = bytes;
  return m->room ? 0 : ENOSPC;
}

void tp_os_map_free(tp_os_map *m) {
  if (m->room) UnmapViewOfFile(m->room);
  *m = (tp_os_map){ 0 };
}

void *tp_os_map_file(const char *path, int64_t *size, const char **why) {
  FILE *f = tp_os_read(path, size, why);
  if (!f || !*size) return f ? fclose(f), "" : NULL;
  HANDLE h = (HANDLE)_get_osfhandle(_fileno(f)),
         whole = CreateFileMappingA(h, NULL, PAGE_READONLY, 0, 0, NULL);
  void *p = whole ? MapViewOfFile(whole, FILE_MAP_READ, 0, 0, 0) : NULL;
  if (whole) CloseHandle(whole);
  if (!p) *why = "it cannot be mapped";
  fclose(f);
  return p;
}

void tp_os_unmap(void *p, size_t n) {
  if (n) UnmapViewOfFile(p);
}

void tp_os_advise(char *p, int64_t n, tp_os_advice what) {
  if (what == TP_OS_LEAVE) VirtualUnlock(p, (size_t)n); /* of unlocked pages: they leave */
}

bool tp_os_populates(void) { return false; }

/* ---- files ---- */

tp_os_kind tp_os_look(const char *path, int *mode) {
  struct _stat64 s;
  if (_stat64(path, &s)) return TP_OS_NONE;
  if (mode) *mode = s.st_mode & (_S_IREAD | _S_IWRITE);
  return s.st_mode & _S_IFREG ? TP_OS_FILE : s.st_mode & _S_IFDIR ? TP_OS_FOLDER : TP_OS_OTHER;
}

bool tp_os_stamp(const char *path, int64_t of[4]) {
  struct _stat64 s;
  if (_stat64(path, &s) || !(s.st_mode & _S_IFREG)) return false;
  of[0] = s.st_size;
  of[1] = s.st_mtime;
  of[2] = of[3] = 0;
  return true;
}

FILE *tp_os_read(const char *path, int64_t *size, const char **why) {
  tp_os_kind kind = tp_os_look(path, NULL);
  FILE *f = kind == TP_OS_FILE || kind == TP_OS_NONE ? fopen(path, "rb") : NULL;
  *why = f                                       ? NULL
      : kind == TP_OS_FILE || kind == TP_OS_NONE ? strerror(errno)
                                                 : "it is no regular file";
  if (f) *size = _filelengthi64(_fileno(f));
  return f;
}

FILE *tp_os_bytes(void *p, size_t n) {
  FILE *f = tmpfile();
  if (f && fwrite(p, 1, n, f) == n && !fseek(f, 0, SEEK_SET)) return f;
  if (f) fclose(f);
  return NULL;
}

char *tp_os_real(const char *path) { return _fullpath(NULL, path, 0); }

FILE *tp_os_create(const char *path, int mode) {
  int fd =
      _open(path, _O_WRONLY | _O_CREAT | _O_EXCL | _O_BINARY | _O_NOINHERIT, _S_IREAD | _S_IWRITE);
  return fd >= 0 ? _fdopen(fd, "wb") : NULL;
}

FILE *tp_os_create_unnamed(const char *path, int mode) { return NULL; }
bool tp_os_name(FILE *f, const char *path) { return false; }
bool tp_os_chmod(FILE *f, int mode) { return true; }
bool tp_os_sync(FILE *f) { return _commit(_fileno(f)) == 0; }
void tp_os_sync_folder(const char *file) {}

static bool did(BOOL ok) {
  if (ok) return true;
  DWORD why = GetLastError();
  errno = why == ERROR_FILE_NOT_FOUND || why == ERROR_PATH_NOT_FOUND ? ENOENT
      : why == ERROR_ALREADY_EXISTS || why == ERROR_FILE_EXISTS      ? EEXIST
      : why == ERROR_DISK_FULL                                       ? ENOSPC
                                                                     : EACCES;
  return false;
}

bool tp_os_rename(const char *from, const char *to) {
  return did(MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH));
}

bool tp_os_link(const char *from, const char *to) { return did(CreateHardLinkA(to, from, NULL)); }

bool tp_os_write(const char *path, const char *text, size_t n) {
  FILE *f = fopen(path, "wb");
  bool ok = f && fwrite(text, 1, n, f) == n;
  return f && fclose(f) == 0 && ok;
}

void tp_os_touch(const char *path) {
  FILETIME now;
  HANDLE f = CreateFileA(path, FILE_WRITE_ATTRIBUTES, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
      OPEN_EXISTING, 0, NULL);
  if (f == INVALID_HANDLE_VALUE) return;
  GetSystemTimeAsFileTime(&now);
  SetFileTime(f, NULL, NULL, &now);
  CloseHandle(f);
}

bool tp_os_mkdir(const char *path, bool mine) { return did(CreateDirectoryA(path, NULL)); }

bool tp_os_mkdir_new(char *path) {
  char *end = path + strlen(path) - 6;
  for (unsigned k = 0; k < 1000; k++) {
    snprintf(end, 7, "%06u", (unsigned)(GetTickCount64() + 997 * k) % 1000000);
    if (CreateDirectoryA(path, NULL)) return true;
  }
  return false;
}

bool tp_os_is_mine(const char *folder) { return tp_os_look(folder, NULL) == TP_OS_FOLDER; }

void tp_os_glob(const char *pattern, bool (*each)(void *ud, const char *path), void *ud) {
  const char *slash = strrchr(pattern, '/');
  size_t n = slash ? (size_t)(slash - pattern) + 1 : 0;
  char path[2 * MAX_PATH];
  WIN32_FIND_DATAA found;
  HANDLE h = FindFirstFileA(pattern, &found);
  if (h == INVALID_HANDLE_VALUE) return;
  do {
    snprintf(path, sizeof path, "%.*s%s", (int)n, pattern, found.cFileName);
  } while (!each(ud, path) && FindNextFileA(h, &found));
  FindClose(h);
}

void tp_os_list(const char *folder, void (*each)(void *ud, const char *name), void *ud) {
  char pattern[2 * MAX_PATH];
  WIN32_FIND_DATAA found;
  snprintf(pattern, sizeof pattern, "%s/*", folder);
  HANDLE h = FindFirstFileA(pattern, &found);
  if (h == INVALID_HANDLE_VALUE) return;
  do each(ud, found.cFileName);
  while (FindNextFileA(h, &found));
  FindClose(h);
}

/* ---- libraries ---- */

void *tp_os_open(const char *path) { return (void *)LoadLibraryA(path); }

const char *tp_os_open_error(bool *absent) {
  static _Thread_local char text[64];
  DWORD why = GetLastError();
  *absent = why == ERROR_MOD_NOT_FOUND || why == ERROR_FILE_NOT_FOUND;
  snprintf(text, sizeof text, "error %lu of Windows", why);
  return text;
}

void *tp_os_symbol(void *library, const char *name) {
  FARPROC f = GetProcAddress(library, name);
  void *p;
  memcpy(&p, &f, sizeof p);
  return p;
}

void tp_os_close(void *library) { FreeLibrary(library); }

static HMODULE module_of(const void *address, DWORD how) {
  HMODULE m = NULL;
  GetModuleHandleExA(how | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, address, &m);
  return m;
}

bool tp_os_file_of(const void *address, char *path, size_t n) {
  HMODULE m = module_of(address, GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT);
  DWORD k = m ? GetModuleFileNameA(m, path, (DWORD)n) : 0;
  return k && k < n;
}

void tp_os_stay(const void *address) { module_of(address, GET_MODULE_HANDLE_EX_FLAG_PIN); }

/* ---- a child process: not here ---- */

bool tp_os_spawn(tp_os_child *c, char **argv) {
  *c = (tp_os_child){ .owner = tp_os_process(), .told = -1 };
  return false;
}
long tp_os_hear(tp_os_child *c, char *p, size_t n) { return -1; }
void tp_os_await(tp_os_child *c, int ms) {}
int tp_os_ended(tp_os_child *c) { return -1; }
void tp_os_kill(tp_os_child *c) {}
void tp_os_deaf(tp_os_child *c) {}
#endif
