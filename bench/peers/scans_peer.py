"""The peers of bench/scans.lua in JAX and NumPy, as their users write them, jitted and compiled before they are timed.

    python3 bench/peers/scans_peer.py ROW T     MiB that a run makes the process grow by, milliseconds of the best, what stands at some places of the results
"""
import os
import sys

os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax
import jax.numpy as jnp
import numpy as np
from scans_data import heads, measured, model, rows


def gradients(f, names):
    def of(*x):
        return jnp.sum(f(*x) ** 2)

    return jax.grad(of, argnums=tuple(range(names)))


def sequential(a, b):
    def step(h, ab):
        h = ab[0] * h + ab[1]
        return h, h

    return jax.lax.scan(step, jnp.zeros(a.shape[1]), (a, b))[1]


def parallel(a, b):
    return jax.lax.associative_scan(lambda x, y: (x[0] * y[0], y[0] * x[1] + y[1]), (a, b))[1]


def selective(u, dt, B, C, A):
    def step(h, x):
        u, dt, B, C = x
        h = jnp.exp(dt[:, None] * A) * h + (dt * u)[:, None] * B
        return h, jnp.sum(h * C, 1)

    return jax.lax.scan(step, jnp.zeros(A.shape), (u, dt, B, C))[1]


def attend(q, k, v):
    return jax.nn.dot_product_attention(q[None], k[None], v[None], is_causal=True)[0]


def copy(T):
    """As much as a scan moves, which reads two arrays and writes one."""
    one = np.ones(T * 64 * 3 // 2, np.float32)
    other = np.zeros_like(one)

    def run():
        np.copyto(other, one)
        return []

    return run


def made(row, T):
    f, inputs = {
        "scan": (sequential, rows), "associative": (parallel, rows),
        "scan-grad": (gradients(sequential, 2), rows), "associative-grad": (gradients(parallel, 2), rows),
        "ssm": (gradients(selective, 5), model), "attention": (gradients(attend, 3), heads),
    }[row]
    inputs = [jnp.asarray(x) for x in inputs(T)]
    compiled = jax.jit(f).lower(*inputs).compile()

    def run():
        y = jax.block_until_ready(compiled(*inputs))
        return y if isinstance(y, (tuple, list)) else [y]

    return run


row, T = sys.argv[1], int(sys.argv[2])
measured(copy(T) if row == "copy" else made(row, T), T)
