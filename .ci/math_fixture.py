"""Writes spec/math.txt, which spec/c/math_test.c reads: a function, the bits of its operands (0 for one that it has not), the bits of the f64 nearest to its
value, what the value has more in units of that f64's last place. Half of the operands are f32. Needs mpmath; about a minute.
    python3 .ci/math_fixture.py > spec/math.txt
"""
import math
import random
import struct
import mpmath as m
from mpmath import mp, mpf

mp.prec = 2400                                  # enough for sin of the largest f64
random.seed(1)


def bits(x):
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def f32(x):
    try:
        return struct.unpack("f", struct.pack("f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def nearest(v):
    """The f64 next to v (mpmath rounds subnormals as if they were normal), and the rest in its last places."""
    if v == 0:
        return 0.0, 0.0
    e = max(int(m.floor(m.log(abs(v), 2))), -1022)
    e += 1 if abs(v) >= mpf(2)**(e + 1) else -1 if e > -1022 and abs(v) < mpf(2)**e else 0
    k = m.nint(v / mpf(2)**(e - 52))
    if abs(k) * mpf(2)**(e - 52) >= mpf(2)**1024:
        return math.copysign(math.inf, v), 0.0
    rest = v / mpf(2)**(e - 52) - k
    return math.ldexp(float(k), e - 52), float(rest)


def line(name, x, y, v):
    if isinstance(v, float):
        want, rest = v, 0.0
    else:
        want, rest = nearest(v)
    print("%s %x %x %x %.4f" % (name, bits(x), bits(y), bits(want), rest))


inf, nan = math.inf, math.nan
odd = [5e-324, 1e-310, 2.0**-1022, 2.0**-149, 2.0**-130, 2.0**-126, 1e-30, 2.0**-54, 2.0**-27, 2.0**-25, 2.0**-12, 0.5, 1.0, 2.0]

functions = {                                   # the function, values at inf, -inf, and the sign of f(0); ranges of operands
    "exp": (m.exp, inf, 0.0, None, [(-1, 1), (-20, 20), (-110, 95), (-750, 715)]),
    "expm1": (m.expm1, inf, -1.0, 0.0, [(-1, 1), (-5, 5), (-60, 95), (-60, 715)]),
    "log": (lambda x: m.log(x) if x > 0 else nan, inf, nan, -inf, [(0.5, 2), (0, 100), (0, 1e30)]),
    "log1p": (lambda x: m.log1p(x) if x > -1 else nan if x < -1 else -inf, inf, nan, 0.0, [(-0.5, 0.5), (-1, 2), (0, 1e10)]),
    "sin": (m.sin, nan, nan, 0.0, [(-1, 1), (-10, 10), (-1000, 1000), (-1e6, 1e6), (-1e7, 1e7)]),
    "cos": (m.cos, nan, nan, None, [(-1, 1), (-10, 10), (-1000, 1000), (-1e6, 1e6), (-1e7, 1e7)]),
    "tan": (m.tan, nan, nan, 0.0, [(-1, 1), (-10, 10), (-1000, 1000), (-1e6, 1e6), (-1e7, 1e7)]),
    "tanh": (m.tanh, 1.0, -1.0, 0.0, [(-1, 1), (-5, 5), (-10, 10), (-20, 20)]),
    "sigmoid": (lambda x: 1 / (1 + m.exp(-x)), 1.0, 0.0, None, [(-1, 1), (-10, 10), (-110, 40), (-750, 50)]),
    "erf": (m.erf, 1.0, -1.0, 0.0, [(-0.5, 0.5), (-1.1, 1.1), (-4, 4), (-6, 6)]),
}
circle = ("sin", "cos", "tan")
# Next to multiples of pi / 2: the worst of f64 and of f32, and those of small ones.
hard = [6381956970095103 * 2.0**797, 16367173 * 2.0**72, 5.319372648326541e+255, 1.5707963267948966, 3.141592653589793, 22.0, 355.0, 710.0, 103993.0, 1048575.5, 1048576.0,
        2.0**20 + 2.0**-32, 1e22, 2.0**120, 2.0**1023, 1.7976931348623157e308, f32(3.4028234e38), f32(1.5707964), f32(3.1415927), 1e5, 12345678.0]


def value(f, x):
    v = f(mpf(x))
    return v if isinstance(v, (float, mpf)) else mpf(v)


for name, (f, above, below, zero, ranges) in functions.items():
    line(name, inf, 0.0, above)
    line(name, -inf, 0.0, below)
    line(name, nan, 0.0, nan)
    for x in (0.0, -0.0):
        line(name, x, 0.0, value(f, 0) if zero is None else math.copysign(zero, x) if zero == 0 else zero)
    xs = [s * x for x in odd for s in (1, -1)]
    xs += [random.uniform(lo, hi) for lo, hi in ranges for _ in range(30)]
    if name in circle:
        xs += [s * x for x in hard for s in (1, -1)] + [random.uniform(1, 2) * 2.0**e for e in range(21, 1024, 17)] + [random.uniform(1, 2) * 2.0**e for e in range(20, 128, 3)]
        xs += [float(m.pi / 2 * k) for k in (1, 2, 3, 5, 100, 12345, 667543)] + [f32(float(m.pi / 2 * k)) for k in (1, 2, 3, 5, 100, 12345, 667543)]
    xs += [2.0**-1000, 1e300, -1e300] if name not in circle else []
    done = set()
    for x in (y for i, x in enumerate(xs) for y in ((x, f32(x)) if i % 3 == 0 else (f32(x),) if i % 3 == 1 else (x,))):
        if x != 0 and not math.isinf(x) and x not in done:
            done.add(x)
            big = name in ("exp", "expm1", "sigmoid") and abs(x) > 1e4
            line(name, x, 0.0, value(f, math.copysign(1e4, x) if big else x))


def power(x, y):
    if x > 0:
        return m.exp(mpf(y) * m.log(mpf(x)))
    return m.power(-mpf(x), mpf(y)) * (-1 if y % 2 else 1) if y == math.floor(y) else nan


mp.prec = 300
edges = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, inf, -inf, nan, 4503599627370497.0, 9007199254740991.0, 9007199254740992.0, 1e300]
for x in edges:
    for y in edges:
        try:
            v = math.pow(x, y)                  # C's own rules at the edges
        except OverflowError:
            v = inf if x > 0 or y % 2 == 0 else -inf
        except ValueError:
            v = nan if x != 0 else (-inf if math.copysign(1, x) < 0 and y % 2 == 1 else inf)
        if v == 0 or math.isinf(v) or math.isnan(v) or x in (0.0, 1.0, -1.0) or y == 0:
            line("pow", x, y, v)
        else:
            line("pow", x, y, power(x, y))
for i in range(500):
    x, y = math.ldexp(random.uniform(0.5, 1), random.randint(-20, 20)), random.uniform(-60, 60)
    if i % 5 == 0:
        x, y = random.uniform(0.9, 1.1), random.uniform(-6000, 6000)
    if i % 5 == 1:
        x, y = -x, float(random.randint(-20, 20))
    if i % 5 == 2:
        x, y = math.ldexp(random.uniform(0.5, 1), random.randint(-1073, -1020)), random.uniform(-1, 1)
    if i % 2:
        x, y = f32(x), f32(y)
    if x != 0:
        line("pow", x, y, power(x, y))
