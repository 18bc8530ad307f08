/* MinAtar's Freeway (Young and Tian 2019), by its rules: the player crosses eight lanes, one cell
 * in three steps; a car sends it back to the start, the other side is worth 1 and changes the cars.
 * The episode ends after 2,500 steps. data: percent of sticky actions, unused, only actions that do
 * something (v1)?
 * State: row, timers, the last action, and by lane the car's column, speed (a sign: direction; a
 * step in so many + 1) and steps until it moves. */
enum {
  FREEWAY_ROW,
  FREEWAY_MOVE,
  FREEWAY_END,
  FREEWAY_LAST,
  FREEWAY_CAR,
  FREEWAY_SPEED = 12,
  FREEWAY_WAIT = 20,
  FREEWAY_NSTATE = 28
};

/* Speeds and directions of all cars by one uniform. */
TP_FN void freeway_speeds(double *s, double u) {
  for (int k = 0; k < 8; k++) {
    const int way = env_draw(&u, 10), speed = way % 5 + 1;
    s[FREEWAY_SPEED + k] = way < 5 ? speed : -speed, s[FREEWAY_WAIT + k] = speed;
  }
}

TP_FN void freeway_reset(void *data, const double *u, double *s) {
  for (int k = 0; k < 8; k++) s[FREEWAY_CAR + k] = 0;
  freeway_speeds(s, u[0]);
  s[FREEWAY_ROW] = 9, s[FREEWAY_MOVE] = 3, s[FREEWAY_END] = 2500, s[FREEWAY_LAST] = 0;
}

/* Channels: player, car, a trail for each speed */
TP_FN void freeway_observe(void *data, const double *s, float *obs) {
  for (int k = 0; k < 700; k++) obs[k] = 0;
  obs[((int)s[FREEWAY_ROW] * 10 + 4) * 7] = 1;
  for (int k = 0; k < 8; k++) {
    const int x = (int)s[FREEWAY_CAR + k], v = (int)s[FREEWAY_SPEED + k];
    const int back = (x + (v > 0 ? 9 : 1)) % 10;
    obs[((k + 1) * 10 + x) * 7 + 1] = 1;
    obs[((k + 1) * 10 + back) * 7 + 1 + (v > 0 ? v : -v)] = 1;
  }
}

TP_FN void freeway_step(void *data, const double *s, const void *action, const double *u,
    double *next, float *reward, uint8_t *terminated, uint8_t *truncated) {
  const int64_t *option = (const int64_t *)data;
  int a = (int)*(const int64_t *)action;
  if (option[2] && a) a = a == 1 ? 2 : 4;
  a = env_sticky(a, s[FREEWAY_LAST], u[0], option[0]);
  memcpy(next, s, FREEWAY_NSTATE * sizeof *s);
  next[FREEWAY_LAST] = a;
  if ((a == 2 || a == 4) && next[FREEWAY_MOVE] == 0) {
    next[FREEWAY_MOVE] = 3;
    next[FREEWAY_ROW] = env_clamp(next[FREEWAY_ROW] + (a == 2 ? -1 : 1), 0, 9);
  }
  if (next[FREEWAY_ROW] == 0) {
    *reward = 1;
    freeway_speeds(next, u[1]);
    next[FREEWAY_ROW] = 9;
  }
  for (int k = 0; k < 8; k++) {
    double *x = &next[FREEWAY_CAR + k], v = next[FREEWAY_SPEED + k];
    if (*x == 4 && next[FREEWAY_ROW] == k + 1) next[FREEWAY_ROW] = 9;
    if (next[FREEWAY_WAIT + k] > 0) {
      next[FREEWAY_WAIT + k]--;
      continue;
    }
    next[FREEWAY_WAIT + k] = v > 0 ? v : -v;
    *x = (double)(((int)*x + (v > 0 ? 1 : 9)) % 10);
    if (*x == 4 && next[FREEWAY_ROW] == k + 1) next[FREEWAY_ROW] = 9;
  }
  if (next[FREEWAY_MOVE] > 0) next[FREEWAY_MOVE]--;
  next[FREEWAY_END]--;
  *terminated = next[FREEWAY_END] < 0;
}
