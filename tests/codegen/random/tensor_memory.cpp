// SPDX-License-Identifier: Apache-2.0
// Strided memory of one tensor: writes and reads its values, and proves that nothing else changed.
#include "tensor_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "mote/base/error.h"
#include "mote/uops/element.h"

namespace mote::test {
namespace {

/// The patterns of bytes that belong to no element: a small number, and NaN.
constexpr std::byte kSmall{0xA7}, kNan{0xFF};

std::size_t page_size() {
  static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

void for_each_index(const std::vector<std::int64_t>& shape,
                    const std::function<void(const std::vector<std::int64_t>&)>& f) {
  std::int64_t count = element_count(shape);
  std::vector<std::int64_t> index(shape.size(), 0);
  for (; count > 0; --count) {
    f(index);
    for (std::size_t k = shape.size(); k-- > 0 && ++index[k] == shape[k];) index[k] = 0;
  }
}

/// Returns true if the values do not change along the axis, of which there are several.
bool repeats(const Array& a, std::size_t axis) {
  if (a.values.empty() || a.shape[axis] < 2) return false;
  std::size_t step = 1;
  for (std::size_t k = axis + 1; k < a.shape.size(); ++k)
    step *= static_cast<std::size_t>(a.shape[k]);
  const auto extent = static_cast<std::size_t>(a.shape[axis]);
  for (std::size_t k = 0; k < a.values.size(); ++k)
    if (!identical(a.values[k], a.values[k - k / step % extent * step])) return false;
  return true;
}

/// Returns row-major strides in a random order of the axes, with room between elements and rows;
/// some axes run backwards, and axes along which an input repeats may have stride 0.
std::vector<std::int64_t> random_strides(const Array& a, bool is_dense, Rng& rng) {
  std::vector<std::size_t> order(a.shape.size());
  std::iota(order.begin(), order.end(), 0U);
  if (rng.chance(is_dense ? 20 : 40)) rng.shuffle(order);
  const bool padded = !is_dense && rng.chance(60);
  std::vector<std::int64_t> strides(a.shape.size());
  std::int64_t next = padded ? 1 + rng.below(2) : 1;
  for (std::size_t k = order.size(); k-- > 0;) {
    strides[order[k]] = next;
    if (repeats(a, order[k]) && rng.chance(70))
      strides[order[k]] = 0;
    else
      next = next * std::max<std::int64_t>(a.shape[order[k]], 1) + (padded ? rng.below(3) : 0);
    if (!is_dense && rng.chance(8)) strides[order[k]] = -strides[order[k]];
  }
  return strides;
}

}  // namespace

TensorMemory::Pages::Pages(std::size_t open) {
  const std::size_t page = page_size();
  bytes = (open + page - 1) / page * page + 2 * page;
  void* all = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) throw Error(fmt::format("cannot map {} bytes", bytes));
  begin = static_cast<std::byte*>(all);
  if (mprotect(begin + page, bytes - 2 * page, PROT_READ | PROT_WRITE) != 0)
    throw Error(fmt::format("cannot open {} bytes", bytes));
}

TensorMemory::Pages::Pages(Pages&& other) noexcept
    : begin(std::exchange(other.begin, nullptr)), bytes(other.bytes) {}

TensorMemory::Pages& TensorMemory::Pages::operator=(Pages&& other) noexcept {
  std::swap(begin, other.begin);
  std::swap(bytes, other.bytes);
  return *this;
}

TensorMemory::Pages::~Pages() {
  if (begin != nullptr) munmap(begin, bytes);
}

TensorMemory::TensorMemory(const Array& a, bool is_dense, Rng& rng)
    : dtype_(a.dtype), shape_(a.shape), strides_(random_strides(a, is_dense, rng)) {
  const std::size_t size = size_of(dtype_);
  std::int64_t least = 0, last = 0;
  for (std::size_t k = 0; k < shape_.size(); ++k) {
    const std::int64_t end = std::max<std::int64_t>(shape_[k] - 1, 0) * strides_[k];
    (end < 0 ? least : last) += end;
  }
  const std::size_t extent = size * static_cast<std::size_t>(last - least + 1);
  pages_ = Pages(extent + 3 * size);
  const std::size_t room = open().size() - extent;
  const std::size_t before = rng.chance(50)   ? room
                             : rng.chance(40) ? 0
                                              : size * static_cast<std::size_t>(1 + rng.below(2));
  first_ = before + size * static_cast<std::size_t>(-least);
  origin_ = rng.chance(50) ? 0 : first_;
  std::ranges::fill(open(), rng.chance(50) ? kNan : kSmall);
  std::size_t next = 0;
  if (!a.values.empty())
    for_each_index(shape_, [&](const std::vector<std::int64_t>& index) {
      store_element(&open()[offset(index)], dtype_, 0, a.values[next++]);
    });
  initial_.assign(open().begin(), open().end());
}

std::span<std::byte> TensorMemory::open() const {
  return {pages_.begin + page_size(), pages_.bytes - 2 * page_size()};
}

std::size_t TensorMemory::offset(const std::vector<std::int64_t>& index) const {
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < index.size(); ++k) sum += index[k] * strides_[k];
  return static_cast<std::size_t>(static_cast<std::int64_t>(first_) +
                                  static_cast<std::int64_t>(size_of(dtype_)) * sum);
}

DLTensor TensorMemory::view() {
  DLTensor t{};
  t.data = open().data() + origin_;
  t.device = {kDLCPU, 0};
  t.ndim = static_cast<int>(shape_.size());
  t.dtype = to_dlpack(dtype_);
  t.shape = shape_.data();
  t.strides = strides_.data();
  t.byte_offset = first_ - origin_;
  return t;
}

Array TensorMemory::values() const {
  Array a{dtype_, shape_, {}};
  for_each_index(shape_, [&](const std::vector<std::int64_t>& index) {
    a.values.push_back(load_element(&open()[offset(index)], dtype_, 0));
  });
  return a;
}

void TensorMemory::check_untouched(bool is_input) const {
  const std::span<const std::byte> bytes = open();
  std::vector<bool> written(bytes.size(), false);
  if (!is_input)
    for_each_index(shape_, [&](const std::vector<std::int64_t>& index) {
      for (std::size_t k = 0; k < size_of(dtype_); ++k) written[offset(index) + k] = true;
    });
  if (is_input && std::ranges::equal(bytes, initial_)) return;
  for (std::size_t k = 0; k < bytes.size(); ++k)
    if (!written[k] && bytes[k] != initial_[k])
      throw Error(is_input ? "the kernel wrote to an input"
                           : "the kernel wrote between or behind the elements of an output");
}

namespace {

/// Calls with the first `inputs` tensors to read, and the other requested ones (bit k: output k) to
/// write.
void call(const std::function<mote_status(const mote_call&)>& kernel, const Program& p,
          std::vector<TensorMemory>& memory, std::size_t inputs, const Trial& t,
          std::uint64_t asked) {
  std::vector<DLTensor> views;
  for (TensorMemory& m : memory) views.push_back(m.view());
  std::vector<const DLTensor*> in;
  std::vector<DLTensor*> out;
  for (std::size_t v = 0; v < views.size(); ++v)
    v < inputs ? in.push_back(&views[v])
               : out.push_back((asked >> (v - inputs) & 1U) != 0 ? &views[v] : nullptr);
  std::vector<mote_param> params;
  for (const auto& [name, value] : t.params) {
    const bool real = value.is_real();
    params.push_back({name.c_str(), real, real ? 0 : value.integer(), real ? value.real() : 0});
  }
  std::string message(512, '\0');
  mote_call call{};
  call.size = sizeof(mote_call);
  call.op = p.name.c_str();
  call.input_count = static_cast<std::int32_t>(in.size());
  call.output_count = static_cast<std::int32_t>(out.size());
  call.param_count = static_cast<std::int32_t>(params.size());
  call.inputs = in.data();
  call.outputs = out.data();
  call.params = params.data();
  call.message = message.data();
  call.message_bytes = message.size();
  if (const mote_status status = kernel(call); status != MOTE_OK)
    throw Error(
        fmt::format("the kernel returned {}: {}", static_cast<int>(status), message.c_str()));
}

}  // namespace

std::vector<Array> run_on_memory(const Program& p, const std::vector<Array>& inputs, const Trial& t,
                                 const std::function<mote_status(const mote_call&)>& kernel) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (const Array& a : inputs) shapes.push_back(a.shape);
  const Binding binding = mote::bind(p, shapes, t.params);

  Rng rng(t.seed * 7 + 3);
  const bool is_dense = rng.chance(50);
  std::vector<TensorMemory> memory;
  for (const Array& a : inputs) memory.emplace_back(a, is_dense, rng);
  for (std::size_t o = 0; o < p.outputs.size(); ++o)
    memory.emplace_back(Array{p.outputs[o].value.dtype(), binding.outputs[o], {}}, is_dense, rng);
  const std::uint64_t all = (std::uint64_t{1} << p.outputs.size()) - 1;
  const std::uint64_t some =
      t.seed % 3 == 0 ? all : (t.seed / 3 * 0x9e3779b97f4a7c15U >> 32U) & all;
  for (const std::uint64_t asked : {some, all & ~some})
    if (asked != 0) call(kernel, p, memory, inputs.size(), t, asked);
  std::vector<Array> results;
  for (std::size_t m = 0; m < memory.size(); ++m) {
    memory[m].check_untouched(m < inputs.size());
    if (m >= inputs.size()) results.push_back(memory[m].values());
  }
  return results;
}

}  // namespace mote::test
