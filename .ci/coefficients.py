"""Makes the coefficients of kernels/prelude/math.h: minimax polynomials by Remez' exchange in 200 bits, each coefficient rounded
to its type from the lowest power on and the others fitted again; one quotient of polynomials; constants in parts. Needs mpmath.
    python3 .ci/coefficients.py [name]          prints one line a polynomial: name, largest error that it causes in the result, coefficients
"""
import struct
import sys
import mpmath as m
from mpmath import mp, mpf

mp.prec = 200


def f32(x):
    return mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def f64(x):
    return mpf(float(x))


def value(c, x):
    return sum((v * x**k for k, v in c.items()), mpf(0))


def exchange(err, n):
    """The places of n alternating extremes among those of err, the largest ones; None if there are fewer."""
    runs = []
    for g, e in enumerate(err):
        if e == 0:
            continue
        if runs and (err[runs[-1]] > 0) == (e > 0):
            if abs(e) > abs(err[runs[-1]]):
                runs[-1] = g
        else:
            runs.append(g)
    while len(runs) > n:
        runs.pop(0 if abs(err[runs[0]]) < abs(err[runs[-1]]) else -1)
    return runs if len(runs) == n else None


def minimax(f, w, a, b, powers, fixed, rounds=30):
    """Coefficients at `powers` beside the fixed ones, for the least maximum of |w (p - f)| over a .. b."""
    n = len(powers) + 1
    grid = max(600, 40 * n)
    xs = [(a + b) / 2 - (b - a) / 2 * m.cos(m.pi * (2 * i + 1) / (2 * grid)) for i in range(grid)]
    fs, ws = [f(x) for x in xs], [w(x) for x in xs]
    at = [int((2 * i + 1) * grid / (2 * n)) for i in range(n)]
    best = None
    for _ in range(rounds):
        rows = [[xs[g]**k for k in powers] + [-(-1)**i / ws[g]] for i, g in enumerate(at)]
        got = m.lu_solve(m.matrix(rows), m.matrix([fs[g] - value(fixed, xs[g]) for g in at]))
        p = dict(fixed)
        p.update((k, got[i]) for i, k in enumerate(powers))
        err = [ws[g] * (value(p, xs[g]) - fs[g]) for g in range(grid)]
        worst = max(abs(e) for e in err)
        if best is None or worst < best[0]:
            best = worst, p
        at = exchange(err, n)
        if worst <= abs(got[n - 1]) * (1 + mpf(10)**-3) or at is None:
            break
    return best


def rounded(rnd, f, w, a, b, n, first=0):
    a, b, fixed = mpf(a), mpf(b), {}
    for k in range(first, first + n):
        fixed[k] = rnd(minimax(f, w, a, b, range(k, first + n), fixed)[1][k])
    xs = [a + (b - a) * i / 2000 for i in range(2001)]
    return max(abs(w(x) * (value(fixed, x) - f(x))) for x in xs), fixed


def quotient(rnd, f, w, a, b, n, d, rounds=30):
    """P / Q of degrees n and d with Q(0) = 1, for the least relative error times w: Remez' exchange, the error in its own product linearised."""
    count, grid = n + d + 2, 1500
    xs = [a + (b - a) * (mpf(i) / (grid - 1))**2 for i in range(grid)]
    fs, ws = [f(x) for x in xs], [w(x) for x in xs]
    at = [int(m.nint((1 - m.cos(m.pi * i / (count - 1))) / 2 * (grid - 1))) for i in range(count)]
    level, q, best = mpf(0), [mpf(1)] + [mpf(0)] * d, None

    def of(c, x):
        return value(dict(enumerate(c)), x)
    for _ in range(rounds):
        for _ in range(6):
            rows, rhs = [], []
            for i, g in enumerate(at):
                sign, below = (-1)**i, of(q, xs[g])
                step = sign * fs[g] / ws[g]
                wanted = fs[g] + step * level
                rows.append([xs[g]**k for k in range(n + 1)] + [-wanted * xs[g]**k for k in range(1, d + 1)] + [-step * below])
                rhs.append(wanted - step * below * level)
            got = m.lu_solve(m.matrix(rows), m.matrix(rhs))
            p, q, level = list(got[:n + 1]), [mpf(1)] + list(got[n + 1:n + d + 1]), got[n + d + 1]
        err = [y * (of(p, x) / of(q, x) / v - 1) for x, v, y in zip(xs, fs, ws)]
        worst = max(abs(e) for e in err)
        if best is None or worst < best[0]:
            best = worst, p, q
        at = exchange(err, count)
        if at is None or worst <= abs(level) * (1 + mpf(10)**-3):
            break
    p, q = [rnd(v) for v in best[1]], [rnd(v) for v in best[2]]
    return max(abs(y * (of(p, x) / of(q, x) / v - 1)) for x, v, y in zip(xs, fs, ws)), dict(enumerate(p + q))


# An approximated function: one of r or of z = r^2 near 0, and the weight that makes its error one relative to the result.
tiny = mpf(10)**-15


def exp_rest(r):
    return (m.exp(r) - 1 - r) / r**2 if abs(r) > tiny else mpf(1) / 2 + r / 6


def log_rest(f):
    return (m.log1p(f) - f + f * f / 2) / f**3 if abs(f) > tiny else mpf(1) / 3 - f / 4


def atanh_rest(z):
    s = m.sqrt(z)
    return (2 * m.atanh(s) - 2 * s) / s**3 if z > tiny else mpf(2) / 3 + z * 2 / 5


def atanh_end(z):
    s = m.sqrt(z)
    return ((2 * m.atanh(s) - 2 * s) / s**3 - mpf(2) / 3) / z if z > tiny else mpf(2) / 5 + z * 2 / 7


def sin_rest(z):
    r = m.sqrt(z)
    return (m.sin(r) - r) / r**3 if z > tiny else -mpf(1) / 6 + z / 120


def cos_rest(z):
    r = m.sqrt(z)
    return (m.cos(r) - 1 + z / 2) / z**2 if z > tiny else mpf(1) / 24 - z / 720


def tan_rest(z):
    r = m.sqrt(z)
    return (m.tan(r) - r) / r**3 if z > tiny else mpf(1) / 3 + z * 2 / 15


def tanh_half(z):
    x = m.sqrt(z)
    return m.tanh(x / 2) / x if z > tiny else (1 - z / 12) / 2


def erf_near(z):
    x = m.sqrt(z)
    return (m.erf(x) - x) / x if z > tiny else 2 / m.sqrt(m.pi) * (1 - z / 3) - 1


def erf_far(x):
    return m.log(m.erfc(x))


half_ln2 = m.log(2) / 2
quarter = (m.pi / 4 * mpf("1.0001"))**2
wide = mpf("0.82")**2                           # what rounding n of a large f32 leaves
middle = (3 - 2 * m.sqrt(2))**2 * mpf("1.001")  # ((m - 1) / (m + 1))^2 of m in sqrt(1/2) .. sqrt(2)
fits = {
    "exp f32": lambda: rounded(f32, exp_rest, lambda r: r * r * m.exp(-r), -half_ln2 * mpf("1.01"), half_ln2 * mpf("1.01"), 5),
    "exp f64": lambda: rounded(f64, exp_rest, lambda r: r * r * m.exp(-r), -half_ln2 * mpf("1.001"), half_ln2 * mpf("1.001"), 10),
    "log f32": lambda: rounded(f32, log_rest, lambda f: f**3 / m.log1p(f) if f else mpf(0), mpf(-1) / 3, mpf(1) / 3 + mpf(2)**-20, 8),
    "log f64": lambda: rounded(f64, atanh_rest, lambda z: z / 2, tiny, middle, 7),
    "pow log f32": lambda: rounded(f64, atanh_rest, lambda z: z / 2, tiny, middle, 4),
    "pow exp f32": lambda: rounded(f64, exp_rest, lambda r: r * r * m.exp(-r), -half_ln2 * mpf("1.001"), half_ln2 * mpf("1.001"), 6),
    "pow log f64": lambda: rounded(f64, atanh_end, lambda z: z * z / 2, tiny, middle, 8),
    "sin f32": lambda: rounded(f32, sin_rest, lambda z: z, tiny, wide, 3),
    "cos f32": lambda: rounded(f32, cos_rest, lambda z: z * z, tiny, wide, 3),
    "tan f32": lambda: rounded(f32, tan_rest, lambda z: z * m.sqrt(z) / m.tan(m.sqrt(z)), tiny, wide, 7),
    "tanh f32": lambda: quotient(f32, tanh_half, lambda z: 1 / m.cosh(m.sqrt(z)), mpf(0), mpf("9.7")**2, 3, 3),
    "sin f64": lambda: rounded(f64, sin_rest, lambda z: z, tiny, quarter, 6),
    "cos f64": lambda: rounded(f64, cos_rest, lambda z: z * z, tiny, quarter, 6),
    "erf near f32": lambda: rounded(f32, erf_near, lambda z: 1 / (1 + erf_near(z)), tiny, mpf("1.01")**2, 7),
    "erf near f64": lambda: rounded(f64, erf_near, lambda z: 1 / (1 + erf_near(z)), tiny, mpf("1.01")**2, 13),
    "erf far f32": lambda: rounded(f32, erf_far, m.erfc, mpf("0.99"), mpf("3.93"), 6, 1),
    "erf far f64": lambda: rounded(f64, erf_far, m.erfc, mpf("0.99"), mpf("5.93"), 18, 1),
}


def parts(c, bits, last):
    """c as numbers of so many bits, cut, and a last one rounded to its type."""
    out = []
    for b in bits:
        unit = mpf(2)**(int(m.floor(m.log(abs(c), 2))) + 1 - b)
        out.append(m.floor(c / unit) * unit)
        c -= out[-1]
    return [float(v).hex() for v in out + [last(c)]]


constants = {
    "ln 2 f32": lambda: parts(m.log(2), [16], f32),
    "ln 2 f64": lambda: parts(m.log(2), [42], f64),
    "2/3 f64": lambda: parts(mpf(2) / 3, [53], f64),
    "pi / 2 f32": lambda: parts(m.pi / 2, [24, 24], f32),
    "pi / 2 f64": lambda: parts(m.pi / 2, [33, 33, 33], f64),
    "pi / 2 far": lambda: parts(m.pi / 2, [53], f64),
    "2 / pi in words": lambda: [hex(int(m.floor(2 / m.pi * mpf(2)**(32 * (i + 1)))) & 0xffffffff) for i in range(40)],
}

if __name__ == "__main__":
    for name, make in fits.items():
        if len(sys.argv) < 2 or sys.argv[1] in name:
            worst, c = make()
            print("%-14s 2^%.1f  %s" % (name, m.log(worst, 2), ", ".join(float(v).hex() for v in c.values())), flush=True)
    mp.prec = 2000
    for name, make in constants.items():
        if len(sys.argv) < 2 or sys.argv[1] in name:
            print("%-16s %s" % (name, " ".join(make())))
