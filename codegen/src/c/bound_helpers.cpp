// SPDX-License-Identifier: Apache-2.0
// The helpers that only error bounds call, which take doubles apart. They have a table of their
// own, so that the generated kernels do not depend on them.
#include <array>

#include "c/helpers.h"

namespace mote::emit {
namespace {

// A helper stands after those that it calls.
constexpr std::array kBoundHelpers = std::to_array<Helper>({
    {.name = "mote_bits_of",
     .head = "/* The bits of a double, and the double of such bits. */\n",
     .function = R"(uint64_t mote_bits_of(double a) {
  const union { double real; uint64_t bits; } both = {.real = a};
  return both.bits;
}
)"},
    {.name = "mote_double_of", .function = R"(double mote_double_of(uint64_t bits) {
  const union { uint64_t bits; double real; } both = {.bits = bits};
  return both.real;
}
)"},
    {.name = "mote_next_up",
     .calls = {"mote_bits_of", "mote_double_of"},
     .head = "/* The next double above. */\n",
     .function = R"(double mote_next_up(double a) {
  if (isnan(a) || a == (double)INFINITY) return a;
  if (a == 0) return mote_double_of(1);
  return mote_double_of(a > 0 ? mote_bits_of(a) + 1 : mote_bits_of(a) - 1);
}
)"},
    {.name = "mote_next_down",
     .calls = {"mote_next_up"},
     .function = R"(double mote_next_down(double a) { return -mote_next_up(-a); }
)"},
    {.name = "mote_lowest_bit",
     .calls = {"mote_bits_of", "mote_double_of"},
     .head = "/* The greatest power of two of which a is a multiple; 0 gives infinity, infinity "
             "and NaN 0. */\n",
     .function = R"(double mote_lowest_bit(double a) {
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
