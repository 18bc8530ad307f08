"""The peer of train-tiny of bench/llm.lua: the same small Llama in PyTorch, eager, as its users write it.

    python3 bench/peers/llm_train.py ITERATIONS TEXT    milliseconds an iteration, the last loss; a line of losses before
"""
import sys
import time

import torch
import torch.nn.functional as F

V, D, L, H, KV, FFN, B, T = 257, 128, 4, 4, 2, 336, 8, 64
HEAD = D // H


def numbers(shape, step):
    n = 1
    for e in shape:
        n *= e
    k = torch.arange(n, dtype=torch.int64)
    return ((((k * step) % 1009).double() / 1009 - 0.5) * 0.1).float().reshape(shape)


def main():
    torch.set_num_threads(1)
    n, text = int(sys.argv[1]), open(sys.argv[2], "rb").read()
    data = torch.tensor(list(text), dtype=torch.int64)
    shapes = {"q": (L, D, D), "k": (L, KV * HEAD, D), "v": (L, KV * HEAD, D), "o": (L, D, D), "gate": (L, FFN, D),
              "up": (L, FFN, D), "down": (L, D, FFN)}
    w = {name: [numbers(s, 13 + 2 * j)[l].clone().requires_grad_() for l in range(L)] for j, (name, s) in
         enumerate(shapes.items())}
    embed = numbers((V, D), 7).requires_grad_()
    ones = lambda: torch.ones(D, requires_grad=True)
    norm, attention_norm, ffn_norm = ones(), [ones() for _ in range(L)], [ones() for _ in range(L)]
    params = [embed, norm] + attention_norm + ffn_norm + [x for xs in w.values() for x in xs]
    adam = torch.optim.Adam(params, lr=1e-3, betas=(0.9, 0.999), eps=1e-4)
    freq = 10000.0 ** (-torch.arange(0, HEAD, 2).float() / HEAD)
    angle = torch.arange(T).float()[:, None] * freq
    cos, sin = angle.cos(), angle.sin()

    def rotate(x):
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    def heads(x, n):
        return x.view(B, T, n, HEAD).transpose(1, 2)

    def forward(ids):
        x = F.embedding(ids, embed)
        for l in range(L):
            h = F.rms_norm(x, (D,), attention_norm[l], 1e-5)
            q, k, v = (F.linear(h, w[s][l]) for s in "qkv")
            y = F.scaled_dot_product_attention(rotate(heads(q, H)), rotate(heads(k, KV)), heads(v, KV), is_causal=True,
                                               enable_gqa=True)
            x = x + F.linear(y.transpose(1, 2).reshape(B, T, D), w["o"][l])
            h = F.rms_norm(x, (D,), ffn_norm[l], 1e-5)
            x = x + F.linear(F.silu(F.linear(h, w["gate"][l])) * F.linear(h, w["up"][l]), w["down"][l])
        return F.linear(F.rms_norm(x, (D,), norm, 1e-5), embed)

    losses, began = [], None
    for i in range(n):
        if i == 2:
            began = time.process_time()
        start = [((i * B + b) * 37) % (len(data) - T - 1) for b in range(B)]
        ids = torch.stack([data[s:s + T + 1] for s in start])
        loss = F.cross_entropy(forward(ids[:, :-1]).reshape(-1, V), ids[:, 1:].reshape(-1))
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(loss.item())
    print(" ".join("%.7f" % x for x in losses))
    print("%.6g %.9g" % ((time.process_time() - began) / (n - 2) * 1e3, losses[-1]))


main()
