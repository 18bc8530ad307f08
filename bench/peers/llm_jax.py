"""The peers of bench/llm.lua in JAX: a step of 16 texts with Llama 3.2 1B's shapes, jitted, its cache donated.

    python3 bench/peers/llm_jax.py window|causal|padded LAYERS    milliseconds of processor time a step: a ring of 1,024
        places, or a padded cache of 2,048 or of 16,384 places of which 1,024 are taken
"""
import os
import sys
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax
import jax.numpy as jnp
import numpy as np

V, D, H, KV, HEAD, FFN, B = 128256, 2048, 32, 8, 64, 8192, 16


def main():
    layers, places = int(sys.argv[2]), {"window": 1024, "causal": 2048, "padded": 16384}[sys.argv[1]]
    rng = np.random.default_rng(1)

    def w(*shape):
        return jnp.asarray(rng.random(shape, np.float32) * 0.06 - 0.03)

    embed = w(V, D)
    net = [dict(q=w(D, D), k=w(KV * HEAD, D), v=w(KV * HEAD, D), o=w(D, D), gate=w(FFN, D), up=w(FFN, D), down=w(D, FFN))
           for _ in range(layers)]
    net = {k: jnp.stack([p[k] for p in net]) for k in net[0]}
    freq = 500000.0 ** (-jnp.arange(0, HEAD, 2) / HEAD)

    def norm(x):
        return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5)

    def rotate(x, cos, sin):
        a, b = jnp.split(x, 2, -1)
        return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)

    def step(embed, net, cache, ids, at):
        cos, sin = jnp.cos(at * freq), jnp.sin(at * freq)
        seen = jnp.arange(places) <= at
        here = at % places

        def layer(x, pc):
            p, k, v = pc
            h = norm(x)
            q = rotate((h @ p["q"].T).reshape(B, KV, H // KV, HEAD), cos, sin) * HEAD ** -0.5
            new = rotate((h @ p["k"].T).reshape(B, KV, HEAD), cos, sin)
            k = jax.lax.dynamic_update_index_in_dim(k, new, here, 2)
            v = jax.lax.dynamic_update_index_in_dim(v, (h @ p["v"].T).reshape(B, KV, HEAD), here, 2)
            s = jnp.where(seen, jnp.einsum("bkgd,bktd->bkgt", q, k), -jnp.inf)
            y = jnp.einsum("bkgt,bktd->bkgd", jax.nn.softmax(s, -1), v).reshape(B, D)
            x = x + y @ p["o"].T
            h = norm(x)
            return x + (jax.nn.silu(h @ p["gate"].T) * (h @ p["up"].T)) @ p["down"].T, (k, v)

        x, cache = jax.lax.scan(layer, embed[ids], (net, *cache))
        return jnp.argmax(norm(x) @ embed.T, -1), cache

    step = jax.jit(step, donate_argnums=2)
    cache = tuple(jnp.zeros((layers, B, KV, places, HEAD)) for _ in range(2))
    ids, best = jnp.arange(B), float("inf")
    for k in range(10):
        began = time.process_time()
        ids, cache = step(embed, net, cache, ids, 1024 + k)
        ids.block_until_ready()
        if k > 1:
            best = min(best, time.process_time() - began)
    print("%.6g 0" % (best * 1e3))


main()
