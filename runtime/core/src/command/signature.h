// SPDX-License-Identifier: Apache-2.0
// What measured times are remembered by: the command, which inputs are there, dtypes, and for each
// axis of each operand the class of its extent and of its stride. Extents are alike if they are
// equal up to 8, beyond that if they agree in the highest bit and the next one; strides, if both
// are 0, 1 or neither, of one sign, and both go on where the next axis ends or neither does.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <span>

#include "command/check_call.h"
#include "tensor/small_array.h"

namespace mote {

/// Those of the call: its mask of inputs, and dtype and whether it is in place.
inline constexpr std::size_t kCallWords = 2;

/// Words of a signature: kCallWords for the call, and for each operand one, and one for each five
/// axes.
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
  /// The product waits for no earlier word.
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

/// What the words of the call say.
struct CallKind {
  TensorMask input_mask;
  DType instance;
  bool in_place;
};
/// Nothing for words that are no signature.
std::optional<CallKind> call_kind(std::span<const std::uint64_t> words);

}  // namespace mote
