// SPDX-License-Identifier: Apache-2.0
// Fuzzes case text: a case prints as text that parses to an equal case. Cases of program files are
// left out, since they would read any path that the fuzzer writes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "fuzz.h"
#include "mote/base/error.h"
#include "mote/oracle/case.h"
#include "mote/oracle/resolve.h"

namespace {

using mote::Case;
using mote::CaseTensor;

constexpr std::string_view kBlanks = " \t\r\n";

bool names_a_file(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  const std::string_view rest = text.substr(begin);
  return mote::is_program_file(rest.substr(0, rest.find_first_of(kBlanks)));
}

bool same_tensors(const std::vector<CaseTensor>& a, const std::vector<CaseTensor>& b) {
  return std::ranges::equal(a, b, [](const CaseTensor& l, const CaseTensor& r) {
    return l.name == r.name && l.dtype == r.dtype && l.shape == r.shape && l.layout == r.layout;
  });
}

bool same_params(const Case& a, const Case& b) {
  return std::ranges::equal(a.params, b.params, [](const auto& l, const auto& r) {
    return l.first == r.first && identical(l.second, r.second);
  });
}

bool same_case(const Case& a, const Case& b) {
  return a.target == b.target && a.instance.dtype == b.instance.dtype &&
         a.instance.input_mask == b.instance.input_mask && same_tensors(a.inputs, b.inputs) &&
         same_tensors(a.outputs, b.outputs) && same_params(a, b) && a.fill == b.fill &&
         a.backend == b.backend && a.plugin == b.plugin;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = mote::fuzz::text_of(data, size);
  if (names_a_file(text)) return -1;  // keeps the text out of the corpus
  std::optional<Case> parsed;
  try {
    parsed = mote::parse_case(text);
  } catch (const mote::Error& error) {
    mote::fuzz::require_one_line(error);
    return 0;
  }
  mote::fuzz::must_not_throw([&] {
    const std::string printed = to_string(*parsed);
    const Case again = mote::parse_case(printed);
    mote::fuzz::require(same_case(again, *parsed), printed, to_string(again));
  });
  return 0;
}
