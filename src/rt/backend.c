/* backend: the table of devices. */
#include "rt/fn.h"
#include "gpu/gpu.h"

static const tp_backend backends[] = { { "cpu", &tp_interp, NULL },
  { "cuda", &tp_on_cuda, &tp_cuda }, { "opencl", &tp_on_opencl, &tp_opencl } };

const tp_backend *tp_backend_find(const char *name, tp_pos pos, tp_error *err) {
  tp_buf all;
  tp_buf_init(&all);
  for (int i = 0; i < (int)TP_LEN(backends); i++) {
    if (!name || !strcmp(name, backends[i].name)) return tp_buf_free(&all), &backends[i];
    tp_putf(&all, "%s'%s'", i ? ", " : "", backends[i].name);
  }
  tp_fail(err, TP_E_DEVICE, pos, "device '%s' is not in this build, which has %s", name,
      all.failed ? "?" : all.s);
  tp_buf_free(&all);
  return NULL;
}
