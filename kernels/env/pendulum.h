/* Pendulum-v1. Gymnasium 1.x, classic_control/pendulum.py, expression by expression. State: theta
 * (0 is upright), theta'. Action: a torque, cut to -2 .. 2; its terms are f32, as NumPy computes
 * them. Reward: minus the cost of angle, speed and torque before the step. It never terminates. */
TP_FN void pendulum_reset(void *data, const double *u, double *s) {
  s[0] = -3.141592653589793 + 2 * 3.141592653589793 * u[0];
  s[1] = -1.0 + 2.0 * u[1];
}

TP_FN void pendulum_observe(void *data, const double *s, float *obs) {
  obs[0] = (float)env_cos(s[0]), obs[1] = (float)env_sin(s[0]), obs[2] = (float)s[1];
}

TP_FN void pendulum_step(void *data, const double *s, const void *action, const double *u,
    double *next, float *reward, uint8_t *terminated, uint8_t *truncated) {
  const double pi = 3.141592653589793, g = 10.0, dt = 0.05, max_speed = 8;
  const float given = *(const float *)action, torque = given < -2 ? -2 : given > 2 ? 2 : given;
  double off = env_mod(s[0] + pi, 2 * pi) - pi;
  double cost = off * off + 0.1 * (s[1] * s[1]) + (double)(0.001f * (torque * torque));
  double speed = s[1] + (3 * g / 2 * env_sin(s[0]) + (double)(3.0f * torque)) * dt;
  next[1] = env_clamp(speed, -max_speed, max_speed);
  next[0] = s[0] + next[1] * dt;
  *reward = (float)-cost;
}
