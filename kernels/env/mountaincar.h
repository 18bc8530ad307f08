/* MountainCar-v0. Gymnasium 1.x, classic_control/mountain_car.py, expression by expression. State:
 * place, speed. Actions: push left, none, right. Reward -1 a step, until the place is 0.5. */
TP_FN void mountaincar_reset(void *data, const double *u, double *s) {
  s[0] = -0.6 + 0.2 * u[0], s[1] = 0;
}

TP_FN void mountaincar_observe(void *data, const double *s, float *obs) {
  obs[0] = (float)s[0], obs[1] = (float)s[1];
}

TP_FN void mountaincar_step(void *data, const double *s, const void *action, const double *u,
    double *next, float *reward, uint8_t *terminated, uint8_t *truncated) {
  double push = (double)(*(const int64_t *)action - 1) * 0.001;
  double speed = env_clamp(s[1] + (push + env_cos(3 * s[0]) * -0.0025), -0.07, 0.07);
  double place = env_clamp(s[0] + speed, -1.2, 0.6);
  if (place == -1.2 && speed < 0) speed = 0;
  next[0] = place, next[1] = speed;
  *terminated = place >= 0.5 && speed >= 0;
  *reward = -1;
}
