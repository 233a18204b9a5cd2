#!/usr/bin/env python3
"""Fits the polynomials of src/kernel/vec_table.h and prints them.

Remez exchange on the relative error, in double precision: every target is needed to about 1e-10 only.
Run it, and paste what it prints into the header. Needs nothing but Python.
"""
import math
import struct


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def solve(a, b):
    """Gaussian elimination with row pivots."""
    n = len(b)
    a = [row[:] + [b[i]] for i, row in enumerate(a)]
    for i in range(n):
        p = max(range(i, n), key=lambda r: abs(a[r][i]))
        a[i], a[p] = a[p], a[i]
        for r in range(i + 1, n):
            q = a[r][i] / a[i][i]
            for c in range(i, n + 1):
                a[r][c] -= q * a[i][c]
    x = [0.0] * n
    for i in reversed(range(n)):
        x[i] = (a[i][n] - sum(a[i][c] * x[c] for c in range(i + 1, n))) / a[i][i]
    return x


def remez(target, powers, lo, hi, weight):
    """Coefficients of sum c_i x^powers[i] with the least largest |error| / weight on [lo, hi]."""
    n = len(powers)
    points = [lo + (hi - lo) * (1 - math.cos(math.pi * i / n)) / 2 for i in range(n + 1)]
    grid = [lo + (hi - lo) * (1 - math.cos(math.pi * i / 4000)) / 2 for i in range(4001)]
    for _ in range(30):
        rows = [[x**p for p in powers] + [(-1) ** i * weight(x)] for i, x in enumerate(points)]
        c = solve(rows, [target(x) for x in points])[:-1]
        error = [(sum(k * x**p for k, p in zip(c, powers)) - target(x)) / weight(x) for x in grid]
        # The largest error of each run of one sign; the best n + 1 neighbours of them are the next points.
        peaks = []
        for x, e in zip(grid, error):
            if peaks and (peaks[-1][1] > 0) == (e > 0):
                if abs(e) > abs(peaks[-1][1]):
                    peaks[-1] = (x, e)
            else:
                peaks.append((x, e))
        while len(peaks) > n + 1:
            peaks.pop(0 if abs(peaks[0][1]) < abs(peaks[-1][1]) else -1)
        if len(peaks) < n + 1:
            break
        points = [x for x, _ in peaks]
    return c, max(abs(e) for e in error)


def fit_rounded(target, powers, lo, hi, weight):
    """The best coefficients, each rounded to float, and the worst error after rounding."""
    c = [f32(k) for k in remez(target, powers, lo, hi, weight)[0]]
    grid = [lo + (hi - lo) * i / 4000 for i in range(4001)]
    return c, max(abs(sum(k * x**p for k, p in zip(c, powers)) - target(x)) / weight(x) for x in grid)


def literal(x):
    return float.hex(x).replace("0000000p", "p") + "f"


def print_list(name, values, note):
    print(f"// {note}\nstatic const float {name}[{len(values)}] = {{{', '.join(map(literal, values))}}};\n")


def print_table(name, rows, last, note):
    print(f"// {note}\n_Alignas(64) static const float {name}[{len(rows)}][16] = {{")
    for power, row in enumerate(rows):
        row = row + [last] if last and power == 0 else row
        print("    {" + ", ".join(map(literal, row)) + "},")
    print("};\n")


def table(target, steps, degree, odd):
    """Rows by power, columns by interval: target(a), a = (n + d) / steps, |d| <= 1/2. The first interval of an odd
    function has target(a) - a without a constant, so that it is 0 at 0 and rounds as little as a does."""
    columns, worst = [], []
    for n in range(8):
        zero = n == 0 and odd
        powers = range(1 if zero else 0, degree + 1)
        lo, hi = 1e-4 if zero else -0.5, 0.5
        f = lambda d: target((n + d) / steps)
        rest = (lambda d: f(d) - d / steps) if zero else f
        c, error = fit_rounded(rest, powers, lo, hi, f)
        columns.append([0.0] * powers[0] + c)
        worst.append(error)
    return [[columns[n][p] for n in range(8)] for p in range(degree + 1)], worst


def main():
    half = math.log(2) / 2 * 1.0001
    c, e = fit_rounded(lambda r: (math.exp(r) - 1 - r) / r**2 if abs(r) > 1e-3 else 0.5 + r / 6 + r * r / 24,
                       range(5), -half, half, lambda r: math.exp(r) / max(r * r, 1e-3))
    print_list("vec_exp", c, f"(e^r - 1 - r) / r^2, |r| <= ln(2) / 2; relative error of e^r {e:.2g}.")

    def tanh_rest(z):
        x = math.sqrt(z)
        return (math.tanh(x) - x) / x**3 if x > 0.02 else -1 / 3 + 2 * z / 15 - 17 * z * z / 315
    split = 0.75
    c, e = fit_rounded(tanh_rest, range(6), 0, split**2,
                       lambda z: math.tanh(math.sqrt(z)) / math.sqrt(z) ** 3 if z > 1e-2 else 1e3)
    print_list("vec_tanh", c, f"(tanh x - x) / x^3 by x^2, |x| <= {split}; relative error of tanh {e:.2g}.")

    rows, worst = table(lambda a: math.sqrt(math.erfc(a / math.sqrt(2)) / 2), 1.25, 6, False)
    errors = " ".join(f"{e:.1g}" for e in worst)
    print_table("vec_gelu", rows, 0.0, f"sqrt(Phi(-a)), a = (n + d) 4/5; relative errors {errors}.")

    rows, worst = table(math.erf, 1.9375, 6, True)
    errors = " ".join(f"{e:.1g}" for e in worst)
    print_table("vec_erf", rows, 1.0, f"erf(a), for n = 0 erf(a) - a; a = (n + d) 16/31; relative errors {errors}.")


main()
