/* Synthetic-v0:HEIGHTxWIDTHxCHANNELS, for measuring: observations of any size, next to no work for
 * anything else. State: a number x in 0 .. 255. Element k of the observation is (x + 3 k) mod 256,
 * divided by 255. Two actions; reward 1 for x mod 2, else 0; next is (5 x + 1 + 2 action) mod 256.
 */
TP_FN void synthetic_reset(void *data, const double *u, double *s) {
  double v = u[0];
  s[0] = env_draw(&v, 256);
}

TP_FN void synthetic_observe(void *data, const double *s, float *obs) {
  const int64_t *size = (const int64_t *)data, n = size[0] * size[1] * size[2];
  for (int64_t k = 0; k < n; k++)
    obs[k] = (float)(int)(((int64_t)s[0] + 3 * k) & 255) * (1.0f / 255);
}

TP_FN void synthetic_step(void *data, const double *s, const void *action, const double *u,
    double *next, float *reward, uint8_t *terminated, uint8_t *truncated) {
  const int64_t x = (int64_t)s[0], a = *(const int64_t *)action;
  next[0] = (double)((5 * x + 1 + 2 * a) & 255);
  *reward = a == (x & 1);
}
