/* MinAtar's Space Invaders (Young and Tian 2019), by its rules: a cannon in the last row, a block
 * of aliens that moves sideways, and down where it meets the border; the nearest one shoots. An
 * alien that is hit is worth 1; a cleared block comes again, faster. The episode ends where a
 * bullet or an alien hits the cannon, or the block arrives in the last row and cannot go on. data:
 * percent of sticky actions, do games become harder, only actions that do something (v1)? State:
 * cannon, direction, timers, the last action, and rows of bits of bullets and aliens. */
enum {
  INVADERS_CANNON,
  INVADERS_WAY,
  INVADERS_INTERVAL,
  INVADERS_MOVE,
  INVADERS_SHOT,
  INVADERS_RELOAD,
  INVADERS_LAST,
  INVADERS_OURS,
  INVADERS_THEIRS = INVADERS_OURS + 10,
  INVADERS_ALIENS = INVADERS_THEIRS + 10,
  INVADERS_NSTATE = INVADERS_ALIENS + 10
};

TP_FN void invaders_block(double *aliens) {
  for (int y = 0; y < 4; y++) aliens[y] = 252; /* columns 2 to 7 */
}

TP_FN void space_invaders_reset(void *data, const double *u, double *s) {
  for (int k = 0; k < INVADERS_NSTATE; k++) s[k] = 0;
  s[INVADERS_CANNON] = 5, s[INVADERS_WAY] = -1;
  s[INVADERS_INTERVAL] = s[INVADERS_MOVE] = 12, s[INVADERS_SHOT] = 10;
  invaders_block(s + INVADERS_ALIENS);
}

/* Channels: cannon, alien, going left, going right, our bullet, theirs */
TP_FN void space_invaders_observe(void *data, const double *s, float *obs) {
  const int left = s[INVADERS_WAY] < 0;
  for (int y = 0; y < 10; y++) {
    const int ours = (int)s[INVADERS_OURS + y], theirs = (int)s[INVADERS_THEIRS + y],
              aliens = (int)s[INVADERS_ALIENS + y];
    for (int x = 0; x < 10; x++, obs += 6) {
      const int alien = aliens >> x & 1;
      obs[0] = y == 9 && x == (int)s[INVADERS_CANNON];
      obs[1] = (float)alien, obs[2] = (float)(alien & left), obs[3] = (float)(alien & !left);
      obs[4] = (float)(ours >> x & 1), obs[5] = (float)(theirs >> x & 1);
    }
  }
}

TP_FN int invaders_bits(int row) {
  int n = 0;
  for (; row; row &= row - 1) n++;
  return n;
}

TP_FN void invaders_move(double *s, uint8_t *terminated) {
  double *aliens = s + INVADERS_ALIENS;
  int all = 0, n = 0;
  for (int y = 0; y < 10; y++) all |= (int)aliens[y], n += invaders_bits((int)aliens[y]);
  s[INVADERS_MOVE] = n < s[INVADERS_INTERVAL] ? n : s[INVADERS_INTERVAL];
  if (all & (s[INVADERS_WAY] < 0 ? 1 : 512)) {
    const double last = aliens[9];
    s[INVADERS_WAY] = -s[INVADERS_WAY];
    if (last > 0) *terminated = 1;
    for (int y = 9; y > 0; y--) aliens[y] = aliens[y - 1];
    aliens[0] = last;
  } else
    for (int y = 0; y < 10; y++)
      aliens[y] = s[INVADERS_WAY] < 0 ? (int)aliens[y] >> 1 : (int)aliens[y] << 1;
}

/* The lowest alien of the column nearest to the cannon shoots; of two columns the left one. */
TP_FN void invaders_shoot(double *s) {
  const int cannon = (int)s[INVADERS_CANNON];
  int best = -1, row = 0;
  for (int x = 0; x < 10; x++) {
    const int far = x < cannon ? cannon - x : x - cannon,
              than = best < cannon ? cannon - best : best - cannon;
    int low = -1;
    for (int y = 0; y < 10; y++)
      if ((int)s[INVADERS_ALIENS + y] >> x & 1) low = y;
    if (low >= 0 && (best < 0 || far < than)) best = x, row = low;
  }
  if (best >= 0) s[INVADERS_THEIRS + row] = (int)s[INVADERS_THEIRS + row] | 1 << best;
}

TP_FN void space_invaders_step(void *data, const double *s, const void *action, const double *u,
    double *next, float *reward, uint8_t *terminated, uint8_t *truncated) {
  const int64_t *option = (const int64_t *)data;
  double *ours = next + INVADERS_OURS, *theirs = next + INVADERS_THEIRS,
         *aliens = next + INVADERS_ALIENS;
  int a = (int)*(const int64_t *)action, cannon, left = 0;
  if (option[2] && a > 1) a = a == 2 ? 3 : 5;
  a = env_sticky(a, s[INVADERS_LAST], u[0], option[0]);
  memcpy(next, s, INVADERS_NSTATE * sizeof *s);
  next[INVADERS_LAST] = a;
  cannon = (int)s[INVADERS_CANNON];
  if (a == 5 && next[INVADERS_RELOAD] == 0) {
    ours[9] = (int)ours[9] | 1 << cannon;
    next[INVADERS_RELOAD] = 5;
  }
  if (a == 1 && cannon > 0) cannon--;
  if (a == 3 && cannon < 9) cannon++;
  next[INVADERS_CANNON] = cannon;
  for (int y = 0; y < 9; y++) ours[y] = ours[y + 1];
  for (int y = 9; y > 0; y--) theirs[y] = theirs[y - 1];
  ours[9] = theirs[0] = 0;
  if (((int)theirs[9] | (int)aliens[9]) >> cannon & 1) *terminated = 1;
  if (next[INVADERS_MOVE] == 0) {
    invaders_move(next, terminated);
    if ((int)aliens[9] >> cannon & 1) *terminated = 1;
  }
  if (next[INVADERS_SHOT] == 0) {
    next[INVADERS_SHOT] = 10;
    invaders_shoot(next);
  }
  for (int y = 0; y < 10; y++) {
    const int hit = (int)aliens[y] & (int)ours[y];
    *reward += (float)invaders_bits(hit);
    aliens[y] = (int)aliens[y] & ~hit, ours[y] = (int)ours[y] & ~hit;
    left |= (int)aliens[y];
  }
  if (next[INVADERS_RELOAD] > 0) next[INVADERS_RELOAD]--;
  next[INVADERS_MOVE]--, next[INVADERS_SHOT]--;
  if (!left) {
    if (next[INVADERS_INTERVAL] > 6 && option[1]) next[INVADERS_INTERVAL]--;
    invaders_block(aliens);
  }
}
