/* MinAtar's Seaquest (Young and Tian 2019), by its rules: a submarine shoots fish and submarines
 * (each worth 1), takes divers in and brings them to the surface, where oxygen is filled up; six
 * divers are worth what was left of it. The episode ends at a collision, a bullet, without oxygen,
 * and at the surface without a diver. data: percent of sticky actions, do games become harder,
 * unused.
 * State: numbers, then five lists of things in order of age, -1 where there is none. A thing is
 * x + 16 y + 256 to the right + 512 steps until it moves + 4096 steps until it shoots. No more fit
 * than games without end can have at once; a bullet of theirs beyond 40 is not shot.
 * A step's uniforms: of a sticky action, of new enemies and divers. */
enum {
  SEA_X,
  SEA_Y,
  SEA_RIGHT,
  SEA_OXYGEN,
  SEA_DIVERS,
  SEA_ENEMY_SPEED,
  SEA_ENEMY_TIMER,
  SEA_DIVER_TIMER,
  SEA_MOVE_SPEED,
  SEA_RAMPED,
  SEA_RELOAD,
  SEA_SURFACE,
  SEA_LAST,
  SEA_OURS,
  SEA_THEIRS = SEA_OURS + 4,
  SEA_FISH = SEA_THEIRS + 40,
  SEA_SUBS = SEA_FISH + 32,
  SEA_SWIMMERS = SEA_SUBS + 32,
  SEA_NSTATE = SEA_SWIMMERS + 4
};

typedef struct {
  int x, y, right, wait, reload;
} sea_thing;
typedef struct {
  sea_thing v[40];
  int n;
} sea_list;

TP_FN sea_list sea_read(const double *s, int most) {
  sea_list l;
  for (l.n = 0; l.n < most && s[l.n] >= 0; l.n++) {
    const int64_t k = (int64_t)s[l.n];
    const sea_thing t = { (int)(k & 15), (int)(k >> 4 & 15), (int)(k >> 8 & 1), (int)(k >> 9 & 7),
      (int)(k >> 12) };
    l.v[l.n] = t;
  }
  return l;
}

TP_FN void sea_write(double *s, int most, const sea_list *l) {
  for (int k = 0; k < most; k++) {
    const sea_thing *t = &l->v[k];
    s[k] = k < l->n ? t->x + 16 * t->y + 256 * t->right + 512 * t->wait + 4096 * t->reload : -1;
  }
}

TP_FN void sea_add(sea_list *l, int most, sea_thing t) {
  if (l->n < most) l->v[l->n++] = t;
}

TP_FN void sea_drop(sea_list *l, int k) {
  for (l->n--; k < l->n; k++) l->v[k] = l->v[k + 1];
}

TP_FN int sea_is_at(const sea_thing *t, int x, int y) { return t->x == x && t->y == y; }

/* Moves t to its side; does it leave the board? */
TP_FN int sea_leaves(sea_thing *t) {
  t->x += t->right ? 1 : -1;
  return t->x < 0 || t->x > 9;
}

/* Removes the oldest thing at a place; was there one? */
TP_FN int sea_hit(sea_list *l, int x, int y) {
  for (int k = 0; k < l->n; k++)
    if (sea_is_at(&l->v[k], x, y)) {
      sea_drop(l, k);
      return 1;
    }
  return 0;
}

TP_FN void seaquest_reset(void *data, const double *u, double *s) {
  for (int k = 0; k < SEA_OURS; k++) s[k] = 0;
  for (int k = SEA_OURS; k < SEA_NSTATE; k++) s[k] = -1;
  s[SEA_X] = 5, s[SEA_OXYGEN] = 200;
  s[SEA_ENEMY_SPEED] = s[SEA_ENEMY_TIMER] = 20, s[SEA_DIVER_TIMER] = 30;
  s[SEA_MOVE_SPEED] = 5, s[SEA_SURFACE] = 1;
}

TP_FN void sea_show(const double *s, int most, int channel, int trail, float *obs) {
  for (int k = 0; k < most && s[k] >= 0; k++) {
    const int t = (int)((int64_t)s[k] & 511), x = t & 15, y = t >> 4 & 15,
              back = t & 256 ? x - 1 : x + 1;
    obs[(y * 10 + x) * 10 + channel] = 1;
    if (trail && back >= 0 && back <= 9) obs[(y * 10 + back) * 10 + 3] = 1;
  }
}

/* Channels: front, back, our bullet, trail, their bullet, fish, submarine, oxygen, divers on board,
 * diver. */
TP_FN void seaquest_observe(void *data, const double *s, float *obs) {
  const int x = (int)s[SEA_X], y = (int)s[SEA_Y], back = (x + (s[SEA_RIGHT] > 0 ? 9 : 1)) % 10;
  const int air = s[SEA_OXYGEN] > 0 ? (int)s[SEA_OXYGEN] * 10 / 200 : 0,
            aboard = (int)s[SEA_DIVERS];
  for (int k = 0; k < 1000; k++) obs[k] = 0;
  obs[(y * 10 + x) * 10] = 1;
  obs[(y * 10 + back) * 10 + 1] = 1;
  for (int k = 0; k < air; k++) obs[(90 + k) * 10 + 7] = 1;
  for (int k = 9 - aboard; k < 9; k++) obs[(90 + k) * 10 + 8] = 1;
  sea_show(s + SEA_OURS, 4, 2, 0, obs);
  sea_show(s + SEA_THEIRS, 40, 4, 0, obs);
  sea_show(s + SEA_FISH, 32, 5, 1, obs);
  sea_show(s + SEA_SUBS, 32, 6, 1, obs);
  sea_show(s + SEA_SWIMMERS, 4, 9, 1, obs);
}

/* No enemy comes into a row in which another goes the other way. */
TP_FN void sea_spawn(const double *s, double *u, sea_list *fish, sea_list *subs) {
  const int right = env_draw(u, 2) == 0, sub = env_draw(u, 3) == 0;
  const sea_thing t = { right ? 0 : 9, 1 + env_draw(u, 8), right, (int)s[SEA_MOVE_SPEED],
    sub ? 10 : 0 };
  for (int k = 0; k < fish->n; k++)
    if (fish->v[k].y == t.y && fish->v[k].right != right) return;
  for (int k = 0; k < subs->n; k++)
    if (subs->v[k].y == t.y && subs->v[k].right != right) return;
  sea_add(sub ? subs : fish, 32, t);
}

TP_FN void sea_act(double *s, int a, sea_list *ours) {
  if (a == 5 && s[SEA_RELOAD] == 0) {
    const sea_thing t = { (int)s[SEA_X], (int)s[SEA_Y], (int)s[SEA_RIGHT], 0, 0 };
    sea_add(ours, 4, t);
    s[SEA_RELOAD] = 5;
  }
  if (a == 1) s[SEA_X] = env_clamp(s[SEA_X] - 1, 0, 9), s[SEA_RIGHT] = 0;
  if (a == 3) s[SEA_X] = env_clamp(s[SEA_X] + 1, 0, 9), s[SEA_RIGHT] = 1;
  if (a == 2) s[SEA_Y] = env_clamp(s[SEA_Y] - 1, 0, 8);
  if (a == 4) s[SEA_Y] = env_clamp(s[SEA_Y] + 1, 0, 8);
}

/* Lists are gone through from the youngest thing on. */
TP_FN int sea_move_ours(sea_list *ours, sea_list *fish, sea_list *subs) {
  int r = 0;
  for (int k = ours->n - 1; k >= 0; k--) {
    sea_thing *b = &ours->v[k];
    const int gone = sea_leaves(b),
              hit = !gone && (sea_hit(fish, b->x, b->y) || sea_hit(subs, b->x, b->y));
    r += hit;
    if (gone || hit) sea_drop(ours, k);
  }
  return r;
}

TP_FN void sea_move_divers(double *s, sea_list *divers) {
  const int x = (int)s[SEA_X], y = (int)s[SEA_Y];
  for (int k = divers->n - 1; k >= 0; k--) {
    sea_thing *d = &divers->v[k];
    int aboard = sea_is_at(d, x, y) && s[SEA_DIVERS] < 6, gone = 0;
    if (!aboard && d->wait-- == 0) {
      d->wait = 5;
      gone = sea_leaves(d);
      aboard = !gone && sea_is_at(d, x, y) && s[SEA_DIVERS] < 6;
    }
    s[SEA_DIVERS] += aboard;
    if (aboard || gone) sea_drop(divers, k);
  }
}

/* Fish, and submarines, which shoot into theirs (NULL: fish). */
TP_FN int sea_move_enemies(
    double *s, sea_list *l, sea_list *ours, sea_list *theirs, uint8_t *terminated) {
  const int x = (int)s[SEA_X], y = (int)s[SEA_Y];
  int r = 0;
  for (int k = l->n - 1; k >= 0; k--) {
    sea_thing *e = &l->v[k];
    int gone = 0;
    if (sea_is_at(e, x, y)) *terminated = 1;
    if (e->wait-- == 0) {
      e->wait = (int)s[SEA_MOVE_SPEED];
      gone = sea_leaves(e);
      if (!gone && sea_is_at(e, x, y)) *terminated = 1;
      else if (!gone && sea_hit(ours, e->x, e->y)) gone = 1, r++;
    }
    if (theirs && e->reload-- == 0) {
      const sea_thing b = { e->x, e->y, e->right, 0, 0 };
      e->reload = 10;
      sea_add(theirs, 40, b);
    }
    if (gone) sea_drop(l, k);
  }
  return r;
}

TP_FN void sea_move_theirs(const double *s, sea_list *theirs, uint8_t *terminated) {
  const int x = (int)s[SEA_X], y = (int)s[SEA_Y];
  for (int k = theirs->n - 1; k >= 0; k--) {
    sea_thing *b = &theirs->v[k];
    if (sea_is_at(b, x, y)) *terminated = 1;
    if (sea_leaves(b)) sea_drop(theirs, k);
    else if (sea_is_at(b, x, y)) *terminated = 1;
  }
}

TP_FN int sea_come_up(double *s, int ramps) {
  int r = 0;
  s[SEA_SURFACE] = 1;
  if (s[SEA_DIVERS] == 6) {
    s[SEA_DIVERS] = 0;
    r = (int)s[SEA_OXYGEN] * 10 / 200;
  }
  s[SEA_OXYGEN] = 200;
  s[SEA_DIVERS]--;
  if (ramps && (s[SEA_ENEMY_SPEED] > 1 || s[SEA_MOVE_SPEED] > 2)) {
    if (s[SEA_MOVE_SPEED] > 2 && ((int)s[SEA_RAMPED] & 1)) s[SEA_MOVE_SPEED]--;
    if (s[SEA_ENEMY_SPEED] > 1) s[SEA_ENEMY_SPEED]--;
    s[SEA_RAMPED]++;
  }
  return r;
}

TP_FN void seaquest_step(void *data, const double *s, const void *action, const double *u,
    double *next, float *reward, uint8_t *terminated, uint8_t *truncated) {
  const int64_t *option = (const int64_t *)data;
  const int a = env_sticky(*(const int64_t *)action, s[SEA_LAST], u[0], option[0]);
  sea_list ours = sea_read(s + SEA_OURS, 4), theirs = sea_read(s + SEA_THEIRS, 40),
           fish = sea_read(s + SEA_FISH, 32), subs = sea_read(s + SEA_SUBS, 32),
           divers = sea_read(s + SEA_SWIMMERS, 4);
  double v = u[1];
  int r = 0;
  memcpy(next, s, SEA_OURS * sizeof *s);
  next[SEA_LAST] = a;
  if (next[SEA_ENEMY_TIMER] == 0) {
    sea_spawn(next, &v, &fish, &subs);
    next[SEA_ENEMY_TIMER] = next[SEA_ENEMY_SPEED];
  }
  if (next[SEA_DIVER_TIMER] == 0) {
    const int right = env_draw(&v, 2) == 0;
    const sea_thing t = { right ? 0 : 9, 1 + env_draw(&v, 8), right, 5, 0 };
    sea_add(&divers, 4, t);
    next[SEA_DIVER_TIMER] = 30;
  }
  sea_act(next, a, &ours);
  r += sea_move_ours(&ours, &fish, &subs);
  sea_move_divers(next, &divers);
  r += sea_move_enemies(next, &subs, &ours, &theirs, terminated);
  sea_move_theirs(next, &theirs, terminated);
  r += sea_move_enemies(next, &fish, &ours, (sea_list *)0, terminated);
  if (next[SEA_ENEMY_TIMER] > 0) next[SEA_ENEMY_TIMER]--;
  if (next[SEA_DIVER_TIMER] > 0) next[SEA_DIVER_TIMER]--;
  if (next[SEA_RELOAD] > 0) next[SEA_RELOAD]--;
  if (next[SEA_OXYGEN] <= 0) *terminated = 1;
  if (next[SEA_Y] > 0) next[SEA_OXYGEN]--, next[SEA_SURFACE] = 0;
  else if (next[SEA_SURFACE] == 0) {
    if (next[SEA_DIVERS] == 0) *terminated = 1;
    else r += sea_come_up(next, (int)option[1]);
  }
  sea_write(next + SEA_OURS, 4, &ours);
  sea_write(next + SEA_THEIRS, 40, &theirs);
  sea_write(next + SEA_FISH, 32, &fish);
  sea_write(next + SEA_SUBS, 32, &subs);
  sea_write(next + SEA_SWIMMERS, 4, &divers);
  *reward = (float)r;
}
