/* Acrobot-v1. Gymnasium 1.x, classic_control/acrobot.py ("book" equations: Sutton and Barto),
 * expression by expression. State: the two joints' angles and speeds; a step is one of RK4 over
 * 0.2 s with torque -1, 0 or 1 at the second joint. Reward -1 a step, 0 at the one that ends the
 * episode by swinging the tip one link above the fixed joint. */
TP_FN void acrobot_reset(void *data, const double *u, double *s) {
  for (int k = 0; k < 4; k++) s[k] = (double)(float)(-0.1 + 0.2 * u[k]);
}

TP_FN void acrobot_observe(void *data, const double *s, float *obs) {
  obs[0] = (float)env_cos(s[0]), obs[1] = (float)env_sin(s[0]);
  obs[2] = (float)env_cos(s[1]), obs[3] = (float)env_sin(s[1]);
  obs[4] = (float)s[2], obs[5] = (float)s[3];
}

/* The state's derivative: links of length and mass 1, centres at a half, inertia 1. */
TP_FN void acrobot_moves(const double *s, double torque, double *d) {
  const double pi = 3.141592653589793, g = 9.8;
  double c2 = env_cos(s[1]), s2 = env_sin(s[1]);
  double d1 = 0.25 + (1.25 + c2) + 1.0 + 1.0;
  double d2 = (0.25 + 0.5 * c2) + 1.0;
  double phi2 = 0.5 * g * env_cos(s[0] + s[1] - pi / 2.0);
  double phi1 =
      -0.5 * (s[3] * s[3]) * s2 - 1.0 * s[3] * s[2] * s2 + 1.5 * g * env_cos(s[0] - pi / 2) + phi2;
  double second =
      (torque + d2 / d1 * phi1 - 0.5 * (s[2] * s[2]) * s2 - phi2) / (0.25 + 1.0 - d2 * d2 / d1);
  d[0] = s[2], d[1] = s[3];
  d[2] = -(d2 * second + phi1) / d1;
  d[3] = second;
}

TP_FN double acrobot_wrap(double x) {
  const double pi = 3.141592653589793, turn = 2 * pi;
  while (x > pi) x = x - turn;
  while (x < -pi) x = x + turn;
  return x;
}

TP_FN void acrobot_step(void *data, const double *s, const void *action, const double *u,
    double *next, float *reward, uint8_t *terminated, uint8_t *truncated) {
  const double pi = 3.141592653589793, dt = 0.2, torque = (double)(*(const int64_t *)action - 1);
  double k1[4], k2[4], k3[4], k4[4], at[4];
  acrobot_moves(s, torque, k1);
  for (int i = 0; i < 4; i++) at[i] = s[i] + dt / 2.0 * k1[i];
  acrobot_moves(at, torque, k2);
  for (int i = 0; i < 4; i++) at[i] = s[i] + dt / 2.0 * k2[i];
  acrobot_moves(at, torque, k3);
  for (int i = 0; i < 4; i++) at[i] = s[i] + dt * k3[i];
  acrobot_moves(at, torque, k4);
  for (int i = 0; i < 4; i++) at[i] = s[i] + dt / 6.0 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
  next[0] = acrobot_wrap(at[0]), next[1] = acrobot_wrap(at[1]);
  next[2] = env_clamp(at[2], -4 * pi, 4 * pi), next[3] = env_clamp(at[3], -9 * pi, 9 * pi);
  *terminated = -env_cos(next[0]) - env_cos(next[1] + next[0]) > 1.0;
  *reward = *terminated ? 0 : -1;
}
