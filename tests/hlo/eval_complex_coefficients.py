# SPDX-License-Identifier: Apache-2.0
"""Coefficients of hlo/eval_complex_fast.c, and their errors: python eval_complex_coefficients.py (needs mpmath).

Each function g(z) is interpolated at Chebyshev's nodes of [0, top], in 60 digits. Printed: the coefficients, lowest first,
rounded to f64, and the largest error of the whole function, relative to it, over 2,000 points, computed with those.
"""
import mpmath as mp

mp.mp.dps = 60


def series(f):
    """(f(sqrt z) / sqrt z - 1) / z of an odd function f."""
    return lambda z: (f(mp.sqrt(z)) / mp.sqrt(z) - 1) / z


QUARTER = (mp.pi / 4 * mp.mpf('1.0001')) ** 2
HALF_LN2 = (mp.log(2) / 2 * mp.mpf('1.0001')) ** 2
# name: g, top, degree, the whole function from g's value, what it is relative to
TABLE = {
    'sin': (series(mp.sin), QUARTER, 5, lambda z, g: 1 + z * g),
    'cos': (lambda z: (mp.cos(mp.sqrt(z)) - 1) / z, QUARTER, 5, lambda z, g: 1 + z * g),
    'sinh': (series(mp.sinh), HALF_LN2, 4, lambda z, g: 1 + z * g),
    'cosh': (lambda z: (mp.cosh(mp.sqrt(z)) - 1) / z, HALF_LN2, 4, lambda z, g: 1 + z * g),
    'atanh': (series(mp.atanh), (mp.sqrt(2) - 1) ** 4 * mp.mpf('1.0001'), 5, lambda z, g: 1 + z * g),
    'atan': (series(mp.atan), (mp.sqrt(2) - 1) ** 2 * mp.mpf('1.0001'), 9, lambda z, g: 1 + z * g),
}


def interpolate(g, top, degree):
    nodes = [top / 2 * (1 + mp.cos(mp.pi * (2 * k + 1) / (2 * degree + 2))) for k in range(degree + 1)]
    matrix = mp.matrix([[x ** j for j in range(degree + 1)] for x in nodes])
    return [float(c) for c in mp.lu_solve(matrix, mp.matrix([g(x) for x in nodes]))]


def main():
    for name, (g, top, degree, whole) in TABLE.items():
        c = interpolate(g, top, degree)
        worst = 0
        for k in range(1, 2001):
            z = top * k / 2000
            exact, approximate = g(z), sum(mp.mpf(a) * z ** j for j, a in enumerate(c))
            worst = max(worst, abs(whole(z, approximate) / whole(z, exact) - 1))
        print('%s: 2^%.1f  {%s}' % (name, mp.log(worst, 2), ', '.join(a.hex() for a in c)))


if __name__ == '__main__':
    main()
