"""The peer of bench/envs.lua: Gymnasium's own vector of environments in one process, with the same actions.

    python3 bench/peers/envs_peer.py ID ENVS STEPS     processor nanoseconds a step of one environment, the mean reward
"""
import logging
import sys
import time

import numpy as np

logging.disable(logging.CRITICAL)
import gymnasium as gym  # noqa: E402

name, envs, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
if name.startswith("MinAtar/"):
    from minatar.gym import register_envs

    register_envs()
env = gym.make_vec(name, num_envs=envs, vectorization_mode="sync")
env.reset(seed=1)
space = env.single_action_space
if hasattr(space, "n"):
    actions = [np.full(envs, t % space.n, dtype=np.int64) for t in range(int(space.n))]
else:
    actions = [np.full((envs,) + space.shape, 0.5, dtype=np.float32)]
total = 0.0
began = time.process_time()
for t in range(steps):
    _, reward, _, _, _ = env.step(actions[t % len(actions)])
    total += float(np.sum(reward))
took = time.process_time() - began
print("%.3f %.4g" % (took / envs / steps * 1e9, total / envs / steps))
