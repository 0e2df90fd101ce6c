// SPDX-License-Identifier: Apache-2.0
// Fuzzes .npy files: a file that is read is written as a file that reads back as the same elements,
// bit for bit.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "fuzz.h"
#include "mote/runtime/npy.h"
#include "same_tensor.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::optional<mote::Tensor> parsed;
  try {
    parsed = mote::parse_npy(std::as_bytes(std::span(data, size)));
  } catch (const mote::Error& error) {
    mote::fuzz::require_one_line(error);
    return 0;
  }
  mote::fuzz::must_not_throw([&] {
    const mote::Tensor again = mote::parse_npy(mote::to_npy(*parsed));
    mote::fuzz::require(mote::fuzz::same_tensor(again, *parsed), describe(*parsed),
                        describe(again));
  });
  return 0;
}
