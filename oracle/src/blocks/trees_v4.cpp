// SPDX-License-Identifier: Apache-2.0
// The loops of trees for machines with AVX-512.
#include "trees.h"

namespace mote::blocks {
namespace {
constexpr std::array<FusedLoop*, kTrees> kAll = loops<8>();
}

FusedLoop* const* const kLoopsV4 = kAll.data();

}  // namespace mote::blocks
