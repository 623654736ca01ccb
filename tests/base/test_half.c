// SPDX-License-Identifier: Apache-2.0
// Small floating-point formats. The rows (a double and its expected code) and the sums of all positive finite values
// come from NumPy with ml_dtypes 0.5, computed once with this file's inputs; ties, round trips and the agreement of the
// quick conversions with the general ones are checked over all codes.
#include <math.h>

#include "tests/harness.h"

typedef struct row {
  double value;
  uint32_t code;
} row;

// clang-format off
static const row f16_rows[] = {
    {0.0, 0x00}, {-0.0, 0x8000}, {0x1p+0, 0x3c00}, {-0x1p+0, 0xbc00}, {0x1.8p+0, 0x3e00}, {0x1p+1, 0x4000},
    {0x1.8p+1, 0x4200}, {0x1.ffcp+15, 0x7bff}, {-0x1.ffcp+15, 0xfbff}, {0x1p-14, 0x400}, {0x1p-24, 0x01},
    {0x1p-25, 0x00}, {-0x1p-25, 0x8000}, {0x1.8p-25, 0x01}, {0x1.999999999999ap-4, 0x2e66},
    {0x1.3333333333333p-2, 0x34cd}, {-0x1.6666666666666p-1, 0xb99a}, {0x1.cp+2, 0x4700},
    {0x1.93e5939a08ceap+99, 0x7c00}, {-0x1.93e5939a08ceap+99, 0xfc00}, {INFINITY, 0x7c00}, {-INFINITY, 0xfc00},
    {0x1.ffcp+16, 0x7c00},
};
static const row bf16_rows[] = {
    {0.0, 0x00}, {-0.0, 0x8000}, {0x1p+0, 0x3f80}, {-0x1p+0, 0xbf80}, {0x1.8p+0, 0x3fc0}, {0x1p+1, 0x4000},
    {0x1.8p+1, 0x4040}, {0x1.fep+127, 0x7f7f}, {-0x1.fep+127, 0xff7f}, {0x1p-126, 0x80}, {0x1p-133, 0x01},
    {0x1p-134, 0x00}, {-0x1p-134, 0x8000}, {0x1.8p-134, 0x01}, {0x1.999999999999ap-4, 0x3dcd},
    {0x1.3333333333333p-2, 0x3e9a}, {-0x1.6666666666666p-1, 0xbf33}, {0x1.cp+2, 0x40e0},
    {0x1.93e5939a08ceap+99, 0x714a}, {-0x1.93e5939a08ceap+99, 0xf14a}, {INFINITY, 0x7f80}, {-INFINITY, 0xff80},
    {0x1.fep+128, 0x7f80},
};
static const row f8E5M2_rows[] = {
    {0.0, 0x00}, {-0.0, 0x80}, {0x1p+0, 0x3c}, {-0x1p+0, 0xbc}, {0x1.8p+0, 0x3e}, {0x1p+1, 0x40},
    {0x1.8p+1, 0x42}, {0x1.cp+15, 0x7b}, {-0x1.cp+15, 0xfb}, {0x1p-14, 0x04}, {0x1p-16, 0x01}, {0x1p-17, 0x00},
    {-0x1p-17, 0x80}, {0x1.8p-17, 0x01}, {0x1.999999999999ap-4, 0x2e}, {0x1.3333333333333p-2, 0x35},
    {-0x1.6666666666666p-1, 0xba}, {0x1.cp+2, 0x47}, {0x1.93e5939a08ceap+99, 0x7c}, {-0x1.93e5939a08ceap+99, 0xfc},
    {INFINITY, 0x7c}, {-INFINITY, 0xfc}, {0x1.cp+16, 0x7c},
};
static const row f8E4M3_rows[] = {
    {0.0, 0x00}, {-0.0, 0x80}, {0x1p+0, 0x38}, {-0x1p+0, 0xb8}, {0x1.8p+0, 0x3c}, {0x1p+1, 0x40},
    {0x1.8p+1, 0x44}, {0x1.ep+7, 0x77}, {-0x1.ep+7, 0xf7}, {0x1p-6, 0x08}, {0x1p-9, 0x01}, {0x1p-10, 0x00},
    {-0x1p-10, 0x80}, {0x1.8p-10, 0x01}, {0x1.999999999999ap-4, 0x1d}, {0x1.3333333333333p-2, 0x2a},
    {-0x1.6666666666666p-1, 0xb3}, {0x1.cp+2, 0x4e}, {0x1.93e5939a08ceap+99, 0x78}, {-0x1.93e5939a08ceap+99, 0xf8},
    {INFINITY, 0x78}, {-INFINITY, 0xf8}, {0x1.ep+8, 0x78},
};
static const row f8E3M4_rows[] = {
    {0.0, 0x00}, {-0.0, 0x80}, {0x1p+0, 0x30}, {-0x1p+0, 0xb0}, {0x1.8p+0, 0x38}, {0x1p+1, 0x40},
    {0x1.8p+1, 0x48}, {0x1.fp+3, 0x6f}, {-0x1.fp+3, 0xef}, {0x1p-2, 0x10}, {0x1p-6, 0x01}, {0x1p-7, 0x00},
    {-0x1p-7, 0x80}, {0x1.8p-7, 0x01}, {0x1.999999999999ap-4, 0x06}, {0x1.3333333333333p-2, 0x13},
    {-0x1.6666666666666p-1, 0xa6}, {0x1.cp+2, 0x5c}, {0x1.93e5939a08ceap+99, 0x70}, {-0x1.93e5939a08ceap+99, 0xf0},
    {INFINITY, 0x70}, {-INFINITY, 0xf0}, {0x1.fp+4, 0x70},
};
static const row f8E4M3FN_rows[] = {
    {0.0, 0x00}, {-0.0, 0x80}, {0x1p+0, 0x38}, {-0x1p+0, 0xb8}, {0x1.8p+0, 0x3c}, {0x1p+1, 0x40},
    {0x1.8p+1, 0x44}, {0x1.cp+8, 0x7e}, {-0x1.cp+8, 0xfe}, {0x1p-6, 0x08}, {0x1p-9, 0x01}, {0x1p-10, 0x00},
    {-0x1p-10, 0x80}, {0x1.8p-10, 0x01}, {0x1.999999999999ap-4, 0x1d}, {0x1.3333333333333p-2, 0x2a},
    {-0x1.6666666666666p-1, 0xb3}, {0x1.cp+2, 0x4e}, {0x1.93e5939a08ceap+99, 0x7f}, {-0x1.93e5939a08ceap+99, 0xff},
    {INFINITY, 0x7f}, {-INFINITY, 0xff}, {0x1.cp+9, 0x7f},
};
static const row f8E4M3FNUZ_rows[] = {
    {0.0, 0x00}, {-0.0, 0x00}, {0x1p+0, 0x40}, {-0x1p+0, 0xc0}, {0x1.8p+0, 0x44}, {0x1p+1, 0x48},
    {0x1.8p+1, 0x4c}, {0x1.ep+7, 0x7f}, {-0x1.ep+7, 0xff}, {0x1p-7, 0x08}, {0x1p-10, 0x01}, {0x1p-11, 0x00},
    {-0x1p-11, 0x00}, {0x1.8p-11, 0x01}, {0x1.999999999999ap-4, 0x25}, {0x1.3333333333333p-2, 0x32},
    {-0x1.6666666666666p-1, 0xbb}, {0x1.cp+2, 0x56}, {0x1.93e5939a08ceap+99, 0x80}, {-0x1.93e5939a08ceap+99, 0x80},
    {INFINITY, 0x80}, {-INFINITY, 0x80}, {0x1.ep+8, 0x80},
};
static const row f8E5M2FNUZ_rows[] = {
    {0.0, 0x00}, {-0.0, 0x00}, {0x1p+0, 0x40}, {-0x1p+0, 0xc0}, {0x1.8p+0, 0x42}, {0x1p+1, 0x44},
    {0x1.8p+1, 0x46}, {0x1.cp+15, 0x7f}, {-0x1.cp+15, 0xff}, {0x1p-15, 0x04}, {0x1p-17, 0x01}, {0x1p-18, 0x00},
    {-0x1p-18, 0x00}, {0x1.8p-18, 0x01}, {0x1.999999999999ap-4, 0x32}, {0x1.3333333333333p-2, 0x39},
    {-0x1.6666666666666p-1, 0xbe}, {0x1.cp+2, 0x4b}, {0x1.93e5939a08ceap+99, 0x80}, {-0x1.93e5939a08ceap+99, 0x80},
    {INFINITY, 0x80}, {-INFINITY, 0x80}, {0x1.cp+16, 0x80},
};
static const row f8E4M3B11FNUZ_rows[] = {
    {0.0, 0x00}, {-0.0, 0x00}, {0x1p+0, 0x58}, {-0x1p+0, 0xd8}, {0x1.8p+0, 0x5c}, {0x1p+1, 0x60},
    {0x1.8p+1, 0x64}, {0x1.ep+4, 0x7f}, {-0x1.ep+4, 0xff}, {0x1p-10, 0x08}, {0x1p-13, 0x01}, {0x1p-14, 0x00},
    {-0x1p-14, 0x00}, {0x1.8p-14, 0x01}, {0x1.999999999999ap-4, 0x3d}, {0x1.3333333333333p-2, 0x4a},
    {-0x1.6666666666666p-1, 0xd3}, {0x1.cp+2, 0x6e}, {0x1.93e5939a08ceap+99, 0x80}, {-0x1.93e5939a08ceap+99, 0x80},
    {INFINITY, 0x80}, {-INFINITY, 0x80}, {0x1.ep+5, 0x80},
};
static const row f8E8M0FNU_rows[] = {
    {0.0, 0xff}, {-0.0, 0xff}, {0x1p+0, 0x7f}, {-0x1p+0, 0xff}, {0x1.8p+0, 0x80}, {0x1p+1, 0x80},
    {0x1.8p+1, 0x81}, {0x1p+127, 0xfe}, {-0x1p+127, 0xff}, {0x1p-127, 0x00}, {0x1p-127, 0x00}, {0x1p-128, 0x00},
    {-0x1p-128, 0xff}, {0x1.8p-128, 0x00}, {0x1.999999999999ap-4, 0x7c}, {0x1.3333333333333p-2, 0x7d},
    {-0x1.6666666666666p-1, 0xff}, {0x1.cp+2, 0x82}, {0x1.93e5939a08ceap+99, 0xe3}, {-0x1.93e5939a08ceap+99, 0xff},
    {INFINITY, 0xff}, {-INFINITY, 0xff}, {0x1p+128, 0xff},
};
static const row f6E2M3FN_rows[] = {
    {0.0, 0x00}, {-0.0, 0x20}, {0x1p+0, 0x08}, {-0x1p+0, 0x28}, {0x1.8p+0, 0x0c}, {0x1p+1, 0x10},
    {0x1.8p+1, 0x14}, {0x1.ep+2, 0x1f}, {-0x1.ep+2, 0x3f}, {0x1p+0, 0x08}, {0x1p-3, 0x01}, {0x1p-4, 0x00},
    {-0x1p-4, 0x20}, {0x1.8p-4, 0x01}, {0x1.999999999999ap-4, 0x01}, {0x1.3333333333333p-2, 0x02},
    {-0x1.6666666666666p-1, 0x26}, {0x1.cp+2, 0x1e}, {0x1.93e5939a08ceap+99, 0x1f}, {-0x1.93e5939a08ceap+99, 0x3f},
    {INFINITY, 0x1f}, {-INFINITY, 0x3f}, {0x1.ep+3, 0x1f},
};
static const row f6E3M2FN_rows[] = {
    {0.0, 0x00}, {-0.0, 0x20}, {0x1p+0, 0x0c}, {-0x1p+0, 0x2c}, {0x1.8p+0, 0x0e}, {0x1p+1, 0x10},
    {0x1.8p+1, 0x12}, {0x1.cp+4, 0x1f}, {-0x1.cp+4, 0x3f}, {0x1p-2, 0x04}, {0x1p-4, 0x01}, {0x1p-5, 0x00},
    {-0x1p-5, 0x20}, {0x1.8p-5, 0x01}, {0x1.999999999999ap-4, 0x02}, {0x1.3333333333333p-2, 0x05},
    {-0x1.6666666666666p-1, 0x2a}, {0x1.cp+2, 0x17}, {0x1.93e5939a08ceap+99, 0x1f}, {-0x1.93e5939a08ceap+99, 0x3f},
    {INFINITY, 0x1f}, {-INFINITY, 0x3f}, {0x1.cp+5, 0x1f},
};
static const row f4E2M1FN_rows[] = {
    {0.0, 0x00}, {-0.0, 0x08}, {0x1p+0, 0x02}, {-0x1p+0, 0x0a}, {0x1.8p+0, 0x03}, {0x1p+1, 0x04},
    {0x1.8p+1, 0x05}, {0x1.8p+2, 0x07}, {-0x1.8p+2, 0x0f}, {0x1p+0, 0x02}, {0x1p-1, 0x01}, {0x1p-2, 0x00},
    {-0x1p-2, 0x08}, {0x1.8p-2, 0x01}, {0x1.999999999999ap-4, 0x00}, {0x1.3333333333333p-2, 0x01},
    {-0x1.6666666666666p-1, 0x09}, {0x1.cp+2, 0x07}, {0x1.93e5939a08ceap+99, 0x07}, {-0x1.93e5939a08ceap+99, 0x0f},
    {INFINITY, 0x07}, {-INFINITY, 0x0f}, {0x1.8p+3, 0x07},
};

// clang-format on

typedef struct format {
  const char *name;
  int bits;
  double (*to)(uint32_t);
  uint32_t (*from)(double);
  const row *rows;
  int n_rows;
  int n_finite, n_nan;
  double sum_positive;  // 0: not exact in a double, not checked
} format;

#define FORMAT(name, bits, n_finite, n_nan, sum) \
  { #name, bits, name##_to_f64, name##_from_f64, name##_rows, sizeof name##_rows / sizeof(row), n_finite, n_nan, sum }

static const format formats[] = {
    FORMAT(f16, 16, 63488, 2046, 0x1.7fdffffc00000p+26),    FORMAT(bf16, 16, 65280, 254, 0),
    FORMAT(f8E5M2, 8, 248, 6, 0x1.5ffffffc00000p+18),       FORMAT(f8E4M3, 8, 240, 14, 0x1.6ffc000000000p+11),
    FORMAT(f8E3M4, 8, 224, 30, 0x1.7400000000000p+8),       FORMAT(f8E4M3FN, 8, 254, 2, 0x1.51fe000000000p+12),
    FORMAT(f8E4M3FNUZ, 8, 255, 1, 0x1.6ffe000000000p+11),   FORMAT(f8E5M2FNUZ, 8, 255, 1, 0x1.5ffffffe00000p+18),
    FORMAT(f8E4M3B11FNUZ, 8, 255, 1, 0x1.6ffe000000000p+8), FORMAT(f8E8M0FNU, 8, 255, 1, 0),
    FORMAT(f6E2M3FN, 6, 64, 0, 0x1.5000000000000p+6),       FORMAT(f6E3M2FN, 6, 64, 0, 0x1.5e00000000000p+7),
    FORMAT(f4E2M1FN, 4, 16, 0, 0x1.2000000000000p+4),
};
enum { N_FORMATS = sizeof formats / sizeof formats[0] };

static uint32_t bits_of(float f) {
  uint32_t u;
  memcpy(&u, &f, 4);
  return u;
}

static float float_of(uint32_t u) {
  float f;
  memcpy(&f, &u, 4);
  return f;
}

START_TEST(table_is_complete) {
  int n = 0;
#define M(name, bits, e, m, bias, kind) n++;
  SMALL_FLOATS(M)
#undef M
  ck_assert_int_eq(n, N_FORMATS);
}
END_TEST

START_TEST(rows) {
  for (int k = 0; k < N_FORMATS; k++) {
    const format *f = &formats[k];
    for (int i = 0; i < f->n_rows; i++) {
      uint32_t code = f->from(f->rows[i].value);
      ck_assert_msg(code == f->rows[i].code, "%s of %a is 0x%x, expected 0x%x", f->name, f->rows[i].value, code,
                    f->rows[i].code);
    }
  }
}
END_TEST

START_TEST(all_codes) {
  for (int k = 0; k < N_FORMATS; k++) {
    const format *f = &formats[k];
    int n_finite = 0, n_nan = 0;
    double sum = 0;
    for (uint32_t code = 0; code < 1u << f->bits; code++) {
      double v = f->to(code);
      n_nan += isnan(v) != 0;
      n_finite += isfinite(v) != 0;
      if (isfinite(v) && v > 0) sum += v;
      if (!isnan(v) && f->from(v) != code) ck_abort_msg("%s 0x%x is %a, back 0x%x", f->name, code, v, f->from(v));
      if (isnan(v) && !isnan(f->to(f->from(v)))) ck_abort_msg("%s 0x%x", f->name, code);
    }
    ck_assert_int_eq(n_finite, f->n_finite);
    ck_assert_int_eq(n_nan, f->n_nan);
    if (f->sum_positive != 0) ck_assert_msg(sum == f->sum_positive, "%s: sum %a", f->name, sum);
  }
}
END_TEST

// Between two neighbours: halfway goes to the even code (upward in f8E8M0FNU), anything else to the nearer.
START_TEST(rounding) {
  for (int k = 0; k < N_FORMATS; k++) {
    const format *f = &formats[k];
    bool e8m0 = strcmp(f->name, "f8E8M0FNU") == 0;
    for (uint32_t code = 0; code + 1 < 1u << f->bits; code++) {
      double low = f->to(code), high = f->to(code + 1);
      if (!isfinite(low) || !isfinite(high) || low < 0 || high < low) continue;
      double middle = low / 2 + high / 2;
      uint32_t even = e8m0 || code & 1 ? code + 1 : code;
      if (f->from(middle) != even) ck_abort_msg("%s after 0x%x", f->name, code);
      if (f->from(nextafter(middle, low)) != code) ck_abort_msg("%s after 0x%x", f->name, code);
      if (f->from(nextafter(middle, high)) != code + 1) ck_abort_msg("%s after 0x%x", f->name, code);
      if (!e8m0 && low > 0) {
        ASSERT_QUICK(f->to(f->from(-middle)) == -f->to(even));
        ASSERT_QUICK(f->to(f->from(nextafter(-middle, 0))) == -low);
      }
    }
  }
}
END_TEST

START_TEST(nans) {
  static const uint32_t plus[N_FORMATS] = {0x7e00, 0x7fc0, 0x7e, 0x7c, 0x78, 0x7f, 0x80,
                                           0x80,   0x80,   0xff, 0x20, 0x20, 8};
  static const uint32_t minus[N_FORMATS] = {0xfe00, 0xffc0, 0xfe, 0xfc, 0xf8, 0xff, 0x80, 0x80, 0x80, 0xff, 0, 0, 0};
  for (int k = 0; k < N_FORMATS; k++) {
    ck_assert_msg(formats[k].from(copysign(NAN, 1)) == plus[k], "%s", formats[k].name);
    ck_assert_msg(formats[k].from(copysign(NAN, -1)) == minus[k], "%s", formats[k].name);
  }
  ck_assert_uint_eq(f8E8M0FNU_from_f64(-1.0), 0xff);
  ck_assert_uint_eq(f8E8M0FNU_from_f64(0x1p-1074), 0);
}
END_TEST

// Rounding twice, through f32, would give another answer.
START_TEST(no_double_rounding) {
  ck_assert_uint_eq(f16_from_f64(1.0 + 0x1p-11 + 0x1p-40), 0x3c01);
  ck_assert_uint_eq(bf16_from_f64(1.0 + 0x1p-8 + 0x1p-40), 0x3f81);
  ck_assert_uint_eq(f8E4M3FN_from_f64(1.0 + 0x1p-4 + 0x1p-50), 0x39);
  ck_assert_uint_eq(f16_from_f64(65519.999999), 0x7bff);
  ck_assert_uint_eq(f16_from_f64(65520.0), 0x7c00);
}
END_TEST

START_TEST(quick_conversions) {
  for (uint32_t code = 0; code < 65536; code++) {
    ASSERT_QUICK(bits_of(f16_to_f32((uint16_t)code)) == bits_of((float)f16_to_f64(code)));
    float b = bf16_to_f32((uint16_t)code);
    if (!isnan(b)) ASSERT_QUICK(bits_of(b) == bits_of((float)bf16_to_f64(code)));
  }
  for (uint64_t u = 0; u < UINT64_C(1) << 32; u += 997) {
    float f = float_of((uint32_t)u);
    ASSERT_QUICK(f16_from_f32(f) == f16_from_f64(f));
    ASSERT_QUICK(bf16_from_f32(f) == bf16_from_f64(f));
  }
  for (uint32_t code = 0; code < 0x7c00; code++) {  // halfway points and their neighbours
    float middle = (f16_to_f32((uint16_t)code) + f16_to_f32((uint16_t)(code + 1))) / 2;
    if (isinf(middle)) middle = 65520;
    for (int d = -1; d <= 1; d++) {
      float f = float_of(bits_of(middle) + (uint32_t)d);
      ASSERT_QUICK(f16_from_f32(f) == f16_from_f64(f));
      ASSERT_QUICK(f16_from_f32(-f) == f16_from_f64(-f));
    }
  }
}
END_TEST

HARNESS_MAIN("base/half", table_is_complete, rows, all_codes, rounding, nans, no_double_rounding, quick_conversions)
