"""The peers of bench/optimiser.lua in JAX, jitted and compiled before they are timed.

    python3 bench/peers/optimiser_peer.py ROW N     nanoseconds of one run by the wall, and a number of what was computed
"""
import os
import sys
import time


def prefix(jnp, lax, x):
    return jnp.cumsum(x)


def window(jnp, lax, x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (64,), (1,), [(63, 0)])


if __name__ == "__main__":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax
    import jax.numpy as jnp
    import numpy as np

    row, n = globals()[sys.argv[1]], int(sys.argv[2])
    x = jnp.asarray(np.sin(np.arange(n) * 7.3), jnp.float32)
    run = jax.jit(lambda x: row(jnp, jax.lax, x))
    y = run(x).block_until_ready()
    best = float("inf")
    for _ in range(20):
        a = time.perf_counter()
        y = run(x).block_until_ready()
        best = min(best, time.perf_counter() - a)
    print("%.6g %.9g" % (best * 1e9, float(y[n // 2])))
