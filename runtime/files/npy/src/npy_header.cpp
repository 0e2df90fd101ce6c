// SPDX-License-Identifier: Apache-2.0
// A small parser for the dictionary literal that NumPy writes, and the types that mote has.
#include "npy_header.h"

#include <array>
#include <charconv>
#include <optional>

#include "mote/runtime/status.h"

namespace mote {
namespace {

struct TypeCode {
  std::string_view code;  ///< the code without the byte order
  DType dtype;
};
constexpr std::array<TypeCode, 9> kTypes = {{{"f4", DType::f32},
                                             {"f8", DType::f64},
                                             {"f2", DType::f16},
                                             {"V2", DType::bf16},
                                             {"i8", DType::i64},
                                             {"i4", DType::i32},
                                             {"i1", DType::i8},
                                             {"u1", DType::u8},
                                             {"b1", DType::boolean}}};

[[noreturn]] void fail_header(const std::string& what) {
  throw StatusError(MOTE_INVALID, "npy: header: " + what);
}

/// Reads the literal from left to right.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  /// Takes the text if it comes next, after spaces.
  bool take(std::string_view text) {
    skip_spaces();
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  void expect(std::string_view text) {
    if (!take(text))
      fail_header("expected \"" + std::string(text) + "\", got \"" +
                  std::string(rest_.substr(0, 16)) + "\"");
  }
  std::string quoted() {
    const std::string_view quote = take("'") ? "'" : "\"";
    if (quote == "\"") expect(quote);
    const std::size_t end = rest_.find(quote);
    if (end == std::string_view::npos) fail_header("a string has no end");
    std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return text;
  }
  std::int64_t integer() {
    skip_spaces();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc())
      fail_header("expected a 64-bit integer, got \"" + std::string(rest_.substr(0, 24)) + "\"");
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }
  bool at_end() {
    skip_spaces();
    return rest_.empty();
  }

 private:
  void skip_spaces() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n'))
      rest_.remove_prefix(1);
  }

  std::string_view rest_;
};

void read_type(const std::string& descr, NpyHeader& header) {
  const char order = descr.empty() ? '?' : descr.front();
  if (order == '<' || order == '>' || order == '|' || order == '=') {
    for (const TypeCode& type : kTypes) {
      if (descr.substr(1) != type.code) continue;
      header.dtype = type.dtype;
      header.big_endian = order == '>';
      return;
    }
  }
  std::string known;
  for (const TypeCode& type : kTypes) known += (known.empty() ? "" : ", ") + std::string(type.code);
  fail_header("element type '" + descr + "' is none that mote has: " + known);
}

bool boolean(Cursor& cursor) {
  if (cursor.take("True")) return true;
  cursor.expect("False");
  return false;
}

AxisList shape(Cursor& cursor) {
  AxisList extents;
  cursor.expect("(");
  while (!cursor.take(")")) {
    if (extents.size() == kMaxAxes) fail_header("more than " + std::to_string(kMaxAxes) + " axes");
    const std::int64_t extent = cursor.integer();
    if (extent < 0) fail_header("negative extent " + std::to_string(extent));
    extents.push_back(extent);
    if (cursor.take(",")) continue;
    cursor.expect(")");
    break;
  }
  return extents;
}

}  // namespace

NpyHeader parse_npy_header(std::string_view text) {
  Cursor cursor(text);
  NpyHeader header;
  bool descr = false;
  bool order = false;
  bool extents = false;
  cursor.expect("{");
  while (!cursor.take("}")) {
    const std::string key = cursor.quoted();
    bool* seen = key == "descr"           ? &descr
                 : key == "fortran_order" ? &order
                 : key == "shape"         ? &extents
                                          : nullptr;
    if (seen == nullptr) fail_header("unknown key '" + key + "'");
    if (*seen) fail_header("key '" + key + "' stands there twice");
    *seen = true;
    cursor.expect(":");
    if (seen == &descr) read_type(cursor.quoted(), header);
    if (seen == &order) header.fortran_order = boolean(cursor);
    if (seen == &extents) header.shape = shape(cursor);
    if (cursor.take(",")) continue;
    cursor.expect("}");
    break;
  }
  if (!cursor.at_end()) fail_header("text after the dictionary");
  if (!descr || !order || !extents)
    fail_header(std::string("no key '") +
                (!descr   ? "descr"
                 : !order ? "fortran_order"
                          : "shape") +
                "'");
  return header;
}

std::string to_string(const NpyHeader& header) {
  std::string code;
  for (const TypeCode& type : kTypes)
    if (type.dtype == header.dtype) code = type.code;
  const bool bytes = size_of(header.dtype) == 1;
  std::string text = std::string("{'descr': '") + (bytes ? '|' : '<') + code +
                     "', 'fortran_order': False, 'shape': (";
  for (int axis = 0; axis < header.shape.size(); ++axis)
    text += (axis > 0 ? ", " : "") + std::to_string(header.shape[axis]);
  return text + (header.shape.size() == 1 ? ",), }" : "), }");
}

}  // namespace mote
