"""The peers of bench/envs.lua, with the same actions: Gymnasium's own vector of environments in one process, and EnvPool with one thread.

    python3 bench/peers/envs_peer.py ID ENVS STEPS [envpool]     processor nanoseconds a step of one environment, the mean reward
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
if sys.argv[4:] == ["envpool"]:
    import envpool

    env = envpool.make(name, env_type="gymnasium", num_envs=envs, num_threads=1, seed=1)
    space = env.action_space
    env.reset()
else:
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
