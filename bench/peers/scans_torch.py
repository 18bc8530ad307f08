"""The peers of bench/scans.lua in PyTorch, one thread.

    python3 bench/peers/scans_torch.py ROW T     as bench/peers/scans_peer.py

    sdpa           scaled_dot_product_attention
    ssm-eager      the selective scan step by step, a product with C at each
    ssm-compiled   8 steps of it at a time in one function that torch.compile made (of 1, 4, 8, 16 and 32 steps at a time 8 took least)
"""
import os
import sys

os.environ["OMP_NUM_THREADS"] = "1"  # what torch.compile makes waits awake for threads that it does not have
import torch
from scans_data import heads, measured, model

STEPS = 8


def sdpa(q, k, v):
    q, k, v = (x.transpose(0, 1)[None] for x in (q, k, v))
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def eager(u, dt, B, C, A):
    h, out = torch.zeros_like(A), []
    for u, dt, B, C in zip(u.unbind(0), dt.unbind(0), B.unbind(0), C.unbind(0)):
        h = torch.addcmul(torch.outer(dt * u, B), torch.exp(dt[:, None] * A), h)
        out.append(h @ C)
    return torch.stack(out)


@torch.compile(dynamic=False)
def steps(h, u, dt, B, C, A):
    out = []
    for k in range(STEPS):
        h = torch.exp(dt[k][:, None] * A) * h + (dt[k] * u[k])[:, None] * B[k]
        out.append((h * C[k]).sum(1))
    return h, torch.stack(out)


def compiled(u, dt, B, C, A):
    h, out = torch.zeros_like(A), []
    for part in zip(*(x.split(STEPS) for x in (u, dt, B, C))):
        h, y = steps(h, *part, A)
        out.append(y)
    return torch.cat(out)


def made(f, inputs, T):
    of = [torch.from_numpy(x).requires_grad_() for x in inputs(T)]

    def run():
        for x in of:
            x.grad = None
        f(*of).square().sum().backward()
        return [x.grad for x in of]

    return run


f, inputs = {"sdpa": (sdpa, heads), "ssm-eager": (eager, model), "ssm-compiled": (compiled, model)}[sys.argv[1]]
torch.set_num_threads(1)
made(f, inputs, 3 * STEPS)()  # compiles: the first part, one in the midst, one at the end
measured(made(f, inputs, int(sys.argv[2])), int(sys.argv[2]))
