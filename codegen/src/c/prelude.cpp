// SPDX-License-Identifier: Apache-2.0
// The helpers that all emitted kernels may call. Each mirrors one rule of the language
// (uops/src/graph/scalar.cpp) or of index arithmetic.
#include <array>

#include "c/helpers.h"

namespace mote::emit {
namespace {

// A helper stands after those that it calls.
constexpr std::array kHelpers = std::to_array<Helper>({
    {.name = "mote_floor_div",
     .head = "/* Floor division of indices. */\n",
     .function = R"(int64_t mote_floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
)"},
    {.name = "mote_floor_mod",
     .head = "/* a - b * floor(a / b). */\n",
     .function = R"(int64_t mote_floor_mod(int64_t a, int64_t b) {
  const int64_t r = b == 0 || b == -1 ? 0 : a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
)"},
    {.name = "mote_imin",
     .function = R"(int64_t mote_imin(int64_t a, int64_t b) { return a < b ? a : b; }
)"},
    {.name = "mote_imax",
     .function = R"(int64_t mote_imax(int64_t a, int64_t b) { return a > b ? a : b; }
)"},
    {.name = "mote_min",
     .head = "/* The lesser; a NaN in either argument wins. */\n",
     .function = R"(double mote_min(double a, double b) { return a < b || isnan(a) ? a : b; }
)"},
    {.name = "mote_max",
     .head = "/* The greater; a NaN in either argument wins. */\n",
     .function = R"(double mote_max(double a, double b) { return a > b || isnan(a) ? a : b; }
)"},
    {.name = "mote_real_sign",
     .function = R"(double mote_real_sign(double a) { return a > 0 ? 1.0 : a < 0 ? -1.0 : a; }
)"},
    {.name = "mote_real_mod",
     .head = "/* The remainder with the sign of the divisor. */\n",
     .function = R"(double mote_real_mod(double a, double b) {
  const double r = fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
)"},
    {.name = "mote_to_i64",
     .head = "/* Truncates and saturates; NaN gives 0. */\n",
     .function = R"(int64_t mote_to_i64(double a) {
  if (isnan(a)) return 0;
  if (a <= -9223372036854775808.0) return INT64_MIN;
  return a >= 9223372036854775808.0 ? INT64_MAX : (int64_t)a;
}
)"},
    {.name = "mote_to_i32",
     .head = "/* Truncates and saturates; NaN gives 0. */\n",
     .function = R"(int64_t mote_to_i32(double a) {
  if (isnan(a)) return 0;
  if (a <= -2147483648.0) return INT32_MIN;
  return a >= 2147483647.0 ? INT32_MAX : (int64_t)a;
}
)"},
    {.name = "mote_to_i8",
     .head = "/* Truncates and saturates; NaN gives 0. */\n",
     .function = R"(int64_t mote_to_i8(double a) {
  if (isnan(a)) return 0;
  return a <= -128.0 ? -128 : a >= 127.0 ? 127 : (int64_t)a;
}
)"},
    {.name = "mote_to_u8",
     .head = "/* Truncates and saturates; NaN gives 0. */\n",
     .function = R"(int64_t mote_to_u8(double a) {
  if (isnan(a)) return 0;
  return a <= 0.0 ? 0 : a >= 255.0 ? 255 : (int64_t)a;
}
)"},
    {.name = "mote_round_to_16_bits",
     .head =
         R"(/* The bits of a in a real format of 16 bits, rounded to nearest even: `fraction` bits are
   stored after the leading one, `least` is the exponent of the least normal number. */
)",
     .function = R"(uint16_t mote_round_to_16_bits(double a, int fraction, int least) {
  const uint32_t sign = signbit(a) ? 0x8000 : 0;
  const uint32_t infinity = (UINT32_C(0x7fff) >> fraction) << fraction;
  if (isnan(a)) return (uint16_t)(sign | infinity | UINT32_C(1) << (fraction - 1));
  if (isinf(a)) return (uint16_t)(sign | infinity);
  const int exponent = a == 0 || ilogb(a) < least ? least : ilogb(a);
  const double units = nearbyint(ldexp(fabs(a), fraction - exponent));
  const uint32_t code = ((uint32_t)(exponent - least) << fraction) + (uint32_t)units;
  return (uint16_t)(sign | (code < infinity ? code : infinity));
}
)"},
    {.name = "mote_value_of_16_bits",
     .head = "/* The value of such bits. */\n",
     .function = R"(double mote_value_of_16_bits(uint16_t bits, int fraction, int least) {
  const int code = bits & 0x7fff;
  const int exponent = code >> fraction;
  const int digits = code & ((1 << fraction) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 0x7fff >> fraction) return digits != 0 ? (double)NAN : sign * (double)INFINITY;
  if (exponent == 0) return sign * ldexp(digits, least - fraction);
  return sign * ldexp(digits + (1 << fraction), least - fraction + exponent - 1);
}
)"},
    {.name = "mote_to_f16",
     .calls = {"mote_round_to_16_bits"},
     .function = R"(uint16_t mote_to_f16(double a) { return mote_round_to_16_bits(a, 10, -14); }
)"},
    {.name = "mote_from_f16",
     .calls = {"mote_value_of_16_bits"},
     .function =
         R"(double mote_from_f16(uint16_t bits) { return mote_value_of_16_bits(bits, 10, -14); }
)"},
    {.name = "mote_to_bf16",
     .calls = {"mote_round_to_16_bits"},
     .function = R"(uint16_t mote_to_bf16(double a) { return mote_round_to_16_bits(a, 7, -126); }
)"},
    {.name = "mote_from_bf16",
     .calls = {"mote_value_of_16_bits"},
     .function =
         R"(double mote_from_bf16(uint16_t bits) { return mote_value_of_16_bits(bits, 7, -126); }
)"},
    {.name = "mote_shift_left",
     .head = "/* Shifts by less than 0 or more than 63 give 0. */\n",
     .function = R"(int64_t mote_shift_left(int64_t a, int64_t b) {
  return b < 0 || b > 63 ? 0 : (int64_t)((uint64_t)a << b);
}
)"},
    {.name = "mote_shift_right",
     .head =
         "/* The sign is kept; shifts by less than 0 or more than 63 leave nothing but it. */\n",
     .function = R"(int64_t mote_shift_right(int64_t a, int64_t b) {
  if (b < 0 || b > 63) b = 63;
  return a < 0 ? ~(~a >> b) : a >> b;
}
)"},
    {.name = "mote_philox",
     .head =
         "/* Random bits: word n % 4 of block n / 4 of Philox 4x32-10 under the key `seed`. */\n",
     .function = R"(int64_t mote_philox(int64_t seed, int64_t n) {
  const uint64_t block = (uint64_t)n / 4;
  uint32_t c[4] = {(uint32_t)block, (uint32_t)(block >> 32), 0, 0};
  uint32_t k[2] = {(uint32_t)seed, (uint32_t)((uint64_t)seed >> 32)};
  for (int round = 0; round < 10; round++) {
    const uint64_t a = UINT64_C(0xD2511F53) * c[0];
    const uint64_t b = UINT64_C(0xCD9E8D57) * c[2];
    c[0] = (uint32_t)(b >> 32) ^ c[1] ^ k[0];
    c[1] = (uint32_t)b;
    c[2] = (uint32_t)(a >> 32) ^ c[3] ^ k[1];
    c[3] = (uint32_t)a;
    k[0] += UINT32_C(0x9E3779B9);
    k[1] += UINT32_C(0xBB67AE85);
  }
  const uint32_t even = n & 2 ? c[2] : c[0];
  const uint32_t odd = n & 2 ? c[3] : c[1];
  return (int64_t)(n & 1 ? odd : even);
}
)"},
    {.name = "mote_add",
     .head = "/* Integer arithmetic wraps around. */\n",
     .function = R"(int64_t mote_add(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a + (uint64_t)b);
}
)"},
    {.name = "mote_sub", .function = R"(int64_t mote_sub(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a - (uint64_t)b);
}
)"},
    {.name = "mote_mul", .function = R"(int64_t mote_mul(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a * (uint64_t)b);
}
)"},
    {.name = "mote_neg",
     .function = R"(int64_t mote_neg(int64_t a) { return (int64_t)(0 - (uint64_t)a); }
)"},
    {.name = "mote_not", .function = R"(int64_t mote_not(int64_t a) { return ~a; }
)"},
    {.name = "mote_abs",
     .calls = {"mote_neg"},
     .function = R"(int64_t mote_abs(int64_t a) { return a < 0 ? mote_neg(a) : a; }
)"},
    {.name = "mote_sign", .function = R"(int64_t mote_sign(int64_t a) { return (a > 0) - (a < 0); }
)"},
    {.name = "mote_div",
     .calls = {"mote_neg"},
     .head = "/* Truncates towards zero; a / 0 is 0. */\n",
     .function = R"(int64_t mote_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return b == -1 ? mote_neg(a) : a / b;
}
)"},
    {.name = "mote_mod",
     .head = "/* The remainder with the sign of the divisor; a mod 0 is 0. */\n",
     .function = R"(int64_t mote_mod(int64_t a, int64_t b) {
  const int64_t r = b == 0 || b == -1 ? 0 : a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
)"},
    {.name = "mote_pow",
     .head = "/* By repeated squaring; a negative exponent gives 0, except for the bases 1 and -1. "
             "*/\n",
     .function = R"(int64_t mote_pow(int64_t a, int64_t b) {
  if (b < 0) return a == 1 ? 1 : a != -1 ? 0 : b % 2 == 0 ? 1 : -1;
  uint64_t result = 1;
  uint64_t square = (uint64_t)a;
  for (uint64_t e = (uint64_t)b; e != 0; e >>= 1) {
    if (e & 1) result *= square;
    square *= square;
  }
  return (int64_t)result;
}
)"},
    {.name = "mote_alloc",
     .head = "/* Memory for a row-major array at a multiple of 64 bytes, where no vector crosses a "
             "line of\n"
             "   the cache, or NULL; an extent below 1 makes it empty. */\n",
     .function = R"(void *mote_alloc(size_t element_size, int rank, const int64_t *extents) {
  size_t bytes = element_size;
  for (int k = 0; k < rank; k++) {
    if (extents[k] < 1) return malloc(1);
  }
  for (int k = 0; k < rank; k++) {
    if ((uint64_t)extents[k] > (SIZE_MAX - 63) / bytes) return NULL;
    bytes *= (size_t)extents[k];
  }
  return aligned_alloc(64, (bytes + 63) / 64 * 64);
}
)"},
});

}  // namespace

std::span<const Helper> reference_helpers() { return kHelpers; }

}  // namespace mote::emit
