// SPDX-License-Identifier: Apache-2.0
// The loops of trees for every machine.
#include "trees.h"

namespace mote::blocks {
namespace {
constexpr std::array<FusedLoop*, kTrees> kAll = loops<2>();
}

FusedLoop* const* const kLoops = kAll.data();

}  // namespace mote::blocks
