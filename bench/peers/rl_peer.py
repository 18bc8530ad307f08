"""The peers of bench/rl.lua: PPO on CartPole-v1 until the last 20 episodes have a mean return of 475.

    python3 bench/peers/rl_peer.py jax|torch SEED        prints "reached MEAN after STEPS"

jax: PureJaxRL's settings (4 environments, 128 steps, 4 epochs of 4 minibatches), ten updates a call.
torch: CleanRL's ppo.py, the same settings, Gymnasium's SyncVectorEnv."""
import collections
import sys

STEPS, ENVS, EPOCHS, PARTS, GAMMA, LAM, CLIP, LR = 128, 4, 4, 4, 0.99, 0.95, 0.2, 2.5e-4
UPDATES = 500000 // (STEPS * ENVS)
ENOUGH, LAST = 475, 20


def of_jax(seed):
    import jax
    import jax.numpy as jnp
    import numpy as np
    from native_peer import ppo_start, ppo_update

    update, carry = ppo_update(ENVS, UPDATES), ppo_start(ENVS, seed)
    run = jax.jit(lambda c, its: jax.lax.scan(update, c, its))
    last = collections.deque(maxlen=LAST)
    for it in range(0, UPDATES, 10):
        carry, (done, count) = run(carry, jnp.arange(it, it + 10, dtype=jnp.float32))
        last.extend(np.asarray(count)[np.asarray(done)].tolist())
        if len(last) == LAST and sum(last) / LAST >= ENOUGH:
            break
    return sum(last) / LAST, (it + 10) * STEPS * ENVS


def of_torch(seed):
    import gymnasium as gym
    import numpy as np
    import torch
    from torch import nn

    torch.manual_seed(seed)
    torch.set_num_threads(1)

    def net(out, gain):
        def layer(a, b, g):
            x = nn.Linear(a, b)
            nn.init.orthogonal_(x.weight, g)
            nn.init.zeros_(x.bias)
            return x

        return nn.Sequential(layer(4, 64, 2**0.5), nn.Tanh(), layer(64, 64, 2**0.5), nn.Tanh(), layer(64, out, gain))

    actor, critic = net(2, 0.01), net(1, 1.0)
    params = list(actor.parameters()) + list(critic.parameters())
    optimizer = torch.optim.Adam(params, lr=LR, eps=1e-5)
    envs = gym.vector.SyncVectorEnv([lambda: gym.make("CartPole-v1")] * ENVS,
                                    autoreset_mode=gym.vector.AutoresetMode.SAME_STEP)
    seen, _ = envs.reset(seed=seed)
    seen, ended = torch.tensor(seen), torch.zeros(ENVS)
    lengths, last = np.zeros(ENVS), collections.deque(maxlen=LAST)
    for it in range(UPDATES):
        optimizer.param_groups[0]["lr"] = LR * (1 - it / UPDATES)
        obs, act = torch.zeros(STEPS, ENVS, 4), torch.zeros(STEPS, ENVS)
        old, value, done, reward = (torch.zeros(STEPS, ENVS) for _ in range(4))
        for t in range(STEPS):
            obs[t], done[t] = seen, ended
            with torch.no_grad():
                d = torch.distributions.Categorical(logits=actor(seen))
                a = d.sample()
                act[t], old[t], value[t] = a, d.log_prob(a), critic(seen).flatten()
            s, r, term, trunc, _ = envs.step(a.numpy())
            seen, ended, reward[t] = torch.tensor(s), torch.tensor(term | trunc).float(), torch.tensor(r)
            lengths += 1
            for k in np.nonzero(term | trunc)[0]:
                last.append(lengths[k])
                lengths[k] = 0
        if len(last) == LAST and sum(last) / LAST >= ENOUGH:
            break
        with torch.no_grad():
            gain, follows, following, goes = torch.zeros(STEPS, ENVS), 0, critic(seen).flatten(), 1 - ended
            for t in reversed(range(STEPS)):
                delta = reward[t] + GAMMA * following * goes - value[t]
                gain[t] = follows = delta + GAMMA * LAM * goes * follows
                following, goes = value[t], 1 - done[t]
        flat = [x.reshape((STEPS * ENVS,) + x.shape[2:]) for x in (obs, act, old, gain, gain + value, value)]
        for _ in range(EPOCHS):
            order = torch.randperm(STEPS * ENVS)
            for at in order.split(STEPS * ENVS // PARTS):
                o, a, p, g, target, before = (x[at] for x in flat)
                d = torch.distributions.Categorical(logits=actor(o))
                ratio = (d.log_prob(a) - p).exp()
                g = (g - g.mean()) / (g.std() + 1e-8)
                won = torch.min(ratio * g, ratio.clamp(1 - CLIP, 1 + CLIP) * g).mean()
                v = critic(o).flatten()
                near = before + (v - before).clamp(-CLIP, CLIP)
                miss = 0.5 * torch.max((v - target) ** 2, (near - target) ** 2).mean()
                optimizer.zero_grad()
                (0.5 * miss - won - 0.01 * d.entropy().mean()).backward()
                nn.utils.clip_grad_norm_(params, 0.5)
                optimizer.step()
    return sum(last) / LAST, (it + 1) * STEPS * ENVS


mean, steps = {"jax": of_jax, "torch": of_torch}[sys.argv[1]](int(sys.argv[2]))
print("reached", mean, "after", steps)
