// SPDX-License-Identifier: Apache-2.0
// The helpers that emitted kernels call, and which of them a text needs. Each mirrors one rule of
// the language (uops/src/graph/scalar.cpp) or of index arithmetic; all are static inline.
#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "c/internal.h"
#include "mote/base/characters.h"

namespace mote::emit {
namespace {

// A helper stands after those that it calls.
constexpr std::array kHelpers = std::to_array<Helper>({
    {"mote_floor_div", R"(/* Floor division of indices. */
static inline int64_t mote_floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
)"},
    {"mote_floor_mod", R"(/* a - b * floor(a / b). */
static inline int64_t mote_floor_mod(int64_t a, int64_t b) {
  const int64_t r = b == 0 || b == -1 ? 0 : a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
)"},
    {"mote_imin", R"(static inline int64_t mote_imin(int64_t a, int64_t b) { return a < b ? a : b; }
)"},
    {"mote_imax", R"(static inline int64_t mote_imax(int64_t a, int64_t b) { return a > b ? a : b; }
)"},
    {"mote_min", R"(/* The lesser; a NaN in either argument wins. */
static inline double mote_min(double a, double b) { return a < b || isnan(a) ? a : b; }
)"},
    {"mote_max", R"(/* The greater; a NaN in either argument wins. */
static inline double mote_max(double a, double b) { return a > b || isnan(a) ? a : b; }
)"},
    {"mote_real_sign",
     R"(static inline double mote_real_sign(double a) { return a > 0 ? 1.0 : a < 0 ? -1.0 : a; }
)"},
    {"mote_real_mod", R"(/* The remainder with the sign of the divisor. */
static inline double mote_real_mod(double a, double b) {
  const double r = fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
)"},
    {"mote_to_i64", R"(/* Truncates and saturates; NaN gives 0. */
static inline int64_t mote_to_i64(double a) {
  if (isnan(a)) return 0;
  if (a <= -9223372036854775808.0) return INT64_MIN;
  return a >= 9223372036854775808.0 ? INT64_MAX : (int64_t)a;
}
)"},
    {"mote_to_i32", R"(/* Truncates and saturates; NaN gives 0. */
static inline int64_t mote_to_i32(double a) {
  if (isnan(a)) return 0;
  if (a <= -2147483648.0) return INT32_MIN;
  return a >= 2147483647.0 ? INT32_MAX : (int64_t)a;
}
)"},
    {"mote_to_i8", R"(/* Truncates and saturates; NaN gives 0. */
static inline int64_t mote_to_i8(double a) {
  if (isnan(a)) return 0;
  return a <= -128.0 ? -128 : a >= 127.0 ? 127 : (int64_t)a;
}
)"},
    {"mote_to_u8", R"(/* Truncates and saturates; NaN gives 0. */
static inline int64_t mote_to_u8(double a) {
  if (isnan(a)) return 0;
  return a <= 0.0 ? 0 : a >= 255.0 ? 255 : (int64_t)a;
}
)"},
    {"mote_round_to_16_bits",
     R"(/* The bits of a in a real format of 16 bits, rounded to nearest even: `fraction` bits are
   stored after the leading one, `least` is the exponent of the least normal number. */
static inline uint16_t mote_round_to_16_bits(double a, int fraction, int least) {
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
    {"mote_value_of_16_bits", R"(/* The value of such bits. */
static inline double mote_value_of_16_bits(uint16_t bits, int fraction, int least) {
  const int code = bits & 0x7fff;
  const int exponent = code >> fraction;
  const int digits = code & ((1 << fraction) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 0x7fff >> fraction) return digits != 0 ? (double)NAN : sign * (double)INFINITY;
  if (exponent == 0) return sign * ldexp(digits, least - fraction);
  return sign * ldexp(digits + (1 << fraction), least - fraction + exponent - 1);
}
)"},
    {"mote_to_f16",
     R"(static inline uint16_t mote_to_f16(double a) { return mote_round_to_16_bits(a, 10, -14); }
)"},
    {"mote_from_f16",
     R"(static inline double mote_from_f16(uint16_t bits) { return mote_value_of_16_bits(bits, 10, -14); }
)"},
    {"mote_to_bf16",
     R"(static inline uint16_t mote_to_bf16(double a) { return mote_round_to_16_bits(a, 7, -126); }
)"},
    {"mote_from_bf16",
     R"(static inline double mote_from_bf16(uint16_t bits) { return mote_value_of_16_bits(bits, 7, -126); }
)"},
    {"mote_shift_left", R"(/* Shifts by less than 0 or more than 63 give 0. */
static inline int64_t mote_shift_left(int64_t a, int64_t b) {
  return b < 0 || b > 63 ? 0 : (int64_t)((uint64_t)a << b);
}
)"},
    {"mote_shift_right",
     R"(/* The sign is kept; shifts by less than 0 or more than 63 leave nothing but it. */
static inline int64_t mote_shift_right(int64_t a, int64_t b) {
  if (b < 0 || b > 63) b = 63;
  return a < 0 ? ~(~a >> b) : a >> b;
}
)"},
    {"mote_philox",
     R"(/* Random bits: word n % 4 of block n / 4 of Philox 4x32-10 under the key `seed`. */
static inline int64_t mote_philox(int64_t seed, int64_t n) {
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
    {"mote_add", R"(/* Integer arithmetic wraps around. */
static inline int64_t mote_add(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a + (uint64_t)b);
}
)"},
    {"mote_sub", R"(static inline int64_t mote_sub(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a - (uint64_t)b);
}
)"},
    {"mote_mul", R"(static inline int64_t mote_mul(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a * (uint64_t)b);
}
)"},
    {"mote_neg", R"(static inline int64_t mote_neg(int64_t a) { return (int64_t)(0 - (uint64_t)a); }
)"},
    {"mote_not", R"(static inline int64_t mote_not(int64_t a) { return ~a; }
)"},
    {"mote_abs", R"(static inline int64_t mote_abs(int64_t a) { return a < 0 ? mote_neg(a) : a; }
)"},
    {"mote_sign", R"(static inline int64_t mote_sign(int64_t a) { return (a > 0) - (a < 0); }
)"},
    {"mote_div", R"(/* Truncates towards zero; a / 0 is 0. */
static inline int64_t mote_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return b == -1 ? mote_neg(a) : a / b;
}
)"},
    {"mote_mod", R"(/* The remainder with the sign of the divisor; a mod 0 is 0. */
static inline int64_t mote_mod(int64_t a, int64_t b) {
  const int64_t r = b == 0 || b == -1 ? 0 : a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
)"},
    {"mote_pow",
     R"(/* By repeated squaring; a negative exponent gives 0, except for the bases 1 and -1. */
static inline int64_t mote_pow(int64_t a, int64_t b) {
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
    {"mote_alloc", R"(/* Memory for a row-major array, or NULL; an extent below 1 makes it empty. */
static inline void *mote_alloc(size_t element_size, int rank, const int64_t *extents) {
  size_t bytes = element_size;
  for (int k = 0; k < rank; k++) {
    if (extents[k] < 1) return malloc(1);
  }
  for (int k = 0; k < rank; k++) {
    if ((uint64_t)extents[k] > SIZE_MAX / bytes) return NULL;
    bytes *= (size_t)extents[k];
  }
  return malloc(bytes);
}
)"},
});

bool calls(std::string_view text, std::string_view function) {
  if (function.starts_with("reduction("))
    return text.find(std::string(function) + " :") != std::string_view::npos;
  for (std::size_t at = text.find(function); at != std::string_view::npos;
       at = text.find(function, at + 1)) {
    const bool starts = at == 0 || !is_word(text[at - 1]);
    const std::size_t end = at + function.size();
    if (starts && end < text.size() && text[end] == '(') return true;
  }
  return false;
}

/// About threads and memory of the host.
bool is_for_host(const Helper& h) {
  return h.name == "mote_alloc" || h.name == "mote_thread" || h.name == "mote_threads" ||
         h.name.starts_with("reduction(");
}

/// mote_cuda.h has it for a GPU.
bool is_one_instruction(const Helper& helper) {
  return helper.name == "mote_float_from_f16" || helper.name == "mote_float_to_f16" ||
         helper.name == "mote_float_to_bf16";
}

std::string on_the_host(std::string_view text) {
  return "#if defined(MOTE_CUDA_HOST)\n" + std::string(text) + "#endif\n";
}

}  // namespace

bool is_helper(const std::string& function) {
  const auto is_it = [&](const Helper& helper) { return function == helper.name; };
  return std::ranges::any_of(kHelpers, is_it) || std::ranges::any_of(fast_helpers(), is_it) ||
         std::ranges::any_of(bound_helpers(), is_it);
}

std::string helpers_for(const std::string& text, Target target) {
  std::vector<Helper> all(kHelpers.begin(), kHelpers.end());
  for (const Helper& helper : bound_helpers()) all.push_back(helper);
  for (const Helper& helper : fast_helpers()) all.push_back(helper);
  if (target == Target::cuda) std::erase_if(all, is_for_host);
  std::vector<char> needed(all.size(), 0);
  for (std::size_t k = all.size(); k-- > 0;) {
    bool is_needed = calls(text, all[k].name);
    for (std::size_t user = k + 1; user < all.size(); ++user)
      is_needed = is_needed || (needed[user] != 0 && calls(all[user].text, all[k].name));
    needed[k] = is_needed ? 1 : 0;
  }
  std::string out;
  for (std::size_t k = 0; k < all.size(); ++k)
    if (needed[k] != 0)
      out += (out.empty() ? "" : "\n") + (target == Target::cuda && is_one_instruction(all[k])
                                              ? on_the_host(all[k].text)
                                              : std::string(all[k].text));
  return out;
}

}  // namespace mote::emit

namespace mote {

std::string emit_c_prelude() {
  std::string out;
  for (const auto& helper : emit::kHelpers)
    out += (out.empty() ? "" : "\n") + std::string(helper.text);
  return out;
}

}  // namespace mote
