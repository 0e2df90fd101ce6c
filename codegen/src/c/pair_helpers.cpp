// SPDX-License-Identifier: Apache-2.0
// The helpers of gen kernels that add products of integers in pairs. They stand only in texts that
// call them, since the header of the processor's instructions is long.
#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "c/helpers.h"

namespace mote::emit {
namespace {

/// The instructions for vectors of a size, by the names of immintrin.h.
struct PairInstructions {
  int bytes;
  const char* type;         ///< of a vector; empty: there are no such instructions
  const char* prefix;       ///< of the intrinsics
  const char* has_sum;      ///< the macros of processors that add the products to a sum
  const char* has_product;  ///< of those that add both products
};

constexpr std::array kInstructions = std::to_array<PairInstructions>({
    {8, "", "", "", ""},
    {16, "__m128i", "_mm", "defined(__AVX512VNNI__) && defined(__AVX512VL__)", "defined(__SSE2__)"},
    {32, "__m256i", "_mm256", "defined(__AVX512VNNI__) && defined(__AVX512VL__)",
     "defined(__AVX2__)"},
    {64, "__m512i", "_mm512", "defined(__AVX512VNNI__)", "defined(__AVX512BW__)"},
});

std::string body_of(const PairInstructions& i) {
  constexpr const char* kPortable =
      "  return sum + (all >> 16) * (b >> 16) + (all << 16 >> 16) * (b << 16 >> 16);\n";
  if (*i.type == '\0') return kPortable;
  return fmt::format(
      "#if {0}\n"
      "  return (mote_lanes_{1}){2}_dpwssd_epi32(({3})sum, ({3})all, ({3})b);\n"
      "#elif {4}\n"
      "  return sum + (mote_lanes_{1}){2}_madd_epi16(({3})all, ({3})b);\n"
      "#else\n{5}#endif\n",
      i.has_sum, i.bytes, i.prefix, i.type, i.has_product, kPortable);
}

std::string text_of(const PairInstructions& i) {
  const std::string text = fmt::format(
      "typedef int32_t mote_lanes_{0} __attribute__((vector_size({0})));\n"
      "static inline mote_lanes_{0} mote_add_pairs_{0}(mote_lanes_{0} sum, int32_t a, "
      "mote_lanes_{0} b) {{\n"
      "  const mote_lanes_{0} all = (mote_lanes_{0}){{0}} + a;\n{1}}}\n",
      i.bytes, body_of(i));
  return i.bytes > 16 ? fmt::format("#if MOTE_VECTOR_BYTES >= {}\n{}#endif\n", i.bytes, text)
                      : text;
}

constexpr Helper kPair = {.name = "mote_pair",
                          .head = R"(#ifdef __SSE2__
#include <immintrin.h>
#endif

/* Two adjacent integers of 16 bits. The functions below return each lane of the sum, and
 * a0 b0 + a1 b1 for the pair a and the lane's pair in b. */
)",
                          .function = R"(int32_t mote_pair(const int16_t *first) {
  int32_t pair;
  memcpy(&pair, first, sizeof pair);
  return pair;
}
)"};

}  // namespace

std::span<const Helper> pair_helpers() {
  static const std::vector<std::pair<std::string, std::string>> texts = [] {
    std::vector<std::pair<std::string, std::string>> all;
    for (const PairInstructions& i : kInstructions)
      all.emplace_back(fmt::format("mote_add_pairs_{}", i.bytes), text_of(i));
    return all;
  }();
  static const std::vector<Helper> helpers = [] {
    std::vector<Helper> all = {kPair};
    for (const auto& [name, text] : texts)
      all.push_back(
          {.name = name, .storage = Storage::none, .calls = {"mote_pair"}, .function = text});
    return all;
  }();
  return helpers;
}

}  // namespace mote::emit
