"""The peers of bench/native.lua in JAX, as its users write them, jitted and compiled before they are timed.

    python3 bench/peers/native_peer.py ode|dp|reinforce|ppo|lstm|gru|hmm|carries|update|small N [M]     nanoseconds a step (a cell, a step of an environment) by the wall, and what was computed
    python3 bench/peers/native_peer.py peak-reinforce N ENVS     the largest memory that the process had, in MB of 2^20 bytes, and what was computed
"""
import resource
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np


def timed(run, n, rounds=5, clock=time.perf_counter):
    jax.block_until_ready(run())
    best = float("inf")
    for _ in range(rounds):
        start = clock()
        y = jax.block_until_ready(run())
        best = min(best, clock() - start)
    return best * 1e9 / n, y


def ode(n):
    """Lorenz by Euler's steps: the better of three carried scalars and of a vector."""

    def move(x, y, z):
        return x + 0.05 * (y - x), y + 0.005 * (x * (28 - z) - y), z + 0.005 * (x * y - z * 2.6667)

    one = jnp.float32(1)
    scalars = jax.jit(lambda s: jax.lax.fori_loop(1, n, lambda _, s: move(*s), s))
    vector = jax.jit(lambda s: jax.lax.fori_loop(1, n, lambda _, s: jnp.stack(move(s[0], s[1], s[2])), s))
    a, y = timed(lambda: scalars((one, one, one)), n)
    b, _ = timed(lambda: vector(jnp.ones(3, jnp.float32)), n)
    return min(a, b), float(y[0])


def dp(n):
    """Edit distance by diagonals: all cells of one at once."""
    k = np.arange(n, dtype=np.int64)
    a, b = jnp.asarray(k * k % 7, jnp.int32), jnp.asarray(k * k % 11 % 5, jnp.int32)
    p = jnp.arange(n, dtype=jnp.int32)
    back = jnp.concatenate([b[::-1], jnp.zeros(n, jnp.int32)])

    @jax.jit
    def run(a, back):
        def diagonal(carry, s):
            before, last = carry  # of diagonals s - 2 and s - 1, by p
            other = jax.lax.dynamic_slice(jnp.concatenate([jnp.zeros(n, jnp.int32), back]), (2 * n - 1 - s,), (n,))
            up, corner = jnp.roll(last, 1), jnp.roll(before, 1)
            d = jnp.minimum(jnp.minimum(up, last) + 1, corner + (a != other))
            d = jnp.where((p == 0) | (p == s), s, d)
            return (last, d), None

        zero = jnp.zeros(n, jnp.int32)
        (_, d), _ = jax.lax.scan(diagonal, (zero, zero), jnp.arange(1, 2 * n - 1, dtype=jnp.int32))
        return d[n - 1]

    t, y = timed(lambda: run(a, back), n * n, 3)
    return t, float(y)


def cartpole_net(rng, out, gain, layers=2, width=64):
    sizes, params = [4] + [width] * layers + [out], []
    for k, (a, b) in enumerate(zip(sizes, sizes[1:])):
        q = np.linalg.qr(rng.standard_normal((max(a, b), min(a, b))))[0]
        params += [jnp.asarray((q if a >= b else q.T) * (gain if k == layers else np.sqrt(2)), jnp.float32), jnp.zeros(b, jnp.float32)]
    return params


def forward(p, x):
    for k in range(0, len(p) - 2, 2):
        x = jnp.tanh(x @ p[k] + p[k + 1])
    return x @ p[-2] + p[-1]


def cartpole(s, n, a):
    """A step of each: states, how many steps, terminated, truncated."""
    x, v, th, om = s.T
    c, sn = jnp.cos(th), jnp.sin(th)
    tmp = (jnp.where(a == 1, 10.0, -10.0) + 0.05 * om * om * sn) / 1.1
    acc = (9.8 * sn - c * tmp) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
    s = jnp.stack([x + 0.02 * v, v + 0.02 * (tmp - 0.05 * acc * c / 1.1), th + 0.02 * om, om + 0.02 * acc], 1)
    term = (jnp.abs(s[:, 0]) > 2.4) | (jnp.abs(s[:, 2]) > 12 * 2 * np.pi / 360)
    return s, n + 1, term, (n + 1 >= 500) & ~term


def cartpole_start(key, envs):
    return jax.random.uniform(key, (envs, 4), jnp.float32, -0.05, 0.05)


def adam(params, grads, m, v, k, lr, eps):
    m = [0.9 * x + 0.1 * g for x, g in zip(m, grads)]
    v = [0.999 * x + 0.001 * g * g for x, g in zip(v, grads)]
    return [w - lr * (x / (1 - 0.9**k)) / (jnp.sqrt(y / (1 - 0.999**k)) + eps) for w, x, y in zip(params, m, v)], m, v


def reinforce(iterations, envs, steps=500, layers=2, width=64, rounds=3, clock=time.perf_counter):
    """bench/peers/reinforce_peer.py in JAX: the whole loop in one jit, with its parameters returned."""
    gamma = 0.99
    rng = np.random.default_rng(0)
    half = 2 * layers + 2

    def rollout(policy, key):
        def act(carry, key):
            s, n = carry
            ka, kr = jax.random.split(key)
            a = jnp.argmax(forward(policy, s) + jax.random.gumbel(ka, (envs, 2)), 1)
            after, n, term, trunc = cartpole(s, n, a)
            done = term | trunc
            return (jnp.where(done[:, None], cartpole_start(kr, envs), after), jnp.where(done, 0, n)), (s, a, after, term, trunc)

        kr, ks = jax.random.split(key)
        return jax.lax.scan(act, (cartpole_start(kr, envs), jnp.zeros(envs, jnp.int32)), jax.random.split(ks, steps))[1]

    def loss(params, obs, a, adv_of, ret):
        policy, critic = params[:half], params[half:]
        value = forward(critic, obs)[..., 0]
        log_p = jnp.take_along_axis(jax.nn.log_softmax(forward(policy, obs)), a[..., None], -1)[..., 0]
        return jnp.mean(0.5 * (ret - value) ** 2 - log_p * jax.lax.stop_gradient(ret - value))

    def iterate(carry, it):
        params, m, v, key = carry
        key, now = jax.random.split(key)
        obs, a, after, term, trunc = rollout(params[:half], now)
        next_value = forward(params[half:], after)[..., 0]

        def back(following, x):
            value, term, trunc = x
            g = 1 + gamma * jnp.where(trunc, value, following) * ~term
            return g, g

        _, ret = jax.lax.scan(back, next_value[-1], (next_value, term, trunc), reverse=True)
        grads = jax.grad(loss)(params, obs, a, None, jax.lax.stop_gradient(ret))
        lr, k = 0.01 * (1 - it / iterations), it + 1
        params, m, v = adam(params, grads, m, v, k, lr, 1e-8)
        return (params, m, v, key), steps * envs / jnp.maximum((term | trunc).sum(), 1)

    params = cartpole_net(rng, 2, 0.01, layers, width) + cartpole_net(rng, 1, 1.0, layers, width)
    zero = [jnp.zeros_like(w) for w in params]
    run = jax.jit(lambda c: jax.lax.scan(iterate, c, jnp.arange(iterations, dtype=jnp.float32)))
    t, (_, score) = timed(lambda: run((params, zero, zero, jax.random.PRNGKey(0))), iterations * steps * envs, rounds, clock)
    return t, float(score[-5:].mean())


PPO_STEPS = 128


def ppo_update(envs, updates):
    """PureJaxRL's update of PPO, for scan: gives which steps ended an episode and how long it was."""
    steps, epochs, parts, gamma, lam, clip = PPO_STEPS, 4, 4, 0.99, 0.95, 0.2
    n = envs * steps

    def log_probs(policy, obs, a):
        log_p = jax.nn.log_softmax(forward(policy, obs))
        return jnp.take_along_axis(log_p, a[..., None], -1)[..., 0], log_p

    def loss(params, obs, a, old, old_value, gain):
        target = gain + old_value
        now, log_p = log_probs(params[:6], obs, a)
        value = forward(params[6:], obs)[:, 0]
        near = old_value + jnp.clip(value - old_value, -clip, clip)
        miss = 0.5 * jnp.maximum(jnp.square(value - target), jnp.square(near - target)).mean()
        ratio = jnp.exp(now - old)
        gain = (gain - gain.mean()) / (gain.std() + 1e-8)
        won = jnp.minimum(ratio * gain, jnp.clip(ratio, 1 - clip, 1 + clip) * gain).mean()
        entropy = -(jnp.exp(log_p) * log_p).sum(-1).mean()
        return 0.5 * miss - won - 0.01 * entropy

    def update(carry, it):
        params, m, v, k, state, key = carry
        lr = 2.5e-4 * (1 - it / updates)

        def act(carry, key):
            s, count = carry
            ka, kr = jax.random.split(key)
            logits = forward(params[:6], s)
            a = jnp.argmax(logits + jax.random.gumbel(ka, (envs, 2)), 1)
            old = jnp.take_along_axis(jax.nn.log_softmax(logits), a[:, None], 1)[:, 0]
            after, count, term, trunc = cartpole(s, count, a)
            done = term | trunc
            value = forward(params[6:], s)[:, 0]
            now = jnp.where(done[:, None], cartpole_start(kr, envs), after), jnp.where(done, 0, count)
            return now, (s, a, old, value, done, count)

        key, kr, ks = jax.random.split(key, 3)
        state, (obs, a, old, value, done, count) = jax.lax.scan(act, state, jax.random.split(kr, steps))

        def back(carry, x):
            following, gain = carry
            value, done = x
            gain = 1 + gamma * following * ~done - value + gamma * lam * ~done * gain
            return (value, gain), gain

        last = forward(params[6:], state[0])[:, 0]
        _, gain = jax.lax.scan(back, (last, jnp.zeros(envs)), (value, done), reverse=True)
        data = [x.reshape((n,) + x.shape[2:]) for x in (obs, a, old, value, gain)]

        def minibatch(carry, at):
            params, m, v, k = carry
            grads = jax.grad(loss)(params, *[x[at] for x in data])
            norm = jnp.sqrt(sum(jnp.square(g).sum() for g in grads))
            grads = [g * jnp.minimum(1, 0.5 / (norm + 1e-6)) for g in grads]
            return adam(params, grads, m, v, k, lr, 1e-5) + (k + 1,), None

        def epoch(carry, key):
            return jax.lax.scan(minibatch, carry, jax.random.permutation(key, n).reshape(parts, -1))

        (params, m, v, k), _ = jax.lax.scan(epoch, (params, m, v, k), jax.random.split(ks, epochs))
        return (params, m, v, k, state, key), (done, count)

    return update


def ppo_start(envs, seed):
    """The first carry of ppo_update."""
    rng, key = np.random.default_rng(seed), jax.random.PRNGKey(seed)
    params = cartpole_net(rng, 2, 0.01) + cartpole_net(rng, 1, 1.0)
    zero = [jnp.zeros_like(w) for w in params]
    state = cartpole_start(jax.random.PRNGKey(seed + 1), envs), jnp.zeros(envs, jnp.int32)
    return params, zero, zero, jnp.float32(1), state, key


def ppo(envs, updates):
    """PureJaxRL's PPO: the whole loop in one jit, with its parameters returned."""
    n, update, start = envs * PPO_STEPS, ppo_update(envs, updates), ppo_start(envs, 0)

    def scored(carry, it):
        carry, (done, _) = update(carry, it)
        return carry, n / jnp.maximum(done.sum(), 1)

    run = jax.jit(lambda c: jax.lax.scan(scored, c, jnp.arange(updates, dtype=jnp.float32)))
    t, (_, score) = timed(lambda: run(start), updates * n, 3)
    return t, float(score[-5:].mean())


def sweep(iterations, *sizes):
    """Processor time of reinforce in its best run, and the largest memory that the process had, in MB."""
    t, _ = reinforce(iterations, *sizes, rounds=2, clock=time.process_time)
    return t, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def peak_reinforce(iterations, envs):
    _, score = reinforce(iterations, envs)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, score


def waves(shape, k, scale, dtype=np.float32):
    return jnp.asarray((scale * np.sin(np.arange(np.prod(shape)) * 7.3 + k)).reshape(shape).astype(dtype))


BATCH, HIDDEN, FEATURES = 32, 128, 128


def layer(n, gates, cell, states):
    """A recurrent layer, forward and backward; cell: state, what x gives, what h gives -> state, whose last is h."""
    x = waves((n, BATCH, FEATURES), 0, 1)
    weights = waves((FEATURES, gates * HIDDEN), 1, 0.1), waves((HIDDEN, gates * HIDDEN), 2, 0.1)

    def loss(weights, x):
        wx, wh = weights

        def step(state, a):
            state = cell(state, a, state[-1] @ wh)
            return state, state[-1]

        zero = jnp.zeros((BATCH, HIDDEN))
        _, h = jax.lax.scan(step, (zero,) * states, x @ wx)
        return jnp.mean(h * h)

    run = jax.jit(jax.value_and_grad(loss))
    t, (y, g) = timed(lambda: run(weights, x), n)
    return t, float(y + g[0][3, 5] + g[1][3, 5])


def lstm(n):
    def cell(state, a, b):
        i, f, g, o = jnp.split(a + b, 4, 1)
        c = jax.nn.sigmoid(f) * state[0] + jax.nn.sigmoid(i) * jnp.tanh(g)
        return c, jax.nn.sigmoid(o) * jnp.tanh(c)

    return layer(n, 4, cell, 2)


def gru(n):
    def cell(state, a, b):
        (ar, au, an), (br, bu, bn) = jnp.split(a, 3, 1), jnp.split(b, 3, 1)
        u = jax.nn.sigmoid(au + bu)
        return (u * state[0] + (1 - u) * jnp.tanh(an + jax.nn.sigmoid(ar + br) * bn),)

    return layer(n, 3, cell, 1)


def hmm(n):
    e, w = waves((n, 32), 0, 1), waves((32, 32), 1, 1)

    def loss(w, e):
        move = jax.nn.log_softmax(w, 1)
        a, _ = jax.lax.scan(lambda a, e: (jax.nn.logsumexp(a[:, None] + move, 0) + e, None), e[0], e[1:])
        return jax.nn.logsumexp(a) / n

    run = jax.jit(jax.value_and_grad(loss))
    t, (y, g) = timed(lambda: run(w, e), n)
    return t, float(y + g[3, 5])


def carries(n):
    def last(w):
        def step(x, _):
            return tuple(jnp.tanh(x[k] * 0.9 + x[(k + 1) % 40] * w) for k in range(40)), None

        return sum(jax.lax.scan(step, tuple(jnp.float32((k + 1) / 40) for k in range(40)), None, n - 1)[0])

    run = jax.jit(jax.value_and_grad(last))
    t, (y, g) = timed(lambda: run(jnp.float32(0.3)), n)
    return t, float(y + g)


def update(n):
    rows = 1 << 16

    @jax.jit
    def run(h):
        def step(t, h):
            at = t * 7 % rows
            return h.at[at].set(h[jnp.clip(at - 7, 0, rows - 1)] * 0.5 + 1)

        return jax.lax.fori_loop(1, n, step, h).sum()

    t, y = timed(lambda: run(jnp.zeros((rows, 16))), n)
    return t, float(y)


def small(n):
    jax.config.update("jax_enable_x64", True)
    w = waves((3, 3), 1, 0.3, np.float64)
    run = jax.jit(lambda m: jax.lax.fori_loop(1, n, lambda _, m: jnp.tanh(m @ w + m) + w, m).sum())
    t, y = timed(lambda: run(w), n)
    return t, float(y)


if __name__ == "__main__":
    what = {f.__name__: f for f in (ode, dp, reinforce, sweep, peak_reinforce, ppo, lstm, gru, hmm, carries, update, small)}[sys.argv[1].replace("-", "_")]
    print("%.6g %.9g" % what(*map(int, sys.argv[2:])))
