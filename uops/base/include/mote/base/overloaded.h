// SPDX-License-Identifier: Apache-2.0
// Makes a visitor for std::visit from one lambda for each alternative.
#pragma once

#include "mote/base/export.h"

namespace MOTE_API mote {

template <typename... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <typename... F>
Overloaded(F...) -> Overloaded<F...>;

}  // namespace mote
