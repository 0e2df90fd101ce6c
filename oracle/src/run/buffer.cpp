// SPDX-License-Identifier: Apache-2.0
// Handles raw memory by element size; the meaning of bits matters only when values are compared.
#include "run/buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "mote/base/dlpack.h"
#include "mote/base/error.h"
#include "mote/uops/element.h"
#include "run/words.h"

namespace mote {
namespace {

constexpr std::size_t kAlignment = 64;
/// The maximum size of a region that is poisoned and compared as a whole.
constexpr std::size_t kWholeBytes = std::size_t{1} << 20U;
/// The maximum size of a buffer's own memory that is allocated; a larger buffer maps pages, which
/// exist once they are touched.
constexpr std::size_t kMaxDenseBytes = std::size_t{64} << 20U;

constexpr std::int64_t kBlockElements = 1024;

/// A large negative number that the reals of 16 bits hold.
constexpr double kLargeShort = -35680;

/// The first element of the range that is another word, or its end.
template <typename Word>
std::int64_t first_unlike(const Word* p, const ElementRange& r, Word word) {
  for (std::int64_t block = r.begin; block < r.end; block += kBlockElements) {
    const std::int64_t end = std::min(block + kBlockElements, r.end);
    Word other = 0;  // the bits in which any element of the block differs
    for (std::int64_t k = block; k < end; ++k) other |= p[k] ^ word;
    if (other != 0) return std::find_if(p + block, p + end, [&](Word x) { return x != word; }) - p;
  }
  return r.end;
}

}  // namespace

void Dense::Free::operator()(void* p) const { std::free(p); }

Dense::Dense(DType dtype, std::int64_t count) : dtype_(dtype), count_(count) {
  const std::size_t bytes = static_cast<std::size_t>(count) * size_of(dtype);
  const std::size_t rounded = (bytes / kAlignment + 1) * kAlignment;
  data_.reset(std::aligned_alloc(kAlignment, rounded));
  if (!data_) throw std::bad_alloc();
}

Number Dense::at(std::int64_t linear) const { return load_element(data(), dtype_, linear); }

void Dense::set(std::int64_t linear, const Number& n) { store_element(data(), dtype_, linear, n); }

bool Dense::is_zero(std::int64_t linear) const {
  const Number n = at(linear);
  return n.is_real() ? n.real() == 0 : n.integer() == 0;
}

bool Dense::same(std::int64_t linear, const Dense& other) const {
  return same_at(linear, other, linear);
}

bool Dense::same_elements(std::int64_t a, std::int64_t b) const { return same_at(a, *this, b); }

bool Dense::same_at(std::int64_t a, const Dense& other, std::int64_t b) const {
  const bool equal_bits = with_words(dtype_, data(), [&](const auto* words) {
    return words[a] == static_cast<decltype(words)>(other.data())[b];
  });
  if (equal_bits || !is_real(dtype_)) return equal_bits;
  return mote::same(at(a), other.at(b));
}

std::uint64_t poison_bits(Poison poison, Role role, DType dtype) {
  const bool first = poison == Poison::first;
  const std::uint64_t other = role == Role::input ? 0x2 : 0;
  const bool nan = first == (role == Role::output);
  if (is_narrow(dtype)) {
    std::uint16_t bits = 0;
    store_element(&bits, dtype, 0, nan ? std::numeric_limits<double>::quiet_NaN() : kLargeShort);
    return (bits | (nan ? 0xa5U : 1U)) ^ other;
  }
  if (dtype == DType::f32) return (nan ? 0x7fc0a5a5U : 0xcb5a5a5bU) ^ other;
  if (dtype == DType::f64) return (nan ? 0x7ff8a5a5a5a5a5a5ULL : 0xc15a5a5a5a5a5a5bULL) ^ other;
  if (size_of(dtype) == 1) return (first ? 0xa5U : 0x5aU) ^ other;
  const std::uint64_t pattern = first ? 0xa5a5a5a5a5a5a5a5ULL : 0x5a5a5a5a5a5a5a5bULL;
  return (pattern & ~std::uint64_t{0} >> (64 - 8 * size_of(dtype))) ^ other;
}

Buffer::Buffer(const CaseTensor& tensor, Role role, const Region& region)
    : dtype_(tensor.dtype),
      shape_(tensor.shape),
      placed_(place(tensor.shape, tensor.layout)),
      role_(role) {
  tensor_.device = {kDLCPU, 0};
  tensor_.ndim = static_cast<int>(shape_.size());
  tensor_.dtype = to_dlpack(tensor.dtype);
  tensor_.shape = shape_.data();
  tensor_.strides = placed_.strides.data();
  is_dense_ = tensor.layout.repeated.empty() && reach() + 1 == volume(shape_) &&
              std::ranges::all_of(placed_.strides, [](std::int64_t s) { return s >= 0; });
  tensor_.byte_offset = static_cast<std::uint64_t>(placed_.offset) * size_of(tensor.dtype);
  if (region.memory != nullptr) set_region(region);
}

Buffer::Buffer(const CaseTensor& tensor, Role role) : Buffer(tensor, role, Region{}) { allocate(); }

void Buffer::Unmap::operator()(void* p) const { munmap(p, bytes); }

void Buffer::allocate() {
  const std::int64_t count = placed_.span + 2 * kGuardElements;
  const std::size_t bytes = static_cast<std::size_t>(count) * size_of(dtype_);
  if (bytes <= kMaxDenseBytes) {
    own_.emplace(dtype_, count);
    return set_region({own_->data(), count, kGuardElements});
  }
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  own_pages_ = {pages, Unmap{bytes}};
  set_region({pages, count, kGuardElements});
}

void Buffer::set_region(const Region& region) {
  region_ = region;
  const std::size_t size = size_of(dtype_);
  tensor_.data = static_cast<char*>(region.memory) + static_cast<std::size_t>(region.lead) * size;
  near_ = {{0, region.count}};
  if (static_cast<std::size_t>(region.count) * size <= kWholeBytes) return;
  near_ = near_ranges(shape_, placed_.strides, size);
  for (ElementRange& r : near_)
    r = {std::max<std::int64_t>(r.begin + first(), 0), std::min(r.end + first(), region.count)};
}

std::int64_t Buffer::reach() const {
  if (volume(shape_) == 0) return -1;
  std::int64_t last = 0;
  for (std::size_t k = 0; k < shape_.size(); ++k) last += (shape_[k] - 1) * placed_.strides[k];
  return last;
}

void Buffer::poison(Poison pattern) {
  with_words(dtype_, region_.memory, [&](auto* p) {
    using Word = std::remove_pointer_t<decltype(p)>;
    for (const ElementRange& r : near_)
      std::fill(p + r.begin, p + r.end, static_cast<Word>(poison_bits(pattern, role_, dtype_)));
  });
}

void Buffer::write(const Dense& values) {
  with_words(dtype_, region_.memory, [&](auto* p) {
    const auto* from = static_cast<const std::remove_pointer_t<decltype(p)>*>(values.data());
    auto* to = p + first();
    for_each_element(shape_, placed_.strides,
                     [&](std::int64_t linear, std::int64_t at) { to[at] = from[linear]; });
  });
}

void Buffer::read(Dense& values) const {
  with_words(dtype_, static_cast<const void*>(region_.memory), [&](const auto* p) {
    auto* to = static_cast<std::remove_const_t<std::remove_pointer_t<decltype(p)>>*>(values.data());
    const auto* from = p + first();
    for_each_element(shape_, placed_.strides,
                     [&](std::int64_t linear, std::int64_t at) { to[linear] = from[at]; });
  });
}

bool Buffer::holds(const Dense& values) const {
  return with_words(dtype_, static_cast<const void*>(region_.memory), [&](const auto* p) {
    const auto* expected = static_cast<decltype(p)>(values.data());
    const auto* from = p + first();
    std::remove_cvref_t<decltype(*p)> other = 0;  // the bits in which any element differs
    for_each_element(shape_, placed_.strides, [&](std::int64_t linear, std::int64_t at) {
      other |= from[at] ^ expected[linear];
    });
    return other == 0;
  });
}

std::optional<std::int64_t> Buffer::damage(Poison pattern) {
  return with_words(dtype_, region_.memory, [&](auto* p) -> std::optional<std::int64_t> {
    using Word = std::remove_pointer_t<decltype(p)>;
    const auto poisoned = static_cast<Word>(poison_bits(pattern, role_, dtype_));
    const std::int64_t end = first() + volume(shape_);
    if (!is_dense_)
      for_each_element(shape_, placed_.strides,
                       [&](std::int64_t, std::int64_t at) { p[first() + at] = poisoned; });
    for (const ElementRange& r : near_) {
      // Elements without gaps between them are left out.
      const ElementRange before{r.begin, is_dense_ ? std::min(r.end, first()) : r.end};
      const ElementRange behind{is_dense_ ? std::max(r.begin, end) : r.end, r.end};
      for (const ElementRange& part : {before, behind}) {
        const std::int64_t k = first_unlike(p, part, poisoned);
        if (k < part.end) return k - first();
      }
    }
    return std::nullopt;
  });
}

DLTensor dense_tensor(Dense& values, std::vector<std::int64_t>& shape) {
  DLTensor t{};
  t.data = values.data();
  t.device = {kDLCPU, 0};
  t.ndim = static_cast<int>(shape.size());
  t.dtype = to_dlpack(values.dtype());
  t.shape = shape.data();
  return t;
}

}  // namespace mote
