// For std::visit: a visitor made of one lambda for each alternative.
#pragma once

#include "mote/base/export.h"

namespace mote MOTE_API {

template <typename... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <typename... F>
Overloaded(F...) -> Overloaded<F...>;

}  // namespace MOTE_API
