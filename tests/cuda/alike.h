// SPDX-License-Identifier: Apache-2.0
// Compares the declaration of a call in mote with that of a toolkit's header.
#pragma once

#include <type_traits>

namespace mote::test {

template <typename Ours, typename Theirs>
constexpr bool is_alike() {
  using OursAt = std::remove_pointer_t<Ours>;
  using TheirsAt = std::remove_pointer_t<Theirs>;
  if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    if constexpr (std::is_arithmetic_v<OursAt> && std::is_arithmetic_v<TheirsAt>)
      return is_alike<OursAt, TheirsAt>();
    else
      return true;
  } else if constexpr (std::is_void_v<Ours> || std::is_void_v<Theirs>) {
    return std::is_same_v<Ours, Theirs>;
  } else {
    return std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> && sizeof(Ours) == sizeof(Theirs) &&
           std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs>;
  }
}

/// True if both have the same number of arguments with the same sizes, and a pointer or a real
/// number at the same positions; pointers to numbers point to alike numbers. The same holds for
/// results.
template <typename Ours, typename... OurArguments, typename Theirs, typename... TheirArguments>
constexpr bool are_alike(Ours (*)(OurArguments...), Theirs (*)(TheirArguments...)) {
  if constexpr (sizeof...(OurArguments) != sizeof...(TheirArguments))
    return false;
  else
    return is_alike<Ours, Theirs>() && (is_alike<OurArguments, TheirArguments>() && ...);
}

}  // namespace mote::test
