/* MountainCarContinuous-v0. Gymnasium 1.x, classic_control/continuous_mountain_car.py: its state is
 * f32 from the first step on, and NumPy rounds in between; a reset gives f64. State: place, speed.
 * Action: a force, cut to -1 .. 1. Reward 100 where the place is 0.45, less 0.1 action^2. */
TP_FN void mountaincar_continuous_reset(void *data, const double *u, double *s) {
  s[0] = -0.6 + 0.2 * u[0], s[1] = 0;
}

TP_FN void mountaincar_continuous_observe(void *data, const double *s, float *obs) {
  obs[0] = (float)s[0], obs[1] = (float)s[1];
}

TP_FN void mountaincar_continuous_step(void *data, const double *s, const void *action,
    const double *u, double *next, float *reward, uint8_t *terminated, uint8_t *truncated) {
  const float a = *(const float *)action;
  const int single = s[0] == (double)(float)s[0], cut = a < -1 || a > 1;
  const double slope = 0.0025 * env_cos(single ? (double)(float)(3 * s[0]) : 3 * s[0]);
  double pull = cut ? (a < 0 ? -0.0015 : 0.0015) - slope : (double)(a * 0.0015f - (float)slope);
  double speed = s[1] + (single ? (double)(float)pull : pull), place;
  if (single) speed = (double)(float)speed;
  if (speed > (double)0.07f) speed = (double)0.07f;
  if (speed < (double)-0.07f) speed = (double)-0.07f;
  place = (double)(float)(s[0] + speed);
  if (place > (double)0.6f) place = (double)0.6f;
  if (place < (double)-1.2f) place = (double)-1.2f;
  if (place == (double)-1.2f && speed < 0) speed = 0;
  next[0] = place, next[1] = (double)(float)speed;
  *terminated = place >= (double)0.45f && speed >= 0;
  *reward = (float)((*terminated ? 100.0 : 0.0) - (double)a * (double)a * 0.1);
}
