"""The peers of bench/memory.lua: the same programs as users of JAX (lax.scan, grad, jit) and of PyTorch (eager loops) write them.

    python3 bench/peers/memory_peer.py jax|torch rl|montecarlo|bptt|causal|windowed SIZE...
    python3 bench/peers/memory_peer.py arrays bptt|causal|windowed DIR SIZE...      what the program starts from, for bench/memory.lua

rl takes ENVS STEPS N [SIDE]: observations of 3 x SIDE x SIDE; with SIDE it ends with status 3 beyond 2 GiB.

Prints the bytes by which the process grew at its peak over what it had before the run, and a number that the run computed: but for rl and montecarlo,
which draw their own actions, it is the same for all. Before that everything is imported, compiled for the sizes of the run (JAX) or run once at small
ones (PyTorch)."""
import ctypes
import gc
import os
import sys
import threading
import time

import numpy as np

SIDE, HIDDEN, ACTIONS = 64, 64, 4
OBS = 3 * SIDE * SIDE
IN, CELL = 64, 128
GAMMA, LR = 0.99, 0.01
MOST = 0


def status(key):
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith(key + ":"))


def watch(start, most):
    """Ends the process with status 3 once it holds so many bytes more than at the start."""
    while True:
        if status("VmRSS") - start > most:
            os._exit(3)
        time.sleep(0.02)


class Growth:
    """The peak of resident memory inside, over what is resident at the start."""

    def __enter__(self):
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        with open("/proc/self/clear_refs", "w") as f:
            f.write("5")
        self.start = status("VmRSS")
        if MOST:
            threading.Thread(target=watch, args=(self.start, MOST), daemon=True).start()
        return self

    def __exit__(self, *error):
        self.bytes = status("VmHWM") - self.start


def normal(seed, *shape, scale=1.0):
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32)


def policy_weights():
    return [normal(1, OBS, HIDDEN, scale=OBS**-0.5), np.zeros(HIDDEN, np.float32), normal(2, HIDDEN, ACTIONS, scale=HIDDEN**-0.5), np.zeros(ACTIONS, np.float32)]


def scene_and_moves():
    return normal(3, 8, OBS), normal(4, ACTIONS, 8)


def lstm_weights():
    k = CELL**-0.5
    return [normal(5, IN, 4 * CELL, scale=k), normal(6, CELL, 4 * CELL, scale=k), np.zeros(4 * CELL, np.float32), normal(7, CELL, 1, scale=k), np.zeros(1, np.float32)]


def attention_weights(layers, width):
    k = width**-0.5
    return [[normal(10 * l + j, width, width, scale=k) for j in range(4)] for l in range(layers)]


# ---- JAX ----

def jax_rl(envs, steps, n):
    import jax
    import jax.numpy as jnp

    scene, moves = map(jnp.asarray, scene_and_moves())

    def policy(w, obs):
        return jnp.tanh(obs.reshape(-1, OBS) @ w[0] + w[1]) @ w[2] + w[3]

    def rollout(w, key):
        first, key = jax.random.split(key)
        s = jax.random.normal(first, (envs, 8))

        def step(s, key):
            obs = jnp.tanh(s @ scene).reshape(envs, 3, SIDE, SIDE)
            a = jax.random.categorical(key, policy(w, obs))
            return s * 0.9 + moves[a], (obs, a, -jnp.mean(s * s, 1))

        return jax.lax.scan(step, s, jax.random.split(key, steps))[1]

    def returns(r):
        if n == 0:
            return jax.lax.scan(lambda g, x: ((x + GAMMA * g),) * 2, jnp.zeros(envs), r, reverse=True)[1]
        padded = jnp.concatenate([r, jnp.zeros((n - 1, envs))])
        return sum(GAMMA**k * padded[k:k + steps] for k in range(n))

    def loss(w, obs, a, g):
        logp = jax.nn.log_softmax(policy(w, obs)).reshape(steps, envs, ACTIONS)
        return -jnp.mean(jnp.take_along_axis(logp, a[..., None], 2)[..., 0] * g)

    def iteration(w, key):
        obs, a, r = rollout(w, key)
        grads = jax.grad(loss)(w, obs, a, returns(r))
        return [x - LR * d for x, d in zip(w, grads)], jnp.mean(r)

    w = [jnp.asarray(x) for x in policy_weights()]
    keys = jax.random.split(jax.random.PRNGKey(0), 2)
    run = jax.jit(iteration, donate_argnums=0).lower(w, keys[0]).compile()
    with Growth() as g:
        for k in keys:
            w, score = run(w, k)
        score = float(score)
    return g.bytes, score


def jax_bptt(batch, steps):
    import jax
    import jax.numpy as jnp

    def loss(w, x, y):
        def step(state, x):
            h, c = state
            i, f, g, o = jnp.split(x @ w[0] + h @ w[1] + w[2], 4, axis=1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zero = jnp.zeros((batch, CELL))
        h = jax.lax.scan(step, (zero, zero), x)[1]
        return jnp.mean((h @ w[3] + w[4] - y) ** 2)

    def iteration(w, x, y):
        value, grads = jax.value_and_grad(loss)(w, x, y)
        return [a - LR * d for a, d in zip(w, grads)], value

    w = [jnp.asarray(x) for x in lstm_weights()]
    x, y = jnp.asarray(normal(8, steps, batch, IN)), jnp.asarray(normal(9, steps, batch, 1))
    run = jax.jit(iteration, donate_argnums=0).lower(w, x, y).compile()
    with Growth() as g:
        w, value = run(w, x, y)
        w, _ = run(w, x, y)
        value = float(value)
    return g.bytes, value


def jax_decode(batch, steps, layers, width, window):
    """A static cache; with a window it is that long and rolls."""
    import jax
    import jax.numpy as jnp

    room = min(window or steps, steps)

    def token(w, cache, x, t):
        new = []
        for (wq, wk, wv, wo), (keys, values) in zip(w, cache):
            q, k, v = x @ wq, x @ wk, x @ wv
            at = t % room
            keys = jax.lax.dynamic_update_slice(keys, k[:, None], (0, at, 0))
            values = jax.lax.dynamic_update_slice(values, v[:, None], (0, at, 0))
            scores = jnp.einsum("bd,btd->bt", q, keys) * width**-0.5
            scores = jnp.where(jnp.arange(room) <= t, scores, -jnp.inf)
            x = x + jnp.tanh(jnp.einsum("bt,btd->bd", jax.nn.softmax(scores), values) @ wo)
            new.append((keys, values))
        return new, x / jnp.sqrt(jnp.mean(x * x, 1, keepdims=True))

    w = [[jnp.asarray(x) for x in layer] for layer in attention_weights(layers, width)]
    x = jnp.asarray(normal(99, batch, width))
    empty = jax.ShapeDtypeStruct((batch, room, width), jnp.float32)
    run = jax.jit(token, donate_argnums=1).lower(w, [(empty, empty)] * layers, x, 0).compile()
    with Growth() as g:
        cache = [(jnp.zeros((batch, room, width)), jnp.zeros((batch, room, width))) for _ in range(layers)]
        for t in range(steps):
            cache, x = run(w, cache, x, t)
        total = float(jnp.sum(x))
    return g.bytes, total


# ---- PyTorch ----

def torch_rl(envs, steps, n):
    import torch

    scene, moves = map(torch.from_numpy, scene_and_moves())
    w = [torch.from_numpy(x).requires_grad_() for x in policy_weights()]
    sgd = torch.optim.SGD(w, lr=LR)

    def policy(obs):
        return torch.tanh(obs.flatten(1) @ w[0] + w[1]) @ w[2] + w[3]

    def iteration(envs, steps):
        s = torch.randn(envs, 8)
        logps, rewards = [], []
        for _ in range(steps):
            obs = torch.tanh(s @ scene).reshape(envs, 3, SIDE, SIDE)
            pi = torch.distributions.Categorical(logits=policy(obs))
            a = pi.sample()
            logps.append(pi.log_prob(a))
            rewards.append(-(s * s).mean(1))
            s = s * 0.9 + moves[a]
        r = torch.stack(rewards)
        if n == 0:
            g, rows = torch.zeros(envs), []
            for x in reversed(rewards):
                g = x + GAMMA * g
                rows.append(g)
            g = torch.stack(rows[::-1])
        else:
            padded = torch.cat([r, torch.zeros(n - 1, envs)])
            g = sum(GAMMA**k * padded[k:k + len(r)] for k in range(n))
        loss = -(torch.stack(logps) * g).mean()
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        return float(r.mean())

    iteration(2, 2)
    sgd.zero_grad(set_to_none=True)
    with Growth() as g:
        for _ in range(2):
            score = iteration(envs, steps)
    return g.bytes, score


def torch_bptt(batch, steps):
    import torch

    lstm, head = torch.nn.LSTM(IN, CELL), torch.nn.Linear(CELL, 1)
    with torch.no_grad():
        for to, w in zip([*lstm.parameters()] + [head.weight, head.bias], [lstm_weights()[k] for k in (0, 1, 2, 2, 3, 4)]):
            to.copy_(torch.from_numpy(w).mT if w.ndim == 2 else torch.from_numpy(w))
    sgd = torch.optim.SGD([*lstm.parameters(), *head.parameters()], lr=LR)

    def iteration(x, y):
        loss = ((head(lstm(x)[0]) - y) ** 2).mean()
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        return float(loss)

    x, y = torch.from_numpy(normal(8, steps, batch, IN)), torch.from_numpy(normal(9, steps, batch, 1))
    sgd.param_groups[0]["lr"] = 0
    iteration(x[:2, :2], y[:2, :2])
    sgd.param_groups[0]["lr"] = LR
    sgd.zero_grad(set_to_none=True)
    with Growth() as g:
        value = iteration(x, y)
        iteration(x, y)
    return g.bytes, value


def torch_decode(batch, steps, layers, width, window):
    """A cache that grows by concatenation; with a window its oldest rows are cut off."""
    import torch

    w = [[torch.from_numpy(x) for x in layer] for layer in attention_weights(layers, width)]
    start = torch.from_numpy(normal(99, batch, width))

    def decode(x, steps):
        cache = [None] * layers
        for _ in range(steps):
            for l, (wq, wk, wv, wo) in enumerate(w):
                q, k, v = x @ wq, (x @ wk)[:, None], (x @ wv)[:, None]
                if cache[l] is not None:
                    k, v = torch.cat([cache[l][0], k], 1), torch.cat([cache[l][1], v], 1)
                if window:
                    k, v = k[:, -window:], v[:, -window:]
                cache[l] = k, v
                scores = torch.einsum("bd,btd->bt", q, k) * width**-0.5
                x = x + torch.tanh(torch.einsum("bt,btd->bd", scores.softmax(1), v) @ wo)
            x = x / (x * x).mean(1, keepdim=True).sqrt()
        return float(x.sum())

    with torch.no_grad():
        decode(start[:1], 4)
        with Growth() as g:
            total = decode(start, steps)
    return g.bytes, total


# ---- for ours ----

def save(folder, **arrays):
    for name, array in arrays.items():
        np.save(os.path.join(folder, name), array)


def save_bptt(folder, batch, steps):
    save(folder, x=normal(8, steps, batch, IN), y=normal(9, steps, batch, 1), **{f"w{k}": w for k, w in enumerate(lstm_weights())})


def save_decode(folder, batch, steps, layers, width):
    save(folder, x=normal(99, batch, width), **{f"w{l}{j}": w for l, ws in enumerate(attention_weights(layers, width)) for j, w in enumerate(ws)})


PROGRAMS = {
    "rl": lambda who, b, t, n: globals()[who + "_rl"](b, t, n),
    "montecarlo": lambda who, b, t: globals()[who + "_rl"](b, t, 0),
    "bptt": lambda who, b, t: globals()[who + "_bptt"](b, t),
    "causal": lambda who, b, t, l, d: globals()[who + "_decode"](b, t, l, d, 0),
    "windowed": lambda who, b, t, l, d, w: globals()[who + "_decode"](b, t, l, d, w),
}

if __name__ == "__main__":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    who, program, *sizes = sys.argv[1:]
    if who == "arrays":
        (save_bptt if program == "bptt" else save_decode)(sizes[0], *map(int, sizes[1:5]))
        sys.exit()
    sizes = [int(x) for x in sizes]
    if program == "rl" and len(sizes) > 3:
        SIDE = sizes.pop()
        OBS, MOST = 3 * SIDE * SIDE, 2 << 30
    print(*PROGRAMS[program](who, *sizes))
