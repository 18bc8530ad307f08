/* TMaze-v0:LENGTH, a test of memory, after Bakker, "Reinforcement learning with long short-term
 * memory" (2001): a cue that is seen only at the start of a corridor says where to turn at its end,
 * LENGTH steps ahead. Actions: ahead, left, right. At the end a turn ends the episode, with reward
 * 1 if it goes where the cue said (1: left, -1: right), else -1; an action that does not move costs
 * 0.1. State: the place, the cue. Observation: the cue at the start, else 0; 1 in the corridor; 1
 * at its end. */
TP_FN void tmaze_reset(void *data, const double *u, double *s) {
  s[0] = 0, s[1] = u[0] < 0.5 ? 1 : -1;
}

TP_FN void tmaze_observe(void *data, const double *s, float *obs) {
  const int end = s[0] == (double)*(const int64_t *)data;
  obs[0] = s[0] == 0 ? (float)s[1] : 0;
  obs[1] = !end, obs[2] = end;
}

TP_FN void tmaze_step(void *data, const double *s, const void *action, const double *u,
    double *next, float *reward, uint8_t *terminated, uint8_t *truncated) {
  const int64_t way = *(const int64_t *)action;
  const int end = s[0] == (double)*(const int64_t *)data;
  next[0] = s[0] + (!end && way == 0), next[1] = s[1];
  *terminated = end && way > 0;
  *reward = *terminated ? ((way == 1) == (s[1] == 1) ? 1 : -1) : next[0] == s[0] ? -0.1f : 0;
}
