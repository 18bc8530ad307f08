"""The rows of bench/cuda.lua in JAX and PyTorch, as far as they are here and have a card: a line
"jax ROW SECONDS" or "torch ROW SECONDS" for each, seconds of one iteration more."""
import time

ROWS = [("tiny", 1000, 101000), ("small_product", 1000, 51000), ("softmax", 5, 55),
        ("norm", 5, 55), ("adam", 5, 55), ("product", 5, 25)]
SHAPE = {"tiny": (64,), "small_product": (64, 64)}


def difference(run, few, many):
    def best(n):
        run(n)
        times = []
        for _ in range(3):
            t = time.perf_counter()
            run(n)
            times.append(time.perf_counter() - t)
        return min(times)
    return (best(many) - best(few)) / (many - few)


def shape(name):
    return SHAPE.get(name, (4096, 4096) if name in ("adam", "product") else (8192, 4096))


def steps(m, softmax, mean):
    """By row: h, x -> the next h; of Adam, (w, m, v, n) -> the next ones."""
    def norm(h, x):
        d = h - mean(h)
        return d / m.sqrt(mean(d * d) + 1e-5)

    def adam(s, x):
        w, a, b, n = s
        n = n + 1
        a, b = 0.9 * a + 0.1 * w, 0.999 * b + 0.001 * w * w
        w = w - 1e-3 * (a / (1 - 0.9 ** n)) / (m.sqrt(b / (1 - 0.999 ** n)) + 1e-8)
        return w, a, b, n
    return {"tiny": lambda h, x: m.tanh(h * 0.9 + x), "small_product": lambda h, x: m.tanh(h @ x),
            "softmax": lambda h, x: softmax(h * 3), "norm": norm, "adam": adam,
            "product": lambda h, x: h @ x}


def jax_rows():
    import jax
    import jax.numpy as jnp
    if jax.default_backend() != "gpu":
        return
    jax.config.update("jax_default_matmul_precision", "float32")
    step = steps(jnp, lambda h: jax.nn.softmax(h, 1), lambda h: h.mean(1, keepdims=True))
    for name, few, many in ROWS:
        x = jnp.full(shape(name), 0.01, jnp.float32)
        first = (x + 1, x * 0, x * 0, jnp.float32(0)) if name == "adam" else x
        loop = jax.jit(lambda h, x, n, f=step[name]: jax.lax.fori_loop(0, n, lambda _, h: f(h, x), h))
        run = lambda n: jax.block_until_ready(loop(first, x, n))
        print("jax", name, difference(run, few, many), flush=True)


def torch_rows():
    import torch
    if not torch.cuda.is_available():
        return
    step = steps(torch, lambda h: torch.softmax(h, 1), lambda h: h.mean(1, keepdim=True))
    for name, few, many in ROWS:
        x = torch.full(shape(name), 0.01, device="cuda")
        first = (x + 1, x * 0, x * 0, torch.zeros((), device="cuda")) if name == "adam" else x

        def run(n):
            h = first
            for _ in range(n):
                h = step[name](h, x)
            torch.cuda.synchronize()
        print("torch", name, difference(run, few, many), flush=True)


for rows in jax_rows, torch_rows:
    try:
        rows()
    except ImportError:
        pass
