// SPDX-License-Identifier: Apache-2.0
// The helpers of gen kernels: float functions without branches or calls, so that loops over them
// become vector code. Each is accurate to what gen_accuracy() says over all of f32, with or
// without fused multiply-add; NaN, infinities, zeros and denormals come out as the C library's.
#include <array>
#include <vector>

#include "c/helpers.h"
#include "mote/codegen/emit_c.h"
#include "mote/uops/map_ops.h"

namespace mote::emit {
namespace {

// Polynomials: minimax fits, the error weighted by the function's own size.
//   expm1(r) = r + r²·q(r) for |r| <= ln(2)/2, within 2⁻³¹
//   log1p(f) = f - f²/2 + f³·p(f) for √½ - 1 <= f <= √2 - 1, within 2⁻³⁰
//   log(erfc(x)) = x·q(x) for 0 <= x <= 4, within 2⁻³¹ of erf
constexpr std::array kGenHelpers = std::to_array<Helper>({
    {.name = "mote_rare_div",
     .storage = Storage::cold,
     .calls = {"mote_floor_div"},
     .function = R"(int64_t mote_rare_div(int64_t a, int64_t b) { return mote_floor_div(a, b); }
)"},
    {.name = "mote_param_div",
     .calls = {"mote_rare_div"},
     .head = "/* Floor division by a parameter that is 1 in most calls, as a dilation is. */\n",
     .function = R"(int64_t mote_param_div(int64_t a, int64_t b) {
  return b == 1 ? a : mote_rare_div(a, b);
}
)"},
    {.name = "mote_rare_mod",
     .storage = Storage::cold,
     .calls = {"mote_floor_mod"},
     .function = R"(int64_t mote_rare_mod(int64_t a, int64_t b) { return mote_floor_mod(a, b); }
)"},
    {.name = "mote_param_mod",
     .calls = {"mote_rare_mod"},
     .head = "/* The remainder of floor division by a parameter that is 1 in most calls. */\n",
     .function = R"(int64_t mote_param_mod(int64_t a, int64_t b) {
  return b == 1 ? 0 : mote_rare_mod(a, b);
}
)"},
    {.name = "mote_prefetch",
     .storage = Storage::always_inline,
     .head = "/* Moves the line of an element to the cache, ahead of its use. */\n",
     .function = R"(void mote_prefetch(const void *element) {
#if defined(__GNUC__)
  __builtin_prefetch(element);
#else
  (void)element;
#endif
}
)"},
    {.name = "mote_float",
     .storage = Storage::always_inline,
     .head = "/* The float with these bits, and back. */\n",
     .function = R"(float mote_float(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
)"},
    {.name = "mote_bits",
     .storage = Storage::always_inline,
     .function = R"(uint32_t mote_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
)"},
    {.name = "mote_minf",
     .storage = Storage::always_inline,
     .head =
         R"(/* Returns the lesser; a NaN in either argument wins. a is a reduction's result so far: it waits for
 * a min and a choice only, and b is compared at the same time. */
)",
     .function = R"(float mote_minf(float a, float b) {
  const float least = b < a ? b : a;
  return b != b ? b : least;
}
)"},
    {.name = "mote_maxf",
     .storage = Storage::always_inline,
     .head = "/* The greater; a NaN in either argument wins. */\n",
     .function = R"(float mote_maxf(float a, float b) {
  const float greatest = b > a ? b : a;
  return b != b ? b : greatest;
}
)"},
    {.name = "mote_divisor_scale",
     .head = "/* A power of two by which a divisor is multiplied, so that 1 over it is a normal number. */\n",
     .function = R"(float mote_divisor_scale(float b) {
  const float size = b < 0.0f ? -b : b;
  return size < 0x1p-126f ? 0x1p24f : size > 0x1p126f ? 0x1p-24f : 1.0f;
}
)"},
    {.name = "mote_wheref",
     .storage = Storage::always_inline,
     .head = "/* One of two numbers, both of which are computed. */\n",
     .function = R"(float mote_wheref(bool condition, float a, float b) {
  return condition ? a : b;
}
)"},
    {.name = "mote_keepf",
     .storage = Storage::always_inline,
     .calls = {"mote_float", "mote_bits"},
     .head = "/* A number or 0, without a branch. */\n",
     .function = R"(float mote_keepf(bool condition, float a) {
  return mote_float(mote_bits(a) & (0u - (uint32_t)condition));
}
)"},
    {.name = "mote_where",
     .storage = Storage::always_inline,
     .function = R"(double mote_where(bool condition, double a, double b) {
  return condition ? a : b;
}
)"},
    {.name = "mote_signf",
     .storage = Storage::always_inline,
     .function = R"(float mote_signf(float a) {
  return a > 0.0f ? 1.0f : a < 0.0f ? -1.0f : a;
}
)"},
    {.name = "mote_modf",
     .head = "/* The remainder with the sign of the divisor. */\n",
     .function = R"(float mote_modf(float a, float b) {
  const float r = fmodf(a, b);
  return r != 0.0f && (r < 0.0f) != (b < 0.0f) ? r + b : r;
}
)"},
    {.name = "mote_expm1_near",
     .storage = Storage::always_inline,
     .head = "/* exp(r) - 1 for |r| <= ln(2) / 2. */\n",
     .function = R"(float mote_expm1_near(float r) {
  float q = 0.0001996339f;
  q = q * r + 0.0013943755f;
  q = q * r + 0.008333217f;
  q = q * r + 0.04166632f;
  q = q * r + 0.16666667f;
  q = q * r + 0.5f;
  return r * r * q + r;
}
)"},
    {.name = "mote_expf",
     .storage = Storage::always_inline,
     .calls = {"mote_float", "mote_bits", "mote_expm1_near"},
     .head = R"(/* exp(x): x = n ln(2) + r; 2^n in two factors, so that both are normal numbers. */
MOTE_LIMIT int32_t mote_exp_max = 89, mote_exp_min = -104;
)",
     .function = R"(float mote_expf(float x) {
  float t = x > (float)mote_exp_max ? (float)mote_exp_max : x;
  t = t < (float)mote_exp_min ? (float)mote_exp_min : t;
  const float shifted = t * 1.44269504f + 12583166.0f; /* n + 254 in the lowest bits */
  const float n = shifted - 12583166.0f;
  const float r = t - n * 0.693359375f - n * -2.12194440e-4f;
  const uint32_t half = mote_bits(shifted) >> 1;
  const float y = mote_expm1_near(r) + 1.0f;
  return y * mote_float(half << 23) * mote_float((mote_bits(shifted) - half) << 23);
}
)"},
    {.name = "mote_expm1f",
     .storage = Storage::always_inline,
     .calls = {"mote_float", "mote_bits", "mote_expm1_near"},
     .head = R"(/* exp(x) - 1, as 2^n (exp(r) - 1) + (2^n - 1). */
MOTE_LIMIT int32_t mote_expm1_max = 89, mote_expm1_min = -30;
)",
     .function = R"(float mote_expm1f(float x) {
  float t = x > (float)mote_expm1_max ? (float)mote_expm1_max : x;
  t = t < (float)mote_expm1_min ? (float)mote_expm1_min : t;
  const float shifted = t * 1.44269504f + 12583038.0f; /* n + 126 in the lowest bits */
  const float n = shifted - 12583038.0f;
  const float r = t - n * 0.693359375f - n * -2.12194440e-4f;
  const float half = mote_float(mote_bits(shifted) << 23); /* 2^(n-1): 2^128 is no float */
  const float p = mote_expm1_near(r);
  const float y = 2.0f * (half * p + (half - 0.5f));
  return copysignf(n == 0.0f ? p : y, x);
}
)"},
    {.name = "mote_expm1_bounded",
     .storage = Storage::always_inline,
     .calls = {"mote_float", "mote_bits", "mote_expm1_near"},
     .head = "/* The same for |x| <= 80, where 2^n needs no care. */\n",
     .function = R"(float mote_expm1_bounded(float x) {
  const float shifted = x * 1.44269504f + 12583039.0f; /* n + 127 in the lowest bits */
  const float n = shifted - 12583039.0f;
  const float r = x - n * 0.693359375f - n * -2.12194440e-4f;
  const float power = mote_float(mote_bits(shifted) << 23);
  return power * mote_expm1_near(r) + (power - 1.0f);
}
)"},
    {.name = "mote_log_near",
     .storage = Storage::always_inline,
     .head = "/* e ln(2) + log(1 + f) for 1 + f from sqrt(1/2) to sqrt(2). */\n",
     .function = R"(float mote_log_near(float f, float e) {
  float p = 0.06746639f;
  p = p * f - 0.116756506f;
  p = p * f + 0.11888162f;
  p = p * f - 0.12405589f;
  p = p * f + 0.14219552f;
  p = p * f - 0.16667996f;
  p = p * f + 0.20002119f;
  p = p * f - 0.2500001f;
  p = p * f + 0.33333313f;
  const float low = f * f * (f * p - 0.5f) + e * -2.12194440e-4f;
  return e * 0.693359375f + (f + low);
}
)"},
    {.name = "mote_logf",
     .storage = Storage::always_inline,
     .calls = {"mote_float", "mote_bits", "mote_log_near"},
     .head = "/* log(x): x = 2^e (1 + f). */\n",
     .function = R"(float mote_logf(float x) {
  const int denormal = x < 1.17549435e-38f;
  const float scaled = denormal ? x * 8388608.0f : x;
  const uint32_t bits = mote_bits(scaled) - 0x3f3504f3u;
  const float e = (float)((int32_t)bits >> 23) - (denormal ? 23.0f : 0.0f);
  const float y = mote_log_near(mote_float((bits & 0x7fffffu) + 0x3f3504f3u) - 1.0f, e);
  const float special = x == 0.0f ? -INFINITY : x > 0.0f ? x : NAN;
  return ((x > 0.0f) & (x < INFINITY)) ? y : special;
}
)"},
    {.name = "mote_log1pf",
     .storage = Storage::always_inline,
     .calls = {"mote_float", "mote_bits", "mote_log_near"},
     .head = "/* log(1 + x): what 1 + x loses by rounding is added to f. */\n",
     .function = R"(float mote_log1pf(float x) {
  const float u = 1.0f + x;
  const float lost = x > 1.0f ? 1.0f - (u - x) : x - (u - 1.0f);
  const uint32_t bits = mote_bits(u) - 0x3f3504f3u;
  const int32_t e = (int32_t)bits >> 23;
  const float scale = mote_float((uint32_t)(127 - (e > 64 ? 64 : e)) << 23);
  const float m = mote_float((bits & 0x7fffffu) + 0x3f3504f3u);
  const float f = e == 0 ? x : (m - 1.0f) + lost * scale;
  const float y = copysignf(mote_log_near(f, (float)e), x);
  const float special = x == -1.0f ? -INFINITY : x > -1.0f ? x : NAN;
  return ((x > -1.0f) & (x < INFINITY)) ? y : special;
}
)"},
    {.name = "mote_tanhf",
     .storage = Storage::always_inline,
     .calls = {"mote_expm1_bounded"},
     .head = R"(/* tanh(x) = (exp(2x) - 1) / (exp(2x) + 1). */
MOTE_LIMIT int32_t mote_tanh_max = 10;
)",
     .function = R"(float mote_tanhf(float x) {
  const float a = fabsf(x);
  const float e = mote_expm1_bounded(2.0f * (a > (float)mote_tanh_max ? (float)mote_tanh_max : a));
  return copysignf(e / (e + 2.0f), x);
}
)"},
    {.name = "mote_erff",
     .storage = Storage::always_inline,
     .calls = {"mote_expm1_bounded"},
     .head = R"(/* erf(x) = 1 - exp(x q(x)), x q(x) = log(erfc(x)). */
MOTE_LIMIT int32_t mote_erf_max = 4;
)",
     .function = R"(float mote_erff(float x) {
  float a = fabsf(x);
  a = a > (float)mote_erf_max ? (float)mote_erf_max : a;
  float q = -1.1932727e-6f;
  q = q * a + 2.135433e-5f;
  q = q * a - 0.00016747986f;
  q = q * a + 0.00074068346f;
  q = q * a - 0.0017993507f;
  q = q * a + 0.00025305862f;
  q = q * a + 0.019117696f;
  q = q * a - 0.102771275f;
  q = q * a - 0.6366198f;
  q = q * a - 1.1283792f;
  return copysignf(mote_expm1_bounded(a * q), x);
}
)"},
    {.name = "mote_float_from_f16",
     .storage = Storage::always_inline,
     .calls = {"mote_float", "mote_bits"},
     .head = "/* Numbers of 16 bits: f16 has 5 bits of exponent, bf16 is the upper half of a "
             "float. */\n",
     .function = R"(float mote_float_from_f16(uint16_t h) {
  const uint32_t magnitude = (uint32_t)(h & 0x7fffu) << 13;
  const uint32_t number = mote_bits(mote_float(magnitude) * 0x1p112f);
  const uint32_t bits = magnitude >= 0x0f800000u ? magnitude | 0x7f800000u : number;
  return mote_float(bits | (uint32_t)(h & 0x8000u) << 16);
}
)",
     .is_one_instruction = true},
    {.name = "mote_float_to_f16",
     .storage = Storage::always_inline,
     .calls = {"mote_float", "mote_bits"},
     .head = "/* Rounds to nearest even. */\n",
     .function = R"(uint16_t mote_float_to_f16(float x) {
  const uint32_t bits = mote_bits(x) & 0x7fffffffu;
  const uint32_t normal = (bits - 0x38000000u + 0xfffu + ((bits >> 13) & 1u)) >> 13;
  const uint32_t denormal = mote_bits(mote_float(bits) + 0.5f) - 0x3f000000u;
  uint32_t h = bits < 0x38800000u ? denormal : normal;
  h = bits >= 0x477ff000u ? 0x7c00u : h;
  h = bits > 0x7f800000u ? 0x7e00u : h;
  return (uint16_t)(h | (mote_bits(x) >> 16 & 0x8000u));
}
)",
     .is_one_instruction = true},
    {.name = "mote_float_from_bf16",
     .storage = Storage::always_inline,
     .calls = {"mote_float"},
     .function = R"(float mote_float_from_bf16(uint16_t h) {
  return mote_float((uint32_t)h << 16);
}
)"},
    {.name = "mote_float_to_bf16",
     .storage = Storage::always_inline,
     .calls = {"mote_bits"},
     .head = "/* Rounds to nearest even. */\n",
     .function = R"(uint16_t mote_float_to_bf16(float x) {
  const uint32_t bits = mote_bits(x);
  const uint32_t h = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t nan = (bits >> 16 & 0x8000u) | 0x7fc0u;
  return (uint16_t)(x != x ? nan : h);
}
)",
     .is_one_instruction = true},
    {.name = "mote_max_i32",
     .storage = Storage::always_inline,
     .function = R"(int32_t mote_max_i32(int32_t a, int32_t b) { return a > b ? a : b; }
)"},
    {.name = "mote_min_i32",
     .storage = Storage::always_inline,
     .function = R"(int32_t mote_min_i32(int32_t a, int32_t b) { return a < b ? a : b; }
)"},
    {.name = "mote_float_to_u8",
     .storage = Storage::always_inline,
     .head = "/* Truncate and saturate; NaN gives 0. */\n",
     .function = R"(int32_t mote_float_to_u8(float a) {
  const float b = a > 0.0f ? a : 0.0f;
  return (int32_t)(b < 255.0f ? b : 255.0f);
}
)"},
    {.name = "mote_float_to_i8",
     .storage = Storage::always_inline,
     .function = R"(int32_t mote_float_to_i8(float a) {
  const float b = a > -128.0f ? a : -128.0f;
  const int32_t c = (int32_t)(b < 127.0f ? b : 127.0f);
  return a != a ? 0 : c;
}
)"},
    {.name = "mote_float_to_i32",
     .storage = Storage::always_inline,
     .head = "/* The greatest float below 2^31 is 2147483520. */\n",
     .function = R"(int32_t mote_float_to_i32(float a) {
  const float b = a > -2147483648.0f ? a : -2147483648.0f;
  const int32_t c = (int32_t)(b < 2147483520.0f ? b : 2147483520.0f);
  const int32_t d = a >= 2147483648.0f ? INT32_MAX : c;
  return a != a ? 0 : d;
}
)"},
});

}  // namespace

std::span<const Helper> gen_helpers() { return kGenHelpers; }

}  // namespace mote::emit

namespace mote {

std::span<const FunctionAccuracy> gen_accuracy() {
  static const std::vector<FunctionAccuracy> all = [] {
    std::vector<FunctionAccuracy> declared;
    for (const MapOpInfo& row : map_ops())
      if (row.c.native_ulp > 0)
        declared.push_back({row.name.data(), row.c.native_ulp});  // a literal ends with a zero
    return declared;
  }();
  return all;
}

std::string emit_c_gen_includes() {
  return R"(#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#ifdef __GNUC__
#define MOTE_INLINE static inline __attribute__((always_inline))
/* The limits of an argument are weak variables, since gcc turns a limit that is constant into a
 * branch, and one that it does not know into a min or max. */
#define MOTE_LIMIT __attribute__((weak, visibility("hidden")))
#else
#define MOTE_INLINE static inline
#define MOTE_LIMIT static
#endif
#ifdef __GNUC__
#define MOTE_CALLED __attribute__((noinline, unused))
#else
#define MOTE_CALLED
#endif
#ifndef MOTE_COLD
#ifdef __GNUC__
#define MOTE_COLD __attribute__((cold, noinline, unused)) /* compiled for its size */
#else
#define MOTE_COLD
#endif
#endif
/* Loops of few iterations are written out, so that arrays of constant size become registers. */
#if defined(__GNUC__) && !defined(__clang__)
#define MOTE_PEELED __attribute__((optimize("peel-loops")))
#else
#define MOTE_PEELED
#endif
#ifndef MOTE_PARALLEL_ABOVE
#define MOTE_PARALLEL_ABOVE 65536
#endif
)";
}

}  // namespace mote
