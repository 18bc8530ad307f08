"""The peer of bench/reinforce.lua: the same REINFORCE with a critic on CartPole-v1, by hand in NumPy (f32, one BLAS thread), batched over environments while acting
and over environments and time while learning. Prints environment steps per second over the iterations after the first two."""
import sys
import time

import numpy as np

ITERATIONS, ENVS, STEPS, HIDDEN, GAMMA = int(sys.argv[1]), 32, 500, 64, 0.99
rng = np.random.default_rng(0)


def net(out, gain):
    sizes = [4, HIDDEN, HIDDEN, out]
    params = []
    for k, (a, b) in enumerate(zip(sizes, sizes[1:])):
        q = np.linalg.qr(rng.standard_normal((max(a, b), min(a, b))))[0]
        w = (q if a >= b else q.T) * (gain if k == 2 else np.sqrt(2))
        params += [w.astype(np.float32), np.zeros(b, np.float32)]
    return params


def forward(p, x):
    h1 = np.tanh(x @ p[0] + p[1])
    h2 = np.tanh(h1 @ p[2] + p[3])
    return h1, h2, h2 @ p[4] + p[5]


def backward(p, x, h1, h2, g):
    g2 = g @ p[4].T * (1 - h2 * h2)
    g1 = g2 @ p[2].T * (1 - h1 * h1)
    return [x.T @ g1, g1.sum(0), h1.T @ g2, g2.sum(0), h2.T @ g, g.sum(0)]


def step(s, n, a):
    x, v, th, om = s.T
    force = np.where(a == 1, 10.0, -10.0)
    c, sn = np.cos(th), np.sin(th)
    tmp = (force + 0.05 * om * om * sn) / 1.1
    acc = (9.8 * sn - c * tmp) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
    xa = tmp - 0.05 * acc * c / 1.1
    s = np.stack([x + 0.02 * v, v + 0.02 * xa, th + 0.02 * om, om + 0.02 * acc], 1)
    n = n + 1
    term = (np.abs(s[:, 0]) > 2.4) | (np.abs(s[:, 2]) > 12 * 2 * np.pi / 360)
    return s, n, term, (n >= 500) & ~term


policy, critic = net(2, 0.01), net(1, 1.0)
params = policy + critic
m, v = [np.zeros_like(w) for w in params], [np.zeros_like(w) for w in params]
start = None
for it in range(ITERATIONS):
    if it == 2:
        start = time.perf_counter()
    s, n = rng.uniform(-0.05, 0.05, (ENVS, 4)), np.zeros(ENVS)
    obs = np.empty((STEPS, ENVS, 4), np.float32)
    nxt = np.empty_like(obs)
    act = np.empty((STEPS, ENVS), np.int64)
    term, trunc = np.empty((STEPS, ENVS), bool), np.empty((STEPS, ENVS), bool)
    for t in range(STEPS):
        obs[t] = s
        logits = forward(policy, obs[t])[2]
        act[t] = np.argmax(logits - np.log(-np.log(rng.random((ENVS, 2)))), 1)
        s, n, term[t], trunc[t] = step(s, n, act[t])
        nxt[t] = s
        done = term[t] | trunc[t]
        s = np.where(done[:, None], rng.uniform(-0.05, 0.05, (ENVS, 4)), s)
        n = np.where(done, 0, n)
    x = obs.reshape(-1, 4)
    h1, h2, val = forward(critic, x)
    nv = forward(critic, nxt.reshape(-1, 4))[2].reshape(STEPS, ENVS)
    ret = np.empty((STEPS, ENVS), np.float32)
    nextret = nv[-1]
    for t in reversed(range(STEPS)):
        follow = np.where(trunc[t], nv[t], nextret) * ~term[t]
        nextret = ret[t] = 1 + GAMMA * follow
    k1, k2, logits = forward(policy, x)
    z = logits - logits.max(1, keepdims=True)
    p = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    adv = ret.reshape(-1) - val[:, 0]
    g = p * adv[:, None]
    g[np.arange(len(x)), act.reshape(-1)] -= adv
    scale = np.float32(1 / (ENVS * STEPS))
    grads = backward(policy, x, k1, k2, (g * scale).astype(np.float32)) + backward(critic, x, h1, h2, (-adv * scale)[:, None])
    lr = 0.01 * (1 - it / ITERATIONS)
    for w, gr, mm, vv in zip(params, grads, m, v):
        mm += 0.1 * (gr - mm)
        vv += 0.001 * (gr * gr - vv)
        w -= lr * (mm / (1 - 0.9 ** (it + 1))) / (np.sqrt(vv / (1 - 0.999 ** (it + 1))) + 1e-8)
print((ITERATIONS - 2) * ENVS * STEPS / (time.perf_counter() - start))
