"""The peers of bench/layout.lua in JAX and NumPy, as their users write them, jitted and compiled before they are timed.

    python3 bench/peers/layout_peer.py ROW [SIZE]     nanoseconds of one step by the wall, and a number of what was computed
"""
import os
import sys
import time

import numpy as np

SIDE, STEPS = 1000, 1000


def timed(run, n, whole=False):
    """Of n steps, what begins and ends a call left out if it is not the whole that counts."""
    run(n), run(1)
    best = least = float("inf")
    for _ in range(5):
        a = time.perf_counter()
        run(1)
        b = time.perf_counter()
        y = run(n)
        best, least = min(best, time.perf_counter() - b), min(least, b - a)
    return (best / n if whole else (best - least) / (n - 1)) * 1e9, y


def inplace(cells, change):
    import jax
    import jax.numpy as jnp

    v = jnp.ones(SIDE, jnp.float32)
    run = jax.jit(lambda n, v: jax.lax.fori_loop(1, n + 1, lambda t, h: change(jnp, h, t, v), jnp.zeros(cells, jnp.float32)).sum())
    return timed(lambda n: float(run(n, v)), STEPS, whole=True)


def inplace_row():
    return inplace((SIDE, SIDE), lambda jnp, h, t, v: h.at[t % SIDE].set(v * t))


def inplace_where():
    return inplace((SIDE * SIDE,), lambda jnp, h, t, v: h.at[t * 7919 % (SIDE * SIDE)].set(v[0] * t))


def inplace_scatter():
    return inplace((SIDE * SIDE,), lambda jnp, h, t, v: h.at[(t + jnp.arange(SIDE)) * 7919 % (SIDE * SIDE)].add(v * t))


def cnn():
    import jax
    import jax.numpy as jnp

    rng = np.random.default_rng(0)

    def first(*shape):
        bound = np.prod(shape[1:]) ** -0.5
        return jnp.asarray(rng.uniform(-bound, bound, shape), jnp.float32)

    w = [first(16, 1, 3, 3), jnp.zeros(16), first(32, 16, 3, 3), jnp.zeros(32), first(10, 32 * 49).T, jnp.zeros(10)]

    def block(x, k, b):
        x = jax.lax.conv_general_dilated(x, k, (1, 1), "SAME") + b[:, None, None]
        return jax.lax.reduce_window(jax.nn.relu(x), -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    def loss(w, x, y):
        h = block(block(x, w[0], w[1]), w[2], w[3]).reshape(x.shape[0], -1)
        return -jnp.take_along_axis(jax.nn.log_softmax(h @ w[4] + w[5]), y[:, None], 1).mean()

    @jax.jit
    def step(w, x, y):
        value, g = jax.value_and_grad(loss)(w, x, y)
        return [a - 0.01 * d for a, d in zip(w, g)], value

    x, y = jnp.asarray(rng.uniform(size=(64, 1, 28, 28)), jnp.float32), jnp.arange(64) % 10

    def run(n):
        v = w
        for _ in range(n):
            v, value = step(v, x, y)
        return float(value)

    return timed(run, 20)


def cnn_torch():
    import torch

    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    nn = torch.nn
    net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32 * 49, 10))
    sgd = torch.optim.SGD(net.parameters(), lr=0.01)
    x, y = torch.from_numpy(rng.uniform(size=(64, 1, 28, 28)).astype(np.float32)), torch.arange(64) % 10

    def run(n):
        for _ in range(n):
            sgd.zero_grad()
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            sgd.step()
        return loss.item()

    return timed(run, 20)


def pool_sight():
    return (np.arange(64 * 16 * 28 * 28) * 7919 % 10007 / 10007).astype(np.float32).reshape(64, 16, 28, 28)


def pool():
    import jax
    import jax.numpy as jnp

    def gain(x):
        return jnp.square(jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")).sum()

    x = jnp.asarray(pool_sight())
    step = jax.jit(lambda n, x: jax.lax.fori_loop(0, n, lambda i, v: v - 0.1 * jax.grad(gain)(v), x).mean())
    return timed(lambda n: float(step(n, x)), 20)


def pool_torch():
    import torch

    torch.set_num_threads(1)

    def run(n):
        x = torch.from_numpy(pool_sight()).requires_grad_()
        for _ in range(n):
            (g,) = torch.autograd.grad(torch.nn.functional.max_pool2d(x, 2).square().sum(), x)
            x = (x - 0.1 * g).detach().requires_grad_()
        return x.mean().item()

    return timed(run, 20)


def ppo(envs):
    """4 epochs of 4 shuffled minibatches, one jit that returns its parameters."""
    import jax
    import jax.numpy as jnp

    n, rng = envs * 128, np.random.default_rng(0)

    def net(out):
        sizes = [4, 64, 64, out]
        return [p for a, b in zip(sizes, sizes[1:]) for p in (jnp.asarray(rng.uniform(-1, 1, (a, b)) * a**-0.5, jnp.float32), jnp.zeros(b))]

    def forward(p, x):
        return jnp.tanh(jnp.tanh(x @ p[0] + p[1]) @ p[2] + p[3]) @ p[4] + p[5]

    def loss(w, obs, action, old, adv, target):
        adv = (adv - adv.mean()) / (adv.std(ddof=1) + 1e-8)
        log_p = jnp.take_along_axis(jax.nn.log_softmax(forward(w[:6], obs)), action[:, None], 1)[:, 0]
        ratio = jnp.exp(log_p - old)
        gain = jnp.minimum(ratio * adv, jnp.clip(ratio, 0.8, 1.2) * adv).mean()
        return 0.5 * jnp.square(forward(w[6:], obs)[:, 0] - target).mean() - gain

    def minibatch(carry, batch):
        w, m, v, k = carry
        value, g = jax.value_and_grad(loss)(w, *batch)
        norm = jnp.sqrt(sum(jnp.square(x).sum() for x in g))
        g = [x * jnp.minimum(1, 0.5 / (norm + 1e-6)) for x in g]
        m = [0.9 * a + 0.1 * b for a, b in zip(m, g)]
        v = [0.999 * a + 0.001 * b * b for a, b in zip(v, g)]
        w = [x - 3e-4 * (a / (1 - 0.9**k)) / (jnp.sqrt(b / (1 - 0.999**k)) + 1e-8) for x, a, b in zip(w, m, v)]
        return (w, m, v, k + 1), value

    def epoch(carry, key, data):
        order = jax.random.permutation(key, n).reshape(4, -1)
        return jax.lax.scan(lambda c, at: minibatch(c, [x[at] for x in data]), carry, order)

    data = [jnp.asarray(a) for a in (rng.uniform(size=(n, 4)).astype(np.float32), rng.integers(0, 2, n), -0.5 - 0.4 * rng.uniform(size=n).astype(np.float32),
                                     rng.uniform(size=n).astype(np.float32), rng.uniform(size=n).astype(np.float32))]
    update = jax.jit(lambda c, key, data: jax.lax.scan(lambda c, k: epoch(c, k, data), c, jax.random.split(key, 4)))
    w = net(2) + net(1)
    start = (w, [jnp.zeros_like(x) for x in w], [jnp.zeros_like(x) for x in w], jnp.float32(1))

    def run(times):
        carry = start
        for k in range(times):
            carry, value = update(carry, jax.random.PRNGKey(k), data)
        return float(jax.block_until_ready(value)[-1, -1])

    return timed(run, 2 if envs > 100 else 40)


def gather():
    rng = np.random.default_rng(0)
    x, k = rng.uniform(size=(65536, 4)).astype(np.float32), np.arange(65536) * 40503 % 65536

    def run(n):
        for _ in range(n):
            y = np.take(x, k, axis=0)
        return y[0, 0]

    return timed(run, 100)


def window():
    """A static cache that rolls; tokens one after the other in one loop."""
    import jax
    import jax.numpy as jnp

    width, batch, room, rng = 512, 4, 256, np.random.default_rng(0)
    w = [[jnp.asarray(rng.standard_normal((width, width)) * width**-0.5, jnp.float32) for _ in range(4)] for _ in range(2)]
    x0 = jnp.asarray(rng.standard_normal((batch, width)), jnp.float32)

    def token(t, carry):
        cache, x = carry
        new = []
        for (wq, wk, wv, wo), (keys, values) in zip(w, cache):
            q, at = x @ wq, t % room
            keys = jax.lax.dynamic_update_slice(keys, (x @ wk)[None], (at, 0, 0))
            values = jax.lax.dynamic_update_slice(values, (x @ wv)[None], (at, 0, 0))
            scores = jnp.einsum("bd,tbd->bt", q, keys) * width**-0.5
            scores = jnp.where(jnp.arange(room) <= t, scores, -jnp.inf)
            x = x + jnp.tanh(jnp.einsum("bt,tbd->bd", jax.nn.softmax(scores), values) @ wo)
            new.append((keys, values))
        return new, x / jnp.sqrt(jnp.mean(x * x, 1, keepdims=True))

    empty = jnp.zeros((room, batch, width))
    run = jax.jit(lambda n, x: jax.lax.fori_loop(0, n, token, ([(empty, empty)] * 2, x))[1].sum())
    return timed(lambda n: float(run(n, x0)), 1024)


if __name__ == "__main__":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    row, *sizes = sys.argv[1:]
    print("%.6g %.9g" % globals()[row.replace("-", "_")](*map(int, sizes)))
