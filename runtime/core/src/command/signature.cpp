// SPDX-License-Identifier: Apache-2.0
#include "command/signature.h"

#include <algorithm>

namespace mote {
namespace {

constexpr int kAxisBits = 12;
constexpr int kAxesInWord = 5;

/// Returns 0 … 8 for these extents, then two classes for each power of two; the result is below
/// 2^8.
std::uint64_t extent_class(std::int64_t extent) {
  const auto e = static_cast<std::uint64_t>(extent);
  if (e <= 8) return e;
  const auto bits = static_cast<unsigned>(std::bit_width(e));  // at least 4
  return 9 + 2 * (bits - 4U) + (e >> (bits - 2U) & 1U);
}

std::uint64_t stride_class(std::int64_t stride) {
  return stride == 0 ? 0 : stride == 1 || stride == -1 ? 1 : 2;
}

std::uint64_t axis_class(const DLTensor& dl, int axis) {
  const std::int64_t stride = dl.strides[axis];
  std::int64_t end = 0;
  const bool joins = axis + 1 < dl.ndim &&
                     !__builtin_mul_overflow(dl.strides[axis + 1], dl.shape[axis + 1], &end) &&
                     end == stride;
  return extent_class(dl.shape[axis]) | stride_class(stride) << 8 |
         static_cast<std::uint64_t>(stride < 0) << 10 | static_cast<std::uint64_t>(joins) << 11;
}

}  // namespace

std::optional<CallKind> call_kind(std::span<const std::uint64_t> words) {
  if (words.size() < kCallWords) return std::nullopt;
  const std::uint64_t word = words[1];
  if (word >> 1 >= all_dtypes().size()) return std::nullopt;
  int operands = 0;
  std::size_t at = kCallWords;
  for (; at < words.size(); ++operands) {
    const auto rank = static_cast<int>(words[at] & 0xFFU);
    if (rank > kMaxAxes) return std::nullopt;
    at += 1 + static_cast<std::size_t>((rank + kAxesInWord - 1) / kAxesInWord);
  }
  if (at != words.size() || operands <= std::popcount(words[0])) return std::nullopt;
  return CallKind{words[0], static_cast<DType>(word >> 1), (word & 1U) != 0};
}

Signature::Signature(const Command& command, const CallTensors& tensors)
    : hash_(command.hash()),
      words_(kCallWords + 4 * tensors.operands.size()),
      room_(words_.get().data()) {
  push(tensors.input_mask);
  push(static_cast<std::uint64_t>(tensors.instance) << 1 |
       static_cast<std::uint64_t>(tensors.in_place));
  for (const CallOperand& o : tensors.operands) {
    const DLTensor& dl = *o.tensor;
    const auto location = static_cast<std::uint64_t>(dl.device.device_type - kDLCPU) << 24 |
                          static_cast<std::uint64_t>(dl.device.device_id) << 32;
    push(location | std::uint64_t{dl.dtype.code} << 16 | std::uint64_t{dl.dtype.bits} << 8 |
         static_cast<std::uint64_t>(dl.ndim));
    for (int begin = 0; begin < dl.ndim; begin += kAxesInWord) {
      std::uint64_t word = 0;
      for (int axis = begin; axis < std::min(begin + kAxesInWord, dl.ndim); ++axis)
        word |= axis_class(dl, axis) << (kAxisBits * (axis - begin));
      push(word);
    }
  }
}

std::uint64_t hash_of(const Command& command, std::span<const std::uint64_t> words) {
  std::uint64_t hash = command.hash();
  for (const std::uint64_t word : words) hash = Signature::mixed(hash, word);
  return hash;
}

}  // namespace mote
