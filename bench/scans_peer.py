"""The peers of bench/scans.lua in JAX, PyTorch and NumPy, as their users write them, jitted and compiled before they are timed.

    python3 bench/scans_peer.py ROW T time|memory     milliseconds of the best run, or MiB that it made the process grow by; what stands at some places
"""
import os
import sys
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax
import jax.numpy as jnp
import numpy as np


def mib(what):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith(what + ":"))


def numbers(shape, step, lo, hi):
    k = np.arange(np.prod(shape), dtype=np.int64)
    return ((k * step % 1009).astype(np.float64) * ((hi - lo) / 1009) + lo).astype(np.float32).reshape(shape)


def gradients(f, names):
    def of(*x):
        return jnp.sum(f(*x) ** 2)

    return jax.jit(jax.grad(of, argnums=tuple(range(names))))


def sequential(a, b):
    def step(h, ab):
        h = ab[0] * h + ab[1]
        return h, h

    return jax.lax.scan(step, jnp.zeros(a.shape[1]), (a, b))[1]


def parallel(a, b):
    return jax.lax.associative_scan(lambda x, y: (x[0] * y[0], y[0] * x[1] + y[1]), (a, b))[1]


def rows(T):
    return [numbers((T, 64), 7, 0.5, 1), numbers((T, 64), 11, -1, 1)]


def selective(u, dt, B, C, A):
    def step(h, x):
        u, dt, B, C = x
        h = jnp.exp(dt[:, None] * A) * h + (dt * u)[:, None] * B
        return h, jnp.sum(h * C, 1)

    return jax.lax.scan(step, jnp.zeros(A.shape), (u, dt, B, C))[1]


def model(T):
    D, N = 1024, 16
    return [numbers((T, D), 7, -1, 1), numbers((T, D), 11, 0.01, 0.1), numbers((T, N), 13, -1, 1), numbers((T, N), 17, -1, 1), numbers((D, N), 19, -1, -0.1)]


def attend(q, k, v):
    return jax.nn.dot_product_attention(q[None], k[None], v[None], is_causal=True)[0]


def heads(T):
    return [numbers((T, 8, 64), step, -1, 1) for step in (7, 11, 13)]


def sdpa(T, of):
    import torch

    torch.set_num_threads(1)
    q, k, v = (torch.from_numpy(x.transpose(1, 0, 2)[None].copy()).requires_grad_() for x in heads(T))
    before, best = mib("VmRSS"), float("inf")
    for _ in range(1 if of == "memory" else 5):
        q.grad = k.grad = v.grad = None
        start = time.perf_counter()
        torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).square().sum().backward()
        best = min(best, time.perf_counter() - start)
    places = sum(float(q.grad[0, 0, p, 0]) for p in (0, 1, T // 2))
    return (mib("VmHWM") - before if of == "memory" else best * 1e3), places


def copy(T):
    """As much as a scan moves, which reads two arrays and writes one."""
    one = np.ones(T * 64 * 3 // 2, np.float32)
    other = np.zeros_like(one)
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        np.copyto(other, one)
        best = min(best, time.perf_counter() - start)
    return best * 1e3, 0


def main(row, T, of):
    if row == "copy":
        return copy(T)
    if row == "sdpa":
        return sdpa(T, of)
    f, inputs = {
        "scan": (jax.jit(sequential), rows), "associative": (jax.jit(parallel), rows),
        "scan-grad": (gradients(sequential, 2), rows), "associative-grad": (gradients(parallel, 2), rows),
        "ssm": (gradients(selective, 5), model), "attention": (gradients(attend, 3), heads),
    }[row]
    inputs = [jnp.asarray(x) for x in inputs(T)]
    compiled = f.lower(*inputs).compile()
    before, best, y = mib("VmRSS"), float("inf"), None
    for _ in range(1 if of == "memory" else 5):
        y = None
        start = time.perf_counter()
        y = jax.block_until_ready(compiled(*inputs))
        best = min(best, time.perf_counter() - start)
    first = y[0] if isinstance(y, tuple) else y
    places = sum(float(first[p].ravel()[0]) for p in (0, 1, T // 2))
    return (mib("VmHWM") - before if of == "memory" else best * 1e3), places


print("%.6g %.9g" % main(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
