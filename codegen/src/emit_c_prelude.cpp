// The helpers that emitted kernels call, and which of them a text needs. Each mirrors one rule of
// the language (uops/src/scalar.cpp) or of index arithmetic; all are static inline.
#include <array>
#include <string_view>
#include <vector>

#include "emit_c_internal.h"

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

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

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

}  // namespace

std::string helpers_for(const std::string& text) {
  std::vector<Helper> all(kHelpers.begin(), kHelpers.end());
  for (const Helper& helper : fast_helpers()) all.push_back(helper);
  std::vector<char> needed(all.size(), 0);
  for (std::size_t k = all.size(); k-- > 0;) {
    bool is_needed = calls(text, all[k].name);
    for (std::size_t user = k + 1; user < all.size(); ++user)
      is_needed = is_needed || (needed[user] != 0 && calls(all[user].text, all[k].name));
    needed[k] = is_needed ? 1 : 0;
  }
  std::string out;
  for (std::size_t k = 0; k < all.size(); ++k)
    if (needed[k] != 0) out += (out.empty() ? "" : "\n") + std::string(all[k].text);
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
