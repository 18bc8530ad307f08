"""The LSTM of bench/native.lua in PyTorch, forward and backward, one thread: nn.LSTM as it is, and a loop over a cell that torch.compile made.

    python3 bench/peers/native_torch.py eager|compiled STEPS     nanoseconds a step by the wall, and what was computed
"""
import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"  # what torch.compile makes waits awake for threads that it does not have
import numpy as np
import torch

BATCH, HIDDEN = 32, 128


def waves(shape, k, scale):
    return torch.tensor((scale * np.sin(np.arange(np.prod(shape)) * 7.3 + k)).reshape(shape).astype(np.float32))


def eager(wx, wh):
    net = torch.nn.LSTM(HIDDEN, HIDDEN, bias=False)
    with torch.no_grad():
        net.weight_ih_l0.copy_(wx.T)
        net.weight_hh_l0.copy_(wh.T)
    return lambda x: net(x)[0], lambda: (net.weight_ih_l0.grad.T, net.weight_hh_l0.grad.T), net.zero_grad


def compiled(wx, wh):
    weights = [wx.requires_grad_(), wh.requires_grad_()]

    @torch.compile
    def cell(a, h, c):
        i, f, g, o = (a + h @ wh).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c

    def forward(x):
        h = c = torch.zeros(BATCH, HIDDEN)
        out = []
        for a in (x @ wx).unbind(0):
            h, c = cell(a, h, c)
            out.append(h)
        return torch.stack(out)

    def clear():
        for w in weights:
            w.grad = None

    return forward, lambda: [w.grad for w in weights], clear


def main(how, n):
    x = waves((n, BATCH, HIDDEN), 0, 1)
    forward, grads, clear = how(waves((HIDDEN, 4 * HIDDEN), 1, 0.1), waves((HIDDEN, 4 * HIDDEN), 2, 0.1))
    best = float("inf")
    for k in range(7):
        clear()
        start = time.perf_counter()
        h = forward(x)
        y = (h * h).mean()
        y.backward()
        if k > 1:
            best = min(best, time.perf_counter() - start)
    wx, wh = grads()
    return best * 1e9 / n, y.item() + float(wx[3, 5]) + float(wh[3, 5])


print("%.6g %.9g" % main({"eager": eager, "compiled": compiled}[sys.argv[1]], int(sys.argv[2])))
