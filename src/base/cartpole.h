/* CartPole-v1. Gymnasium 1.x, gymnasium/envs/classic_control/cartpole.py and wrappers
 * TimeLimit(500), expression by expression, so that rounding agrees too (up to the last bit of sin
 * and cos). Equations: Florian, "Correct equations for the dynamics of the cart-pole system".
 * State: x, x', theta, theta', and the number of steps taken since the reset. Reward 1 at every
 * step, the last one included. C99 over stdint.h, string.h and math.h: exported programs have this
 * text in them. */
enum { CART_X, CART_V, CART_THETA, CART_OMEGA, CART_STEPS, CART_NSTATE };
enum { CART_MAX_STEPS = 500 };

static void cart_reset(void *data, const double *u, double *s) {
  (void)data;
  for (int k = 0; k < 4; k++) s[k] = -0.05 + 0.1 * u[k];
  s[CART_STEPS] = 0;
}

static void cart_observe(void *data, const double *s, float *obs) {
  (void)data;
  for (int k = 0; k < 4; k++) obs[k] = (float)s[k];
}

/* The sine and the cosine of an angle of at most an eighth turn, as every pole has: fdlibm's
 * polynomials, less than one unit of the last place off. Each operation is rounded by itself, so
 * the bits are the same everywhere, whatever libm there is. */
static double cart_sin(double x) {
  const double z = x * x;
  double p = 1.58969099521155010221e-10;
  if (!(z < 0.616)) return sin(x);
  p = p * z - 2.50507602534068634195e-08;
  p = p * z + 2.75573137070700676789e-06;
  p = p * z - 1.98412698298579493134e-04;
  p = p * z + 8.33333333332248946124e-03;
  p = p * z - 1.66666666666666324348e-01;
  return x + x * z * p;
}

static double cart_cos(double x) {
  const double z = x * x, half = 0.5 * z, one = 1 - half;
  double p = -1.13596475577881948265e-11;
  if (!(z < 0.616)) return cos(x);
  p = p * z + 2.08757232129817482790e-09;
  p = p * z - 2.75573143513906633035e-07;
  p = p * z + 2.48015872894767294178e-05;
  p = p * z - 1.38888888888741095749e-03;
  p = p * z + 4.16666666666666019037e-02;
  return one + ((1 - one - half) + z * z * p);
}

/* One explicit Euler step of tau: positions move with the old velocities. */
static void cart_physics(const double *s, int64_t action, double *n) {
  const double gravity = 9.8, masscart = 1.0, masspole = 0.1, length = 0.5, force_mag = 10.0,
               tau = 0.02;
  const double total_mass = masspole + masscart, polemass_length = masspole * length;
  double x = s[CART_X], v = s[CART_V], theta = s[CART_THETA], omega = s[CART_OMEGA];
  double force = action == 1 ? force_mag : -force_mag;
  double c = cart_cos(theta), sn = cart_sin(theta);
  double temp = (force + polemass_length * (omega * omega) * sn) / total_mass;
  double alpha =
      (gravity * sn - c * temp) / (length * (4.0 / 3.0 - masspole * (c * c) / total_mass));
  double acc = temp - polemass_length * alpha * c / total_mass;
  n[CART_X] = x + tau * v;
  n[CART_V] = v + tau * acc;
  n[CART_THETA] = theta + tau * omega;
  n[CART_OMEGA] = omega + tau * alpha;
  n[CART_STEPS] = s[CART_STEPS] + 1;
}

static int cart_fell(const double *s) {
  const double pi = 3.141592653589793, theta_limit = 12 * 2 * pi / 360, x_limit = 2.4;
  return s[CART_X] < -x_limit || s[CART_X] > x_limit || s[CART_THETA] < -theta_limit ||
      s[CART_THETA] > theta_limit;
}

static void cart_step(void *data, const double *state, const void *action, const double *u,
    double *next, float *obs_next, float *reward, uint8_t *terminated, uint8_t *truncated) {
  double n[CART_NSTATE];
  cart_physics(state, *(const int64_t *)action, n);
  *reward = 1;
  *terminated = cart_fell(n);
  *truncated = n[CART_STEPS] >= CART_MAX_STEPS;
  cart_observe(data, n, obs_next);
  if (*terminated || *truncated) cart_reset(data, u, next);
  else memcpy(next, n, sizeof n);
}
