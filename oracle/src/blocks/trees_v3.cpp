// SPDX-License-Identifier: Apache-2.0
// The loops of trees for machines with AVX2.
#include "trees.h"

namespace mote::blocks {
namespace {
constexpr std::array<FusedLoop*, kTrees> kAll = loops<4>();
}

FusedLoop* const* const kLoopsV3 = kAll.data();

}  // namespace mote::blocks
