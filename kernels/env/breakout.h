/* MinAtar's Breakout (Young and Tian 2019), by its rules: a paddle in the last row, a ball that
 * moves along diagonals, three rows of bricks worth 1 each, which come again once all are gone. The
 * episode ends where the ball arrives in the last row beside the paddle. data: percent of sticky
 * actions, unused, only actions that do something (v1)?
 * State: ball, its direction (left up, right up, right down, left down), where it was, paddle, did
 * it strike a brick in the step before, the bricks of rows 1 to 3 as bits, the last action. */
enum {
  BREAKOUT_X,
  BREAKOUT_Y,
  BREAKOUT_WAY,
  BREAKOUT_OLD_X,
  BREAKOUT_OLD_Y,
  BREAKOUT_PADDLE,
  BREAKOUT_STRIKE,
  BREAKOUT_BRICKS,
  BREAKOUT_LAST = BREAKOUT_BRICKS + 3,
  BREAKOUT_NSTATE
};

TP_FN void breakout_reset(void *data, const double *u, double *s) {
  const int right = u[0] >= 0.5;
  s[BREAKOUT_X] = s[BREAKOUT_OLD_X] = right ? 9 : 0;
  s[BREAKOUT_Y] = s[BREAKOUT_OLD_Y] = 3;
  s[BREAKOUT_WAY] = right ? 3 : 2;
  s[BREAKOUT_PADDLE] = 4;
  s[BREAKOUT_STRIKE] = s[BREAKOUT_LAST] = 0;
  for (int k = 0; k < 3; k++) s[BREAKOUT_BRICKS + k] = 1023;
}

/* Channels: paddle, ball, trail, brick */
TP_FN void breakout_observe(void *data, const double *s, float *obs) {
  for (int k = 0; k < 400; k++) obs[k] = 0;
  obs[(90 + (int)s[BREAKOUT_PADDLE]) * 4] = 1;
  obs[((int)s[BREAKOUT_Y] * 10 + (int)s[BREAKOUT_X]) * 4 + 1] = 1;
  obs[((int)s[BREAKOUT_OLD_Y] * 10 + (int)s[BREAKOUT_OLD_X]) * 4 + 2] = 1;
  for (int k = 0; k < 30; k++)
    obs[(10 + k) * 4 + 3] = (float)((int)s[BREAKOUT_BRICKS + k / 10] >> k % 10 & 1);
}

TP_FN void breakout_step(void *data, const double *s, const void *action, const double *u,
    double *next, float *reward, uint8_t *terminated, uint8_t *truncated) {
  const int64_t *option = (const int64_t *)data;
  int a = (int)*(const int64_t *)action, struck = 0, row;
  int x = (int)s[BREAKOUT_X], y = (int)s[BREAKOUT_Y], way = (int)s[BREAKOUT_WAY];
  const int old_x = x, old_y = y;
  if (option[2]) a = a == 2 ? 3 : a;
  a = env_sticky(a, s[BREAKOUT_LAST], u[0], option[0]);
  memcpy(next, s, BREAKOUT_NSTATE * sizeof *s);
  next[BREAKOUT_LAST] = a;
  if (a == 1) next[BREAKOUT_PADDLE] = env_clamp(next[BREAKOUT_PADDLE] - 1, 0, 9);
  if (a == 3) next[BREAKOUT_PADDLE] = env_clamp(next[BREAKOUT_PADDLE] + 1, 0, 9);
  x += way == 1 || way == 2 ? 1 : -1;
  y += way >= 2 ? 1 : -1;
  if (x < 0 || x > 9) {
    x = x < 0 ? 0 : 9;
    way ^= 1; /* left is right */
  }
  row = y >= 1 && y <= 3 ? (int)next[BREAKOUT_BRICKS + y - 1] : 0;
  if (y < 0) {
    y = 0;
    way = 3 - way; /* up is down */
  } else if (row >> x & 1) {
    struck = 1;
    if (!s[BREAKOUT_STRIKE]) {
      *reward = 1;
      next[BREAKOUT_BRICKS + y - 1] = row & ~(1 << x);
      next[BREAKOUT_STRIKE] = 1;
      y = old_y;
      way = 3 - way;
    }
  } else if (y == 9) {
    if (next[BREAKOUT_BRICKS] + next[BREAKOUT_BRICKS + 1] + next[BREAKOUT_BRICKS + 2] == 0)
      for (int k = 0; k < 3; k++) next[BREAKOUT_BRICKS + k] = 1023;
    if (old_x == (int)next[BREAKOUT_PADDLE]) y = old_y, way = 3 - way;
    else if (x == (int)next[BREAKOUT_PADDLE]) y = old_y, way ^= 2; /* back where it came from */
    else *terminated = 1;
  }
  if (!struck) next[BREAKOUT_STRIKE] = 0;
  next[BREAKOUT_X] = x, next[BREAKOUT_Y] = y, next[BREAKOUT_WAY] = way;
  next[BREAKOUT_OLD_X] = old_x, next[BREAKOUT_OLD_Y] = old_y;
}
