/* MinAtar's Asterix (Young and Tian 2019), by its rules: the player moves in eight rows, enemies
 * and gold cross them. An enemy that is met ends the episode, gold is worth 1. data: percent of
 * sticky actions, do games become harder, only actions that do something (v1)? State: the player,
 * timers, and a slot for each row with its entity: -1: none; else x + 16 to the right + 32 gold. A
 * step's uniforms: of a sticky action, of a new entity. */
enum {
  ASTERIX_X,
  ASTERIX_Y,
  ASTERIX_SPAWN_SPEED,
  ASTERIX_SPAWN,
  ASTERIX_MOVE_SPEED,
  ASTERIX_MOVE,
  ASTERIX_RAMP,
  ASTERIX_RAMPED,
  ASTERIX_LAST,
  ASTERIX_SLOT,
  ASTERIX_NSTATE = ASTERIX_SLOT + 8
};

TP_FN void asterix_reset(void *data, const double *u, double *s) {
  s[ASTERIX_X] = s[ASTERIX_Y] = 5;
  s[ASTERIX_SPAWN_SPEED] = s[ASTERIX_SPAWN] = 10;
  s[ASTERIX_MOVE_SPEED] = s[ASTERIX_MOVE] = 5;
  s[ASTERIX_RAMP] = 100, s[ASTERIX_RAMPED] = s[ASTERIX_LAST] = 0;
  for (int k = 0; k < 8; k++) s[ASTERIX_SLOT + k] = -1;
}

/* Channels: player, enemy, trail, gold */
TP_FN void asterix_observe(void *data, const double *s, float *obs) {
  for (int k = 0; k < 400; k++) obs[k] = 0;
  obs[((int)s[ASTERIX_Y] * 10 + (int)s[ASTERIX_X]) * 4] = 1;
  for (int k = 0; k < 8; k++) {
    const int e = (int)s[ASTERIX_SLOT + k], x = e & 15, back = e & 16 ? x - 1 : x + 1;
    if (e < 0) continue;
    obs[((k + 1) * 10 + x) * 4 + (e & 32 ? 3 : 1)] = 1;
    if (back >= 0 && back <= 9) obs[((k + 1) * 10 + back) * 4 + 2] = 1;
  }
}

TP_FN void asterix_spawn(double *s, double u) {
  const int right = env_draw(&u, 2) == 0, gold = env_draw(&u, 3) == 0;
  int empty = 0, at;
  for (int k = 0; k < 8; k++) empty += s[ASTERIX_SLOT + k] < 0;
  if (!empty) return;
  at = env_draw(&u, empty);
  for (int k = 0; k < 8; k++)
    if (s[ASTERIX_SLOT + k] < 0 && at-- == 0)
      s[ASTERIX_SLOT + k] = (right ? 0 : 9) + 16 * right + 32 * gold;
}

/* The entity of slot k meets the player: gold is taken, an enemy ends the episode. */
TP_FN int asterix_meet(double *s, int k, uint8_t *terminated) {
  const int e = (int)s[ASTERIX_SLOT + k];
  if (e < 0 || (e & 15) != (int)s[ASTERIX_X] || k + 1 != (int)s[ASTERIX_Y]) return 0;
  if (!(e & 32)) {
    *terminated = 1;
    return 0;
  }
  s[ASTERIX_SLOT + k] = -1;
  return 1;
}

/* Moves the entity of slot k, whose x may become -1 or 10: then it is gone. */
TP_FN void asterix_move(double *s, int k) {
  const int e = (int)s[ASTERIX_SLOT + k], x = (e & 15) + (e & 16 ? 1 : -1);
  s[ASTERIX_SLOT + k] = x < 0 || x > 9 ? -1 : (e & 48) + x;
}

TP_FN void asterix_ramp(double *s) {
  if (s[ASTERIX_SPAWN_SPEED] <= 1 && s[ASTERIX_MOVE_SPEED] <= 1) return;
  if (s[ASTERIX_RAMP] >= 0) {
    s[ASTERIX_RAMP]--;
    return;
  }
  if (s[ASTERIX_MOVE_SPEED] > 1 && ((int)s[ASTERIX_RAMPED] & 1)) s[ASTERIX_MOVE_SPEED]--;
  if (s[ASTERIX_SPAWN_SPEED] > 1) s[ASTERIX_SPAWN_SPEED]--;
  s[ASTERIX_RAMPED]++, s[ASTERIX_RAMP] = 100;
}

TP_FN void asterix_step(void *data, const double *s, const void *action, const double *u,
    double *next, float *reward, uint8_t *terminated, uint8_t *truncated) {
  const int64_t *option = (const int64_t *)data;
  const int a = env_sticky(*(const int64_t *)action, s[ASTERIX_LAST], u[0], option[0]);
  int r = 0;
  memcpy(next, s, ASTERIX_NSTATE * sizeof *s);
  next[ASTERIX_LAST] = a;
  if (next[ASTERIX_SPAWN] == 0) {
    asterix_spawn(next, u[1]);
    next[ASTERIX_SPAWN] = next[ASTERIX_SPAWN_SPEED];
  }
  if (a == 1) next[ASTERIX_X] = env_clamp(next[ASTERIX_X] - 1, 0, 9);
  if (a == 3) next[ASTERIX_X] = env_clamp(next[ASTERIX_X] + 1, 0, 9);
  if (a == 2) next[ASTERIX_Y] = env_clamp(next[ASTERIX_Y] - 1, 1, 8);
  if (a == 4) next[ASTERIX_Y] = env_clamp(next[ASTERIX_Y] + 1, 1, 8);
  for (int k = 0; k < 8; k++) r += asterix_meet(next, k, terminated);
  if (next[ASTERIX_MOVE] == 0) {
    next[ASTERIX_MOVE] = next[ASTERIX_MOVE_SPEED];
    for (int k = 0; k < 8; k++) {
      if (next[ASTERIX_SLOT + k] < 0) continue;
      asterix_move(next, k);
      r += asterix_meet(next, k, terminated);
    }
  }
  next[ASTERIX_SPAWN]--, next[ASTERIX_MOVE]--;
  if (option[1]) asterix_ramp(next);
  *reward = (float)r;
}
