/* Catch-v0:ROWSxCOLUMNS, as in bsuite (Osband et al. 2020): a ball falls one row a step, from the
 * top row at a column drawn anew; the paddle of one cell moves left, not at all or right in the
 * last row. When the ball arrives the episode ends, with reward 1 if the paddle is there, else -1.
 * State: the ball's column and row, the paddle's column. Observation: both as 1 in a board. */
TP_FN void catch_reset(void *data, const double *u, double *s) {
  const int64_t *size = (const int64_t *)data;
  double v = u[0];
  s[0] = env_draw(&v, (int)size[1]), s[1] = 0, s[2] = (double)(size[1] / 2);
}

TP_FN void catch_observe(void *data, const double *s, float *obs) {
  const int64_t *size = (const int64_t *)data;
  for (int64_t k = 0; k < size[0] * size[1]; k++) obs[k] = 0;
  obs[(int64_t)s[1] * size[1] + (int64_t)s[0]] = 1;
  obs[(size[0] - 1) * size[1] + (int64_t)s[2]] = 1;
}

TP_FN void catch_step(void *data, const double *s, const void *action, const double *u,
    double *next, float *reward, uint8_t *terminated, uint8_t *truncated) {
  const int64_t *size = (const int64_t *)data;
  next[0] = s[0], next[1] = s[1] + 1;
  next[2] = env_clamp(s[2] + (double)(*(const int64_t *)action - 1), 0, (double)(size[1] - 1));
  *terminated = next[1] >= (double)(size[0] - 1);
  *reward = !*terminated ? 0 : next[0] == next[2] ? 1 : -1;
}
