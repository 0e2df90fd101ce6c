// For std::visit: a visitor made of one lambda for each alternative.
#pragma once

namespace mote {

template <typename... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <typename... F>
Overloaded(F...) -> Overloaded<F...>;

}  // namespace mote
