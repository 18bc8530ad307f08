"""The peers of bench/llm.lua in PyTorch: Llama 3.2 1B's shapes with random weights, a static cache, eager.

    python3 bench/peers/llm_torch.py decode f32|bf16 LAYERS    milliseconds of processor time a token, bytes of weights
    python3 bench/peers/llm_torch.py compiled f32|bf16 LAYERS  the same by torch.compile, its cache read whole
    python3 bench/peers/llm_torch.py prefill f32|bf16 LAYERS   milliseconds of a prompt of 512
    python3 bench/peers/llm_torch.py read                      GB/s of one core that reads
"""
import sys
import time

import torch
import torch.nn.functional as F

V, D, H, KV, HEAD, FFN, LONGEST = 128256, 2048, 32, 8, 64, 8192, 1024


def best(f, n):
    least = float("inf")
    for _ in range(n):
        began = time.process_time()
        f()
        least = min(least, time.process_time() - began)
    return least


def model(dtype, layers):
    def w(*shape):
        return torch.empty(shape).uniform_(-0.03, 0.03).to(dtype)

    embed, ones = w(V, D), torch.ones(D, dtype=dtype)
    net = [dict(q=w(D, D), k=w(KV * HEAD, D), v=w(KV * HEAD, D), o=w(D, D), gate=w(FFN, D), up=w(FFN, D), down=w(D, FFN))
           for _ in range(layers)]
    cache = [[torch.zeros(KV, LONGEST, HEAD, dtype=dtype) for _ in range(2)] for _ in range(layers)]
    angle = torch.arange(LONGEST)[:, None] * 500000.0 ** (-torch.arange(0, HEAD, 2) / HEAD)
    cos, sin = angle.cos().to(dtype), angle.sin().to(dtype)

    def rotate(x, at):
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos[at] - b * sin[at], b * cos[at] + a * sin[at]], -1)

    def forward(ids, start):
        n = len(ids)
        at = slice(start, start + n)
        x = F.embedding(ids, embed)
        for l, p in enumerate(net):
            h = F.rms_norm(x, (D,), ones, 1e-5)
            q = rotate(F.linear(h, p["q"]).view(n, H, HEAD).transpose(0, 1), at)
            cache[l][0][:, at] = rotate(F.linear(h, p["k"]).view(n, KV, HEAD).transpose(0, 1), at)
            cache[l][1][:, at] = F.linear(h, p["v"]).view(n, KV, HEAD).transpose(0, 1)
            k, v = (c[:, :start + n] for c in cache[l])
            y = F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=n > 1, enable_gqa=True)[0]
            x = x + F.linear(y.transpose(0, 1).reshape(n, D), p["o"])
            h = F.rms_norm(x, (D,), ones, 1e-5)
            x = x + F.linear(F.silu(F.linear(h, p["gate"])) * F.linear(h, p["up"]), p["down"])
        return F.linear(F.rms_norm(x[-1], (D,), ones, 1e-5), embed)

    def token(ids, at):                                      # one, at a place that is data
        x = F.embedding(ids, embed)
        seen, turn = torch.arange(LONGEST) <= at, at.view(1)
        for l, p in enumerate(net):
            h = F.rms_norm(x, (D,), ones, 1e-5)
            q = rotate(F.linear(h, p["q"]).view(1, H, HEAD).transpose(0, 1), turn)
            cache[l][0].index_copy_(1, turn, rotate(F.linear(h, p["k"]).view(1, KV, HEAD).transpose(0, 1), turn))
            cache[l][1].index_copy_(1, turn, F.linear(h, p["v"]).view(1, KV, HEAD).transpose(0, 1))
            y = F.scaled_dot_product_attention(q[None], cache[l][0][None], cache[l][1][None], attn_mask=seen[None],
                                               enable_gqa=True)[0]
            x = x + F.linear(y.transpose(0, 1).reshape(1, D), p["o"])
            h = F.rms_norm(x, (D,), ones, 1e-5)
            x = x + F.linear(F.silu(F.linear(h, p["gate"])) * F.linear(h, p["up"]), p["down"])
        return F.linear(F.rms_norm(x[-1], (D,), ones, 1e-5), embed)

    size = sum(x.numel() * x.element_size() for p in net for x in p.values()) + embed.numel() * embed.element_size()
    return forward, token, size


def main():
    torch.set_num_threads(1)
    if sys.argv[1] == "read":
        a = torch.ones(1 << 28)
        print("%.6g 0" % (a.numel() * 4 / best(lambda: torch.dot(a, a), 6) / 1e9))
        return
    forward, token, size = model({"f32": torch.float32, "bf16": torch.bfloat16}[sys.argv[2]], int(sys.argv[3]))
    with torch.inference_mode():
        if sys.argv[1] == "prefill":
            print("%.6g 0" % (best(lambda: forward(torch.arange(512), 0), 4) * 1e3))
            return
        forward(torch.arange(16), 0)
        at = [16]

        compiled = torch.compile(token) if sys.argv[1] == "compiled" else None
        if compiled:                                         # compiled, and the same as eager
            want = forward(torch.tensor([7]), 16)
            near = (1e-3 if want.dtype == torch.float32 else 3e-2) * want.abs().max()
            assert torch.allclose(compiled(torch.tensor([7]), torch.tensor(16)), want, atol=near)

        def step():
            if compiled:
                compiled(torch.tensor([7]), torch.tensor(at[0]))
            else:
                forward(torch.tensor([7]), at[0])
            at[0] += 1

        print("%.6g %d" % (best(step, 16) * 1e3, size))


main()
