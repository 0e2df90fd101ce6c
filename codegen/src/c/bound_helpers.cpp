// SPDX-License-Identifier: Apache-2.0
// The helpers that only error bounds call: the digits of doubles. They are apart from the others,
// so that the generated kernels do not depend on them.
#include <array>

#include "c/internal.h"

namespace mote::emit {
namespace {

// A helper stands after those that it calls.
constexpr std::array kBoundHelpers = std::to_array<Helper>({
    {"mote_bits_of", R"(/* The bits of a double, and the double of such bits. */
static inline uint64_t mote_bits_of(double a) {
  const union { double real; uint64_t bits; } both = {.real = a};
  return both.bits;
}
)"},
    {"mote_double_of", R"(static inline double mote_double_of(uint64_t bits) {
  const union { uint64_t bits; double real; } both = {.bits = bits};
  return both.real;
}
)"},
    {"mote_next_up", R"(/* The next double above. */
static inline double mote_next_up(double a) {
  if (isnan(a) || a == (double)INFINITY) return a;
  if (a == 0) return mote_double_of(1);
  return mote_double_of(a > 0 ? mote_bits_of(a) + 1 : mote_bits_of(a) - 1);
}
)"},
    {"mote_next_down",
     R"(static inline double mote_next_down(double a) { return -mote_next_up(-a); }
)"},
    {"mote_lowest_bit",
     R"(/* The greatest power of two of which a is a multiple; 0 gives infinity, infinity and NaN 0. */
static inline double mote_lowest_bit(double a) {
  const uint64_t bits = mote_bits_of(a);
  const uint64_t exponent = bits >> 52 & 0x7ff;
  const uint64_t fraction = bits & UINT64_C(0xfffffffffffff);
  if (a == 0) return (double)INFINITY;
  if (exponent == 0x7ff) return 0;
  if (exponent == 0) return mote_double_of(fraction & (0 - fraction));
  const double whole = mote_double_of(exponent << 52);
  return fraction == 0 ? whole : mote_double_of(exponent << 52 | (fraction & (0 - fraction))) - whole;
}
)"},
});

}  // namespace

std::span<const Helper> bound_helpers() { return kBoundHelpers; }

}  // namespace mote::emit

namespace mote {

std::string emit_c_bound_prelude() {
  std::string out;
  for (const emit::Helper& helper : emit::bound_helpers())
    out += (out.empty() ? "" : "\n") + std::string(helper.text);
  return out;
}

}  // namespace mote
