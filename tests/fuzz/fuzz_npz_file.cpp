// SPDX-License-Identifier: Apache-2.0
// Fuzzes .npz files: a file that is read is written, stored and deflated, as files that read back
// as the same tensors, except where a name can be read but not written.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fuzz.h"
#include "mote/npz/npz.h"
#include "same_tensor.h"

namespace {

bool same_tensors(const mote::NamedTensors& a, const mote::NamedTensors& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
    return x.first == y.first && mote::fuzz::same_tensor(x.second, y.second);
  });
}

std::optional<std::vector<std::byte>> written(const mote::NamedTensors& tensors,
                                              mote::Compression compression) {
  try {
    return mote::to_npz(tensors, compression);
  } catch (const mote::Error& error) {
    mote::fuzz::require_one_line(error);
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  mote::NamedTensors parsed;
  try {
    parsed = mote::parse_npz(std::as_bytes(std::span(data, size)));
  } catch (const mote::Error& error) {
    mote::fuzz::require_one_line(error);
    return 0;
  }
  for (const auto compression : {mote::Compression::stored, mote::Compression::deflated})
    if (const auto bytes = written(parsed, compression))
      mote::fuzz::must_not_throw([&] {
        mote::fuzz::require(same_tensors(mote::parse_npz(*bytes), parsed), "npz", "other tensors");
      });
  return 0;
}
