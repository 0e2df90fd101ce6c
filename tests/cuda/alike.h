// Whether a call as mote declares it is the one that a header of the toolkit declares.
#pragma once

#include <type_traits>

namespace mote::test {

template <typename Ours, typename Theirs>
constexpr bool is_alike() {
  return sizeof(Ours) == sizeof(Theirs) && std::is_pointer_v<Ours> == std::is_pointer_v<Theirs>;
}

/// The same count of arguments, each of the same size, and a pointer where that is one; results
/// too.
template <typename Ours, typename... OurArguments, typename Theirs, typename... TheirArguments>
constexpr bool are_alike(Ours (*)(OurArguments...), Theirs (*)(TheirArguments...)) {
  if constexpr (sizeof...(OurArguments) != sizeof...(TheirArguments))
    return false;
  else
    return is_alike<Ours, Theirs>() && (is_alike<OurArguments, TheirArguments>() && ...);
}

}  // namespace mote::test
