/* CartPole-v1. Gymnasium 1.x, classic_control/cartpole.py, expression by expression, so that
 * rounding agrees too (up to the last bit of sin and cos): f64 physics, explicit Euler steps.
 * Equations: Florian, "Correct equations for the dynamics of the cart-pole system". State: x, x',
 * theta, theta'. Reward 1 at every step, the last one included. */
enum { CART_X, CART_V, CART_THETA, CART_OMEGA };

TP_FN void cartpole_reset(void *data, const double *u, double *s) {
  for (int k = 0; k < 4; k++) s[k] = -0.05 + 0.1 * u[k];
}

TP_FN void cartpole_observe(void *data, const double *s, float *obs) {
  for (int k = 0; k < 4; k++) obs[k] = (float)s[k];
}

/* One explicit Euler step of tau: positions move with the old velocities. */
TP_FN void cartpole_physics(const double *s, int64_t action, double *n) {
  const double gravity = 9.8, masscart = 1.0, masspole = 0.1, length = 0.5, force_mag = 10.0,
               tau = 0.02;
  const double total_mass = masspole + masscart, polemass_length = masspole * length;
  double x = s[CART_X], v = s[CART_V], theta = s[CART_THETA], omega = s[CART_OMEGA];
  double force = action == 1 ? force_mag : -force_mag;
  double c = env_cos(theta), sn = env_sin(theta);
  double temp = (force + polemass_length * (omega * omega) * sn) / total_mass;
  double alpha =
      (gravity * sn - c * temp) / (length * (4.0 / 3.0 - masspole * (c * c) / total_mass));
  double acc = temp - polemass_length * alpha * c / total_mass;
  n[CART_X] = x + tau * v;
  n[CART_V] = v + tau * acc;
  n[CART_THETA] = theta + tau * omega;
  n[CART_OMEGA] = omega + tau * alpha;
}

TP_FN int cartpole_fell(const double *s) {
  const double pi = 3.141592653589793, theta_limit = 12 * 2 * pi / 360, x_limit = 2.4;
  return s[CART_X] < -x_limit || s[CART_X] > x_limit || s[CART_THETA] < -theta_limit ||
      s[CART_THETA] > theta_limit;
}

TP_FN void cartpole_step(void *data, const double *s, const void *action, const double *u,
    double *next, float *reward, uint8_t *terminated, uint8_t *truncated) {
  cartpole_physics(s, *(const int64_t *)action, next);
  *reward = 1;
  *terminated = cartpole_fell(next);
}
