// SPDX-License-Identifier: Apache-2.0
// Emits the text of the functions that the threads of a block compute together.
#include "block_helpers.h"

#include <array>
#include <string_view>

namespace mote::cuda {
namespace {

/// The template of mote_block_sum() and its like: @ stands for the name, T for the type, J for the
/// combination of a and b.
constexpr std::string_view kBlock =
    R"(/* Combines the values of a block's threads; each thread gets the result. All of them call it. */
MOTE_DEVICE T @(T a) {
  __shared__ T parts[32];
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    const T b = __shfl_xor_sync(0xffffffffu, a, lanes);
    a = J;
  }
  __syncthreads(); /* the parts of an earlier call have been read */
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = a;
  __syncthreads();
  a = parts[0];
  for (unsigned k = 1; k < blockDim.x / 32; k++) {
    const T b = parts[k];
    a = J;
  }
  return a;
}
)";

}  // namespace

std::string block_helpers(std::set<std::string>& names) {
  struct Kind {
    const char *name, *type, *combined;
    const char* calls = nullptr;
  };
  static constexpr std::array<Kind, 8> kKinds = {
      {{"mote_block_sumf", "float", "a + b"},
       {"mote_block_prodf", "float", "a * b"},
       {"mote_block_maxf", "float", "mote_maxf(a, b)", "mote_maxf"},
       {"mote_block_minf", "float", "mote_minf(a, b)", "mote_minf"},
       {"mote_block_sum", "double", "a + b"},
       {"mote_block_prod", "double", "a * b"},
       {"mote_block_max", "double", "mote_max(a, b)", "mote_max"},
       {"mote_block_min", "double", "mote_min(a, b)", "mote_min"}}};
  std::string out;
  for (const auto& [name, type, combined, calls] : kKinds) {
    if (!names.contains(name)) continue;
    if (calls != nullptr) names.insert(calls);
    out += "\n";
    for (std::size_t k = 0; k < kBlock.size(); ++k) {
      const bool stands_alone = k == 0 || kBlock[k - 1] == ' ' || kBlock[k - 1] == '(';
      const bool is_letter =
          stands_alone && k + 1 < kBlock.size() && (kBlock[k + 1] == ' ' || kBlock[k + 1] == ';');
      if (kBlock[k] == '@')
        out += name;
      else if (kBlock[k] == 'T' && is_letter)
        out += type;
      else if (kBlock[k] == 'J' && is_letter)
        out += combined;
      else
        out += kBlock[k];
    }
  }
  return out;
}

}  // namespace mote::cuda
