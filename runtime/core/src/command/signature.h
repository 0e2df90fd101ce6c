// SPDX-License-Identifier: Apache-2.0
// The key of a measured time: the command, which inputs are present, dtypes, and for each axis of
// each operand the class of its extent and of its stride. Extents are alike if they are equal up to
// 8, and beyond that if they agree in the highest bit and the next one. Strides are alike if both
// are 0, both are 1 or -1, or neither is either, if they have one sign, and if both continue the
// next axis or neither does.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <span>

#include "command/check_call.h"
#include "tensor/small_array.h"

namespace mote {

/// The words for the call: its mask of inputs, and its dtype with whether it is in place.
inline constexpr std::size_t kCallWords = 2;

/// The words of a signature: kCallWords for the call, and for each operand one, plus one for every
/// five axes.
class Signature {
 public:
  Signature(const Command& command, const CallTensors& tensors);

  std::uint64_t hash() const { return hash_; }
  std::span<const std::uint64_t> words() const { return {room_, count_}; }

 private:
  void push(std::uint64_t word) {
    room_[count_++] = word;
    hash_ = mixed(hash_, word);
  }
  /// Mixes a word into the hash; the product does not depend on earlier words.
  static std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
    const std::uint64_t product = word * 0x9E3779B97F4A7C15U;
    return std::rotl(hash, 5) ^ product ^ product >> 32;
  }
  friend std::uint64_t hash_of(const Command&, std::span<const std::uint64_t>);

  std::uint64_t hash_;
  std::size_t count_ = 0;
  SmallArray<std::uint64_t, 4 * kFewOperands + kCallWords> words_;
  std::uint64_t* room_;
};

std::uint64_t hash_of(const Command& command, std::span<const std::uint64_t> words);

/// The content of the call's words.
struct CallKind {
  TensorMask input_mask;
  DType instance;
  bool in_place;
};
/// Reads the call's words; nothing if the words are no signature.
std::optional<CallKind> call_kind(std::span<const std::uint64_t> words);

}  // namespace mote
