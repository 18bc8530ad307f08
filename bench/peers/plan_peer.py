"""The peers of bench/plan.lua: the same functions as users of JAX write them, jitted, compiled before they are timed.

    python3 bench/peers/plan_peer.py ROW TIMES DIR SIZE...     the best time of the processor and of the wall in ms, and the
                                                         sum of the squares of what was computed
    python3 bench/peers/plan_peer.py arrays DIR SIZE...        what the programs start from: DIR/x.npy and DIR/y.npy
"""
import os
import sys
import time

import numpy as np


def softmax(axis):
    import jax

    return jax.jit(lambda x: jax.nn.softmax(x, axis))


def norm():
    import jax

    def layer_norm(x):
        d = x - x.mean(-1, keepdims=True)
        return d * jax.lax.rsqrt((d * d).mean(-1, keepdims=True) + 1e-5)

    return jax.jit(layer_norm)


def chain():
    import jax
    import jax.numpy as jnp

    def twenty(x, y):
        a = x * y + 0.5
        b = a * a - x
        c = (b - a) * 0.25 + y
        d = jnp.maximum(c, a) * b
        e = jnp.sqrt(jnp.abs(d) + 1)
        g = (d / e - c) * a
        return (g + e) * (g - e) + b * c

    return jax.jit(twenty)


def select():
    import jax
    import jax.numpy as jnp

    def choices(x, y):
        a = jnp.where(x > 0, x, y * 0.1)
        b = jnp.clip(jnp.where(a < y, a + y, a - y), -1, 1)
        return jnp.clip(jax.nn.relu(jnp.where(b > 0.5, b * x, b)), 0.125, 0.75)

    return jax.jit(choices)


def adam(x, y):
    """Steps from the start, as ours: the gradient of sum(w * g) is g. Buffers are donated."""
    import jax
    import jax.numpy as jnp

    def step(w, m, v, t, g):
        d = jax.grad(lambda w: jnp.sum(w * g))(w)
        m = 0.9 * m + 0.1 * d
        v = 0.999 * v + 0.001 * d * d
        mean, power = m / (1 - 0.9**t), v / (1 - 0.999**t)
        return w - 1e-3 * mean / (jnp.sqrt(power) + 1e-8), m, v, t + 1

    run = jax.jit(step, donate_argnums=(0, 1, 2, 3))
    g, first = jnp.asarray(y), [jnp.array(x), jnp.zeros_like(x), jnp.zeros_like(x), jnp.float32(1)]
    run = run.lower(*first, g).compile()

    def steps(n):
        state = [jnp.array(a) for a in first]
        for _ in range(n):
            state = run(*state, g)
        return state[0]

    return steps, 20


def call(make, *arrays):
    import jax.numpy as jnp

    inputs = [jnp.asarray(a) for a in arrays]
    run = make().lower(*inputs).compile()
    return lambda n: run(*inputs), None


ROWS = {
    "softmax-last": lambda x, y: call(lambda: softmax(-1), x),
    "softmax-first": lambda x, y: call(lambda: softmax(0), x),
    "norm": lambda x, y: call(norm, x),
    "chain": lambda x, y: call(chain, x, y),
    "select": lambda x, y: call(select, x, y),
    "adam": adam,
}


def best(times, once, n):
    cpu = wall = float("inf")
    for _ in range(times):
        y = None                                        # given back before the next is made
        w0, c0 = time.perf_counter(), time.process_time()
        y = once(n).block_until_ready()
        cpu, wall = min(cpu, time.process_time() - c0), min(wall, time.perf_counter() - w0)
    return cpu * 1e3, wall * 1e3, y


def measure(times, once, n):
    """Of what is done n times: of one of these, what begins and ends a call left out."""
    cpu, wall, y = best(times, once, n)
    if n:
        cpu1, wall1, _ = best(times, once, 1)
        cpu, wall = (cpu - cpu1) / (n - 1), (wall - wall1) / (n - 1)
    return cpu, wall, np.square(np.asarray(y), dtype=np.float64).sum()


if __name__ == "__main__":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    row, *rest = sys.argv[1:]
    if row == "arrays":
        folder, *shape = rest[0], *map(int, rest[1:])
        rng = np.random.default_rng(0)
        for name in "xy":
            np.save(os.path.join(folder, name), rng.uniform(-1, 1, shape).astype(np.float32))
    else:
        x, y = (np.load(os.path.join(rest[1], n + ".npy")) for n in "xy")
        print(*measure(int(rest[0]), *ROWS[row](x, y)))
