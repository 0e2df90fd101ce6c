// SPDX-License-Identifier: Apache-2.0
// Strided memory of one tensor: writes and reads its values, and proves that nothing else changed.
#include "tensor_memory.h"

#include <functional>
#include <numeric>

#include "mote/base/error.h"
#include "mote/uops/element.h"

namespace mote::test {
namespace {

constexpr std::byte kPattern{0xA7};

void for_each_index(const std::vector<std::int64_t>& shape,
                    const std::function<void(const std::vector<std::int64_t>&)>& f) {
  std::int64_t count = element_count(shape);
  std::vector<std::int64_t> index(shape.size(), 0);
  for (; count > 0; --count) {
    f(index);
    for (std::size_t k = shape.size(); k-- > 0 && ++index[k] == shape[k];) index[k] = 0;
  }
}

/// Returns row-major strides in a random order of the axes, with room between elements and rows.
std::vector<std::int64_t> random_strides(const std::vector<std::int64_t>& shape, Rng& rng) {
  std::vector<std::size_t> order(shape.size());
  std::iota(order.begin(), order.end(), 0U);
  if (rng.chance(40)) rng.shuffle(order);
  const bool padded = rng.chance(60);
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t next = padded ? 1 + rng.below(2) : 1;
  for (std::size_t k = order.size(); k-- > 0;) {
    strides[order[k]] = next;
    next = next * std::max<std::int64_t>(shape[order[k]], 1) + (padded ? rng.below(3) : 0);
  }
  return strides;
}

}  // namespace

TensorMemory::TensorMemory(const Array& a, Rng& rng)
    : dtype_(a.dtype), shape_(a.shape), strides_(random_strides(a.shape, rng)) {
  const std::size_t size = size_of(dtype_);
  std::int64_t last = 0;
  for (std::size_t k = 0; k < shape_.size(); ++k)
    last += std::max<std::int64_t>(shape_[k] - 1, 0) * strides_[k];
  first_ = size * static_cast<std::size_t>(rng.below(3));
  bytes_.assign(first_ + size * static_cast<std::size_t>(last + 2), kPattern);
  std::size_t next = 0;
  if (!a.values.empty())
    for_each_index(shape_, [&](const std::vector<std::int64_t>& index) {
      store_element(&bytes_[offset(index)], dtype_, 0, a.values[next++]);
    });
  initial_ = bytes_;
}

std::size_t TensorMemory::offset(const std::vector<std::int64_t>& index) const {
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < index.size(); ++k) sum += index[k] * strides_[k];
  return first_ + size_of(dtype_) * static_cast<std::size_t>(sum);
}

DLTensor TensorMemory::view() {
  DLTensor t{};
  t.data = bytes_.data();
  t.device = {kDLCPU, 0};
  t.ndim = static_cast<int>(shape_.size());
  t.dtype = to_dlpack(dtype_);
  t.shape = shape_.data();
  t.strides = strides_.data();
  t.byte_offset = first_;
  return t;
}

Array TensorMemory::values() const {
  Array a{dtype_, shape_, {}};
  for_each_index(shape_, [&](const std::vector<std::int64_t>& index) {
    a.values.push_back(load_element(&bytes_[offset(index)], dtype_, 0));
  });
  return a;
}

void TensorMemory::check_untouched(bool is_input) const {
  std::vector<bool> written(bytes_.size(), false);
  if (!is_input)
    for_each_index(shape_, [&](const std::vector<std::int64_t>& index) {
      for (std::size_t k = 0; k < size_of(dtype_); ++k) written[offset(index) + k] = true;
    });
  for (std::size_t k = 0; k < bytes_.size(); ++k)
    if (!written[k] && bytes_[k] != initial_[k])
      throw Error(is_input ? "the kernel wrote to an input"
                           : "the kernel wrote between or behind the elements of an output");
}

}  // namespace mote::test
