"""The peer of bench/trace.lua: the same Pong in JAX, jit of a scan over vmap, on one core. The agent follows the
ball. Prints environment steps per second, the best of five runs, and the mean reward.
Arguments: copies, steps, f32 (JAX's own default) or f64 (as Lua plays)."""
import os
import sys
import time

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
os.environ["JAX_ENABLE_X64"] = "1" if sys.argv[3] == "f64" else "0"
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import jax
import jax.numpy as jnp

COPIES, STEPS = int(sys.argv[1]), int(sys.argv[2])
FLOAT = jnp.float64 if sys.argv[3] == "f64" else jnp.float32
PADDLE, SPEED, FOLLOW = 0.1, 0.03, 0.012


def reset(key):
    u = jax.random.uniform(key, (2,), dtype=FLOAT)
    return (0.5, 0.5, jnp.where(u[0] < 0.5, 0.02, -0.02), (u[1] - 0.5) * 0.03, 0.5, 0.5)


def step(state, key):
    x, y, vx, vy, left, right = state
    action = jnp.where(y.astype(jnp.float32) > right.astype(jnp.float32), 2, 0)
    right = jnp.clip(right + SPEED * (action - 1), PADDLE, 1 - PADDLE)
    left = jnp.where(y > left + 0.02, left + FOLLOW, jnp.where(y < left - 0.02, left - FOLLOW, left))
    x, y = x + vx, y + vy
    low, high = y < 0, y > 1
    vy = jnp.where(low | high, -vy, vy)
    y = jnp.where(low, -y, jnp.where(high, 2 - y, y))
    at_right, at_left = x > 1, x < 0
    lost, won = at_right & (jnp.abs(y - right) >= PADDLE), at_left & (jnp.abs(y - left) >= PADDLE)
    hit, back = at_right & ~lost, at_left & ~won
    reward = jnp.where(lost, -1.0, jnp.where(won, 1.0, jnp.where(hit, 0.1, 0.0)))
    vy = jnp.where(hit, vy + 0.1 * (y - right), vy)
    x = jnp.where(hit, 2 - x, jnp.where(back, -x, x))
    vx = jnp.where(hit, -vx * 1.02, jnp.where(back, -vx, vx))
    done, first = lost | won, reset(key)
    after = (x, y, vx, vy, left, right)
    return tuple(jnp.where(done, a, b) for a, b in zip(first, after)), reward


@jax.jit
def run(key):
    k0, k1 = jax.random.split(key)
    state = jax.vmap(reset)(jax.random.split(k0, COPIES))
    state = tuple(jnp.broadcast_to(jnp.asarray(s, FLOAT), (COPIES,)) for s in state)

    def body(carry, k):
        state, total = carry
        state, reward = jax.vmap(step)(state, jax.random.split(k, COPIES))
        return (state, total + reward.sum()), None

    (state, total), _ = jax.lax.scan(body, (state, FLOAT(0)), jax.random.split(k1, STEPS))
    return total


run(jax.random.PRNGKey(0)).block_until_ready()
best = 1e9
for n in range(5):
    start = time.perf_counter()
    total = run(jax.random.PRNGKey(n)).block_until_ready()
    best = min(best, time.perf_counter() - start)
print(COPIES * STEPS / best, float(total) / (COPIES * STEPS))
