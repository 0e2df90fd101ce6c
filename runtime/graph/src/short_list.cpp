// SPDX-License-Identifier: Apache-2.0
#include "mote/graph/short_list.h"

namespace mote {

void ShortList::reserve(std::size_t room) {
  if (room <= room_) return;
  auto* more = new std::uint32_t[room];
  std::ranges::copy(*this, more);
  release();
  more_ = more;
  room_ = static_cast<std::uint32_t>(room);
}

void ShortList::resize(std::size_t size, std::uint32_t value) {
  reserve(size);
  if (size > size_) std::fill(end(), begin() + size, value);
  size_ = static_cast<std::uint32_t>(size);
}

/// The values may be entries of this list.
void ShortList::assign(std::span<const std::uint32_t> values) {
  if (values.size() > room_) {
    size_ = 0;
    reserve(values.size());
  }
  std::copy(values.begin(), values.end(), data());
  size_ = static_cast<std::uint32_t>(values.size());
}

void ShortList::erase(const std::uint32_t* first, const std::uint32_t* last) {
  std::copy(last, std::as_const(*this).end(), begin() + (first - begin()));
  size_ -= static_cast<std::uint32_t>(last - first);
}

}  // namespace mote
