/* GridWorld-v0:ROWSxCOLUMNS. A walker and a goal on two different cells, both drawn at a reset.
 * Actions: up, right, down, left; the border stops. Reward 1 at the goal, which ends the episode, 0
 * before. State: the walker's cell and the goal's, row by row. Observation: a board of two
 * channels, 1 at the walker's cell in the first, at the goal's in the second. */
TP_FN void gridworld_reset(void *data, const double *u, double *s) {
  const int64_t *size = (const int64_t *)data;
  double v = u[0];
  const int cells = (int)(size[0] * size[1]);
  s[0] = env_draw(&v, cells);
  v = u[1];
  s[1] = (double)((int64_t)(s[0] + 1 + env_draw(&v, cells - 1)) % cells);
}

TP_FN void gridworld_observe(void *data, const double *s, float *obs) {
  const int64_t *size = (const int64_t *)data;
  for (int64_t k = 0; k < 2 * size[0] * size[1]; k++) obs[k] = 0;
  obs[2 * (int64_t)s[0]] = 1, obs[2 * (int64_t)s[1] + 1] = 1;
}

TP_FN void gridworld_step(void *data, const double *s, const void *action, const double *u,
    double *next, float *reward, uint8_t *terminated, uint8_t *truncated) {
  const int64_t *size = (const int64_t *)data, way = *(const int64_t *)action;
  int64_t row = (int64_t)s[0] / size[1], column = (int64_t)s[0] % size[1];
  if (way == 0 && row > 0) row--;
  if (way == 1 && column < size[1] - 1) column++;
  if (way == 2 && row < size[0] - 1) row++;
  if (way == 3 && column > 0) column--;
  next[0] = (double)(row * size[1] + column), next[1] = s[1];
  *terminated = next[0] == next[1];
  *reward = *terminated;
}
