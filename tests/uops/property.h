// SPDX-License-Identifier: Apache-2.0
// Tests properties over a given number of random byte strings, and draws decisions from one:
// building a test case from bytes lets RapidCheck shrink the bytes, and with them the case.
#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

namespace mote::test {

/// Reads decisions off a byte string; past its end each decision is the first option.
class Choices {
 public:
  explicit Choices(const std::vector<std::uint8_t>& bytes) : bytes_(bytes) {}
  int below(int count) { return at_ < bytes_.size() ? bytes_[at_++] % count : 0; }
  int between(int low, int high) { return low + below(high - low + 1); }
  bool done() const { return at_ >= bytes_.size(); }

 private:
  const std::vector<std::uint8_t>& bytes_;
  std::size_t at_ = 0;
};

/// Runs `property(Choices&)` (bool) on `count` byte strings. A failure prints the smallest bytes
/// and the RC_PARAMS that replay it. Each string has `size` bytes.
template <class Property>
bool holds(const std::string& name, int count, const Property& property, std::size_t size = 240) {
  rc::detail::TestMetadata metadata;
  metadata.id = metadata.description = name;
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = count;
  const auto testable = [&property, size] {
    const auto bytes = *rc::gen::container<std::vector<std::uint8_t>>(
        size, rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint8_t>()));
    Choices choices(bytes);
    RC_ASSERT(property(choices));
  };
  const auto result = rc::detail::checkTestable(testable, metadata, params);
  const bool passed = result.template is<rc::detail::SuccessResult>();
  if (!passed) rc::detail::printResultMessage(result, std::cerr);
  return passed;
}

}  // namespace mote::test
