// SPDX-License-Identifier: Apache-2.0
// Reads forms: "f32[2,3]:1,2@2:0".
#include "text/read_form.h"

#include <string>
#include <vector>

#include "mote/base/error.h"
#include "mote/base/near_names.h"
#include "mote/runtime/status.h"
#include "mote/runtime/tensor.h"

namespace mote::graph_text {
namespace {

/// The values that DLPack's enumeration of devices can hold.
constexpr std::int64_t kMaxDeviceType = 31;

AxisList read_extents(TextCursor& text) {
  AxisList shape;
  text.open("[");
  while (!text.peek("]")) {
    if (shape.size() > 0) text.expect(",");
    const std::size_t at = text.position();
    if (text.peek("?"))
      text.fail(at,
                "expected an extent, got '?': only a whole shape may be left open, as in f32[?]");
    const std::int64_t extent = text.integer();
    if (extent < 0)
      text.fail(at, "expected an extent of at least 0, got " + std::to_string(extent));
    if (shape.size() == kMaxAxes)
      text.fail(at, "a tensor has at most " + std::to_string(kMaxAxes) + " axes, got one more");
    shape.push_back(extent);
  }
  text.close("]");
  return shape;
}

DLDevice read_device(TextCursor& text) {
  const auto number = [&](std::int64_t least, std::int64_t greatest, const char* what) {
    const std::size_t at = text.position();
    const std::int64_t value = text.integer();
    if (value < least || value > greatest)
      text.fail(at, "expected " + std::string(what) + " in " + std::to_string(least) + ".." +
                        std::to_string(greatest) + ", got " + std::to_string(value));
    return value;
  };
  DLDevice device{};
  device.device_type = static_cast<DLDeviceType>(number(1, kMaxDeviceType, "a type of device"));
  text.expect(":");
  device.device_id = static_cast<std::int32_t>(number(0, kMaxDeviceId, "a device's number"));
  return device;
}

}  // namespace

DType read_dtype(TextCursor& text) {
  const std::size_t at = text.position();
  const std::string word = text.word("a dtype");
  if (const std::optional<DType> dtype = parse_dtype(word)) return *dtype;
  std::vector<std::string> known;
  for (const DType dtype : all_dtypes()) known.emplace_back(name(dtype));
  text.fail(at, "unknown dtype '" + word.substr(0, 32) + "'" + did_you_mean(word, known));
}

ReadForm read_form(TextCursor& text) {
  const std::size_t at = text.position();
  const DType dtype = read_dtype(text);
  if (text.accept("[?]")) return {{dtype, {0}}, false};
  const AxisList shape = read_extents(text);
  try {
    AxisList strides = checked_strides(dtype, shape);
    if (text.accept(":"))
      for (int axis = 0; axis < shape.size(); ++axis) {
        if (axis > 0) text.expect(",");
        strides[axis] = text.integer();
      }
    const DLDevice device = text.accept("@") ? read_device(text) : DLDevice{kDLCPU, 0};
    return {{dtype, shape, strides, device}, true};
  } catch (const StatusError& e) {
    throw StatusError(e.status(), text.message(at, e.what()));
  }
}

}  // namespace mote::graph_text
