// SPDX-License-Identifier: Apache-2.0
#include "registry/size_program.h"

#include <algorithm>
#include <string_view>

#include "mote/base/characters.h"
#include "mote/base/integer_arithmetic.h"
#include "mote/runtime/status.h"

namespace mote {
namespace {

const mote_size_step* program_of(const mote_op_tensor& tensor, int axis) {
  return tensor.programs != nullptr ? tensor.programs[axis] : nullptr;
}

bool is_name(std::string_view text) {
  return !text.empty() && !is_digit(text.front()) && std::ranges::all_of(text, is_word);
}

bool pushes(std::int32_t code) {
  return code == MOTE_SIZE_NUMBER || code == MOTE_SIZE_NAME || code == MOTE_SIZE_PARAM;
}

std::int64_t index_of(std::vector<std::string>& names, const char* name) {
  const auto at = std::ranges::find(names, std::string_view(name));
  const auto index = at - names.begin();
  if (at == names.end()) names.emplace_back(name);
  return index;
}

/// Arithmetic that detects overflow.
struct Checked {
  bool overflows = false;
  std::int64_t add(std::int64_t a, std::int64_t b) {
    overflows |= __builtin_add_overflow(a, b, &a);
    return a;
  }
  std::int64_t mul(std::int64_t a, std::int64_t b) {
    overflows |= __builtin_mul_overflow(a, b, &a);
    return a;
  }
};

}  // namespace

const char* size_fault(const mote_op_tensor& tensor, int axis) {
  const mote_size_step* step = program_of(tensor, axis);
  if (step == nullptr)
    return is_name(tensor.axes[axis]) ? nullptr : "an axis that is not a size needs a program";
  int values = 0;
  for (; step->code != MOTE_SIZE_END; ++step) {
    if (step->code < 0 || step->code > MOTE_SIZE_MAX) return "an axis's program has unknown steps";
    const bool is_named = step->code == MOTE_SIZE_NAME || step->code == MOTE_SIZE_PARAM;
    if (is_named && step->name == nullptr) return "an axis's program has a step without a name";
    if (!pushes(step->code) && values < 2) return "an axis's program lacks values";
    values += pushes(step->code) ? 1 : -1;
  }
  return values == 1 ? nullptr : "an axis's program does not leave one value";
}

void SizeProgram::fail(const std::string& what) const {
  throw StatusError(MOTE_INVALID, "axis '" + std::string(text_) + "'" + what);
}

SizeProgram::SizeProgram(const mote_op_tensor& tensor, int axis, SizeNames& names)
    : text_(tensor.axes[axis]) {
  if (const char* fault = size_fault(tensor, axis)) fail(std::string(": ") + fault);
  const mote_size_step* step = program_of(tensor, axis);
  if (step == nullptr) {
    steps_.push_back({MOTE_SIZE_NAME, index_of(names.sizes, text_)});
    return;
  }
  for (; step->code != MOTE_SIZE_END; ++step) {
    const bool is_size = step->code == MOTE_SIZE_NAME, is_param = step->code == MOTE_SIZE_PARAM;
    steps_.push_back({step->code, is_size    ? index_of(names.sizes, step->name)
                                  : is_param ? index_of(names.params, step->name)
                                             : step->number});
  }
}

LinearForm SizeProgram::combined(std::int32_t code, const LinearForm& a,
                                 const LinearForm& b) const {
  Checked c;
  LinearForm r;
  r.size = a.size >= 0 ? a.size : b.size;
  if (code == MOTE_SIZE_ADD) {
    r.scale = c.add(a.scale, b.scale);
    r.offset = c.add(a.offset, b.offset);
  } else if (code == MOTE_SIZE_MULTIPLY) {
    r.scale = c.add(c.mul(a.scale, b.offset), c.mul(a.offset, b.scale));
    r.offset = c.mul(a.offset, b.offset);
  } else if (code == MOTE_SIZE_MIN || code == MOTE_SIZE_MAX) {
    r.offset = code == MOTE_SIZE_MIN ? std::min(a.offset, b.offset) : std::max(a.offset, b.offset);
  } else {
    if (b.offset < 1) fail(" divides by " + std::to_string(b.offset));
    r.offset =
        code == MOTE_SIZE_DIVIDE ? floor_div(a.offset, b.offset) : floor_mod(a.offset, b.offset);
  }
  if (c.overflows) fail(" overflows");
  return r;
}

std::optional<LinearForm> SizeProgram::evaluate(std::span<const std::optional<std::int64_t>> sizes,
                                                std::span<const std::int64_t> params) const {
  std::vector<LinearForm> stack;
  for (const auto& [code, value] : steps_) {
    const auto index = static_cast<std::size_t>(value);
    if (code == MOTE_SIZE_NUMBER) {
      stack.push_back({.scale = 0, .offset = value, .size = -1});
    } else if (code == MOTE_SIZE_PARAM) {
      stack.push_back({.scale = 0, .offset = params[index], .size = -1});
    } else if (code == MOTE_SIZE_NAME) {
      stack.push_back(sizes[index] ? LinearForm{0, *sizes[index], -1}
                                   : LinearForm{1, 0, static_cast<int>(index)});
    } else {
      const LinearForm b = stack.back();
      stack.pop_back();
      LinearForm& a = stack.back();
      const bool both = a.size >= 0 && b.size >= 0;
      const bool any = a.size >= 0 || b.size >= 0;
      if (any && code != MOTE_SIZE_ADD && (both || code != MOTE_SIZE_MULTIPLY)) return std::nullopt;
      if (both && a.size != b.size) return std::nullopt;
      a = combined(code, a, b);
    }
  }
  return stack.back();
}

}  // namespace mote
