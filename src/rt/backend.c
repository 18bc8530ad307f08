/* backend: the table of devices. */
#include "rt/fn.h"
#include "gpu/gpu.h"
#include <stdlib.h>

static const tp_backend backends[] = {
  { "cpu", &tp_interp, NULL, NULL },
  { "cuda", &tp_interp, &tp_on_device, &tp_cuda },
  { "opencl", &tp_interp, &tp_on_device, &tp_opencl },
};

/* The number behind the name of a device ("opencl:1"), or 0; -1: name is not this one's. */
static int which_of(const tp_backend *b, const char *name) {
  size_t n = strlen(b->name);
  if (strncmp(name, b->name, n)) return -1;
  if (!name[n]) return 0;
  size_t digits = strspn(name + n + 1, "0123456789");
  bool number = b->device && name[n] == ':' && digits > 0 && digits < 4 && !name[n + 1 + digits];
  return number ? atoi(name + n + 1) : -1;
}

const tp_backend *tp_backend_find(const char *name, int *which, tp_pos pos, tp_error *err) {
  tp_buf all;
  tp_buf_init(&all);
  for (int i = 0; i < (int)TP_LEN(backends); i++) {
    if ((*which = name ? which_of(&backends[i], name) : 0) >= 0) {
      tp_buf_free(&all);
      return &backends[i];
    }
    tp_putf(&all, "%s'%s'", i ? ", " : "", backends[i].name);
  }
  tp_fail(err, TP_E_DEVICE, pos, "device '%s' is not in this build, which has %s", name,
      all.failed ? "?" : all.s);
  tp_buf_free(&all);
  return NULL;
}

bool tp_devices(int i, tp_device_row *to, tp_buf *missing) {
  for (int k = 1; k < (int)TP_LEN(backends) && i > 0; k++) {
    const tp_gdriver *d = backends[k].device;
    tp_gspec spec = { 0 };
    int n = TP_MAX(d->find(i - 1, &spec, missing), 1);
    if (i <= n) {
      *to = (tp_device_row){ "", "", spec.memory };
      int at = snprintf(to->device, sizeof to->device, "%s", backends[k].name);
      if (i > 1) snprintf(to->device + at, sizeof to->device - (size_t)at, ":%d", i - 1);
      memcpy(to->name, spec.name, sizeof spec.name);
      return true;
    }
    missing->n = 0;
    i -= n;
  }
  *to = (tp_device_row){ "cpu", "", tp_machine_memory(0).bytes };
  return i == 0;
}
