# PyTorch's times of the products that bench/llm_kernels.c measures: weights (out, in), one core.
# taskset -c 1 python bench/peers/torch_products.py
import time

import torch

torch.set_num_threads(1)
for dtype in (torch.float32, torch.bfloat16):
    for out, inner in ((2048, 2048), (8192, 2048), (2048, 8192)):
        size = out * inner * dtype.itemsize
        copies = max(1, (256 << 20) // size)
        weights = [torch.randn(out, inner).to(dtype) for _ in range(copies)]
        for rows in (1, 2, 4, 8, 16, 32, 512):
            x = torch.randn(rows, inner).to(dtype)
            times = 1 if rows > 32 else copies
            best = 1e9
            for _ in range(3):
                start = time.process_time()
                for w in weights[:times]:
                    torch.mv(w, x[0]) if rows == 1 else x @ w.t()
                best = min(best, (time.process_time() - start) / times)
            flops = 2 * rows * out * inner / best / 1e9
            print(f"{dtype} {rows:3} x {out:6} x {inner:4} {best * 1e6:10.1f} us "
                  f"{size / best / 1e9:6.1f} GB/s {flops:6.1f} GFLOP/s", flush=True)
