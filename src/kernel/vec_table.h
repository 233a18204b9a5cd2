// Constants of the vector maths, shared by vec_c.h, vec_avx2.h and vec_avx512.h, which give the same bits for
// every input. The polynomials are fitted by tools/vec_fit.py; the errors of the whole functions stand in
// docs/numerics.md.
#ifndef SABOK_KERNEL_VEC_TABLE_H
#define SABOK_KERNEL_VEC_TABLE_H

// t = x + vec_round holds x, |x| < 2^22, rounded to the nearest integer (ties to even) in its low bits;
// t - vec_round is that integer as a float.
static const float vec_round = 0x1.8p23f;

// exp: x = n ln(2) + r, |r| <= ln(2) / 2, and e^x = 2^n (1 + r + r^2 (e0 + e1 r + e2 r^2 + e3 r^3 + e4 r^4)).
// Below vec_exp_min, where e^x < 2^-124.99, the result is 0, so that half of every other result is normal.
// Above vec_exp_max it is infinity, as it is from 88.72284 on.
static const float vec_exp_min = -86.64f;
static const float vec_exp_max = 89.0f;
static const float vec_log2_e = 0x1.715476p+0f;
static const float vec_ln2_high = 0x1.62e43p-1f; // a multiple of 2^-21: fma(-n, high, x) is exact
static const float vec_ln2_low = -0x1.05c61p-29f;
// (e^r - 1 - r) / r^2, |r| <= ln(2) / 2; relative error of e^r 3.8e-09.
static const float vec_exp[5] = {0x1.fffffcp-2f, 0x1.555492p-3f, 0x1.5558f2p-5f, 0x1.1239e2p-7f,
                                 0x1.6a2434p-10f};

// tanh: below the split x + x^3 (t0 + t1 x^2 + ...), from there on 1 - 2 / (e^(2 |x|) + 1).
static const float vec_tanh_split = 0.75f;
// (tanh x - x) / x^3 by x^2, |x| <= 0.75; relative error of tanh 7.7e-09.
static const float vec_tanh[6] = {-0x1.55554ap-2f, 0x1.110db8p-3f,  -0x1.b97d3cp-5f,
                                  0x1.5f785ap-6f,  -0x1.f5d36ep-8f, 0x1.c753cap-10f};

// gelu: x Phi(x) = max(x, 0) - |x| Phi(-|x|), and Phi(-a) is the square of a polynomial on each of eight
// intervals, chosen by n = round(a * steps), with d = a * steps - n. From n = 8 on (a >= 6) it is 0.
static const float vec_gelu_steps = 1.25f;
static const float vec_gelu_end = 6.25f;
// sqrt(Phi(-a)), a = (n + d) 4/5; relative errors 2e-08 4e-08 3e-08 4e-08 5e-08 2e-07 1e-07 1e-06.
_Alignas(64) static const float vec_gelu[7][16] = {
    {0x1.6a09e6p-1f, 0x1.d752fep-2f, 0x1.df6be2p-3f, 0x1.72da54p-4f, 0x1.ad7a9ep-6f, 0x1.70d17ap-8f,
     0x1.d2fa58p-11f, 0x1.b23812p-14f},
    {-0x1.ce2f1ap-3f, -0x1.01cbbcp-2f, -0x1.842a14p-3f, -0x1.953f5ep-4f, -0x1.2a05f8p-5f, -0x1.37b22ap-7f,
     -0x1.d2594ap-10f, -0x1.f4f964p-13f},
    {-0x1.2703d4p-5f, 0x1.7fc350p-7f, 0x1.6d24e8p-5f, 0x1.4f3e18p-5f, 0x1.5d5526p-6f, 0x1.d696a4p-8f,
     0x1.adab8ap-10f, 0x1.10164ep-12f},
    {0x1.9c1e18p-7f, 0x1.074feep-6f, 0x1.2a4a06p-8f, -0x1.695f84p-8f, -0x1.9a9ab8p-8f, -0x1.94172ep-9f,
     -0x1.dc5ebcp-11f, -0x1.6e93dap-13f},
    {0x1.95d678p-9f, -0x1.88a888p-10f, -0x1.be407ep-9f, -0x1.530c6ap-10f, 0x1.41ea1cp-11f, 0x1.8ead9ap-11f,
     0x1.57c170p-12f, 0x1.52ed36p-14f},
    {-0x1.5e51c8p-11f, -0x1.ba8c6ep-11f, 0x1.04a5dep-13f, 0x1.12b1e8p-11f, 0x1.871e48p-13f, -0x1.26c5c4p-14f,
     -0x1.3ae9f0p-14f, -0x1.c0ccf2p-16f},
    {-0x1.5dc13ep-13f, 0x1.d93eecp-14f, 0x1.37e964p-13f, -0x1.56d700p-16f, -0x1.123fdcp-14f, -0x1.038c6ep-16f,
     0x1.1b1c86p-17f, 0x1.8408d6p-18f},
};

// erf, in the same way; from n = 8 on (a >= 3.87) it is 1. Where n = 0, a is added to the polynomial: a < vec_erf_split.
static const float vec_erf_steps = 1.9375f;
static const float vec_erf_end = 4.25f;
static const float vec_erf_split = 0x1.084212p-2f; // the first float past 8/31
// erf(a), for n = 0 erf(a) - a; a = (n + d) 16/31; relative errors 6e-09 6e-08 4e-08 4e-08 3e-08 1e-08 3e-08 3e-08.
_Alignas(64) static const float vec_erf[7][16] = {
    {0x0.0p+0f, 0x1.11b1b4p-1f, 0x1.b6199cp-1f, 0x1.f162e4p-1f, 0x1.fe34b8p-1f, 0x1.ffdd92p-1f,
     0x1.fffe70p-1f, 0x1.fffff6p-1f, 0x1.000000p+0f},
    {0x1.0f66e0p-4f, 0x1.c8e6a4p-2f, 0x1.9af0a2p-3f, 0x1.b1e40ap-5f, 0x1.0ce7c4p-7f, 0x1.874bd4p-11f,
     0x1.4e3f62p-15f, 0x1.4f420ap-20f},
    {-0x1.1d1808p-22f, -0x1.e6da80p-4f, -0x1.b5e16ep-4f, -0x1.5ac098p-5f, -0x1.1e88aap-7f, -0x1.04968ep-10f,
     -0x1.0b1a14p-14f, -0x1.3886c4p-19f},
    {-0x1.a79732p-5f, -0x1.2f5912p-6f, 0x1.4a130cp-6f, 0x1.24797ap-6f, 0x1.676d7ap-8f, 0x1.abdd56p-11f,
     0x1.0d191ep-14f, 0x1.730ac6p-19f},
    {-0x1.c107e8p-15f, 0x1.aa8fd2p-7f, 0x1.0e8b8cp-8f, -0x1.ba0ebcp-9f, -0x1.1938e0p-9f, -0x1.dda1a2p-12f,
     -0x1.7f3aeap-15f, -0x1.3f06eep-19f},
    {0x1.1c89e2p-8f, 0x1.f64252p-14f, -0x1.3e9dfcp-9f, -0x1.8502d6p-12f, 0x1.e78112p-12f, 0x1.79c842p-13f,
     0x1.a981c0p-16f, 0x1.c9deeep-20f},
    {-0x1.8d00fcp-12f, -0x1.de71a2p-11f, 0x1.11a3c4p-13f, 0x1.57f952p-12f, -0x1.a0ee5cp-17f, -0x1.82b8c2p-15f,
     -0x1.4d05e2p-17f, -0x1.cdf7cep-21f},
};

// gelu_tanh: x / (1 + e^(-x (g0 + g1 x^2))), g0 = 2 sqrt(2 / pi), g1 = 0.044715 g0.
static const float vec_gelu_tanh[2] = {0x1.988454p+0f, 0x1.2444f2p-4f};
// quick_gelu: x / (1 + e^(-1.702 x)).
static const float vec_quick_gelu = 1.702f;

#endif
