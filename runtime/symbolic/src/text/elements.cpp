// SPDX-License-Identifier: Apache-2.0
// Writes and reads the elements of constants.
#include "text/elements.h"

#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include "mote/symbolic/view.h"
#include "tensor/number_text.h"
#include "tensor/view.h"

namespace mote::graph_text {
namespace {

/// The significant digits that tell all values of a real of 16 bits apart.
constexpr int kNarrowDigits = 5;

/// Moves the index to the next element in row-major order; false behind the last.
bool next_element(AxisList& index, const AxisList& shape) {
  for (int axis = shape.size(); axis-- > 0;) {
    if (++index[axis] < shape[axis]) return true;
    index[axis] = 0;
  }
  return false;
}

/// Finds the shortest text of a value of one dtype.
class RealText {
 public:
  explicit RealText(DType dtype) : dtype_(dtype), scratch_(dtype, {}) {}

  std::string operator()(double value) const {
    if (dtype_ == DType::f64 || !std::isfinite(value)) return real_text(value);
    std::array<char, 32> buffer{};
    const auto text = [&](char* end) { return std::string(buffer.data(), end); };
    char* const last = buffer.data() + buffer.size();
    if (dtype_ == DType::f32) {
      const auto shortest = std::to_chars(buffer.data(), last, static_cast<float>(value));
      if (is_read_back(buffer.data(), shortest.ptr, value)) return text(shortest.ptr);
      return real_text(value);
    }
    const std::string exact = real_text(value);
    for (int digits = 1; digits <= kNarrowDigits; ++digits) {
      const auto rounded =
          std::to_chars(buffer.data(), last, value, std::chars_format::general, digits);
      if (!is_read_back(buffer.data(), rounded.ptr, value)) continue;
      const std::string found = text(rounded.ptr);
      return found.size() < exact.size() ? found : exact;
    }
    return exact;
  }

 private:
  bool is_read_back(const char* begin, const char* end, double value) const {
    double read = 0;
    if (std::from_chars(begin, end, read).ec != std::errc()) return false;
    scratch_.set({}, read);
    const double back = scratch_.real_at({});
    return back == value && std::signbit(back) == std::signbit(value);
  }

  DType dtype_;
  Tensor scratch_;
};

/// Returns an uninitialised tensor with the form's strides, on the host.
Tensor with_strides(const TensorForm& form, TextCursor& text, std::size_t at, std::int64_t& gaps) {
  const std::int64_t bytes = checked_span(form.dtype, form.shape, form.strides);
  const auto size = static_cast<std::int64_t>(size_of(form.dtype));
  const std::int64_t gap = bytes - element_count(form) * size;
  if (gap > gaps)
    text.fail(at, "the gaps between the elements of " + to_string(form) +
                      " take too much memory: " + std::to_string(gap) + " bytes");
  gaps -= std::max<std::int64_t>(gap, 0);
  std::int64_t lowest = 0;
  for (int axis = 0; axis < form.shape.size(); ++axis)
    lowest += std::min<std::int64_t>(0, (form.shape[axis] - 1) * form.strides[axis]);
  return reshaped_view(Tensor(form.dtype, {bytes / size}), form.shape, form.strides,
                       bytes == 0 ? 0 : -lowest);
}

void read_element(TextCursor& text, const Tensor& x, const AxisList& index) {
  const std::size_t at = text.position();
  const Literal number = read_number(text);
  const DType dtype = x.dtype();
  if (is_real(dtype)) {
    x.set(index, number.real);
    if (std::isfinite(number.real) && !std::isfinite(x.real_at(index)))
      text.fail(at, number.text + " is beyond the values of " + std::string(name(dtype)));
    return;
  }
  const IntegerRange range = integer_range(dtype);
  if (!number.is_integer || number.integer < range.least || number.integer > range.greatest)
    text.fail(at, "expected an integer in " + std::to_string(range.least) + ".." +
                      std::to_string(range.greatest) + " for " + std::string(name(dtype)) +
                      ", got " + number.text);
  x.set(index, number.integer);
}

}  // namespace

std::vector<std::string> element_texts(const Tensor& x) {
  std::vector<std::string> texts;
  if (x.element_count() == 0) return texts;
  Tensor host = x;
  if (x.device().device_type != kDLCPU) {
    host = Tensor(x.dtype(), x.shape());
    copy(x, host);
  }
  const RealText real(x.dtype());
  const AxisList shape = x.shape();
  AxisList index = shape;
  for (int axis = 0; axis < index.size(); ++axis) index[axis] = 0;
  do
    texts.push_back(is_real(x.dtype()) ? real(host.real_at(index))
                                       : std::to_string(host.integer_at(index)));
  while (next_element(index, shape));
  return texts;
}

Literal read_number(TextCursor& text) {
  const bool negative = text.accept("-");
  return text.literal(negative);
}

Tensor read_elements(TextCursor& text, const TensorForm& form, std::size_t text_size,
                     std::int64_t& gaps) {
  const std::size_t at = text.position();
  const std::int64_t count = element_count(form);
  const auto few = [&] {
    text.fail(at, to_string(form) + " needs " + std::to_string(count) + " elements, got fewer");
  };
  if (static_cast<std::uint64_t>(count) > text_size) few();
  const Tensor x = with_strides(form, text, at, gaps);
  AxisList index = form.shape;
  for (int axis = 0; axis < index.size(); ++axis) index[axis] = 0;
  text.open("[");
  for (std::int64_t k = 0; k < count; ++k) {
    if (text.peek("]")) few();
    if (k > 0) text.expect(",");
    read_element(text, x, index);
    next_element(index, form.shape);
  }
  if (text.peek(",") || (count == 0 && !text.peek("]")))
    text.fail(at, to_string(form) + " needs " + std::to_string(count) + " elements, got more");
  text.close("]");
  return x;
}

}  // namespace mote::graph_text
