"""What the peers of bench/scans.lua share: inputs, and how a run is measured."""
import ctypes
import time

import numpy as np


def numbers(shape, step, lo, hi):
    k = np.arange(np.prod(shape), dtype=np.int64)
    return ((k * step % 1009).astype(np.float64) * ((hi - lo) / 1009) + lo).astype(np.float32).reshape(shape)


def rows(T):
    return [numbers((T, 64), 7, 0.5, 1), numbers((T, 64), 11, -1, 1)]


def model(T):
    D, N = 1024, 16
    return [numbers((T, D), 7, -1, 1), numbers((T, D), 11, 0.01, 0.1), numbers((T, N), 13, -1, 1), numbers((T, N), 17, -1, 1), numbers((D, N), 19, -1, -0.1)]


def heads(T):
    return [numbers((T, 8, 64), step, -1, 1) for step in (7, 11, 13)]


def mib(what):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith(what + ":"))


def measured(run, T):
    """MiB that the first run makes the process grow by, milliseconds of the best run, and what stands at some places of all that it gives."""
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")  # the peak is what the process has now
    before = mib("VmRSS")
    best = float("inf")
    for k in range(5):
        y = None
        start = time.perf_counter()
        y = run()
        best = min(best, time.perf_counter() - start)
        if k == 0:
            memory = mib("VmHWM") - before
    places = sum(float(x[p % x.shape[0]].ravel()[0]) for x in y for p in (0, 1, T // 2))
    print("%.6g %.6g %.9g" % (memory, best * 1e3, places))
