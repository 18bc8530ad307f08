/* backend: the table of devices. */
#include "rt/fn.h"
#include "gpu/gpu.h"

static const tp_backend backends[] = {
  { "cpu", &tp_interp, NULL, NULL },
  { "cuda", &tp_interp, &tp_on_device, &tp_cuda },
  { "opencl", &tp_interp, &tp_on_device, &tp_opencl },
};

const tp_backend *tp_backend_find(const char *name, tp_pos pos, tp_error *err) {
  tp_buf all;
  tp_buf_init(&all);
  for (int i = 0; i < (int)TP_LEN(backends); i++) {
    if (!name || !strcmp(name, backends[i].name)) {
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
      *to = (tp_device_row){ backends[k].name, "", spec.memory };
      memcpy(to->name, spec.name, sizeof spec.name);
      return true;
    }
    missing->n = 0;
    i -= n;
  }
  *to = (tp_device_row){ backends[0].name, "", tp_machine_memory(0).bytes };
  return i == 0;
}
