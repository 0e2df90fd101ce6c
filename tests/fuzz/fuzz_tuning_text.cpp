// SPDX-License-Identifier: Apache-2.0
// Fuzzes tuning files: the text is read as a whole file, and as the entries of a file whose header
// fits this machine (no fuzzer would guess that header). Accepted text is written as text that
// gives the same table.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fuzz.h"
#include "mote/runtime/context.h"
#include "mote/tuning/tuning_file.h"

namespace {

void check(std::string_view text) {
  mote::Context context;
  if (const std::optional<mote::Reason> reason = mote::read_tuning(context, text)) {
    mote::fuzz::require_one_line(mote::Error(reason->text));
    return;
  }
  mote::fuzz::must_not_throw([&] {
    const std::string printed = mote::tuning_text(context);
    mote::Context other;
    if (const std::optional<mote::Reason> reason = mote::read_tuning(other, printed))
      mote::fuzz::broken("what was printed is refused: " + reason->text + "\n" + printed);
    const std::string again = mote::tuning_text(other);
    mote::fuzz::require(again == printed, printed, again);
  });
}

/// Returns a tuning file of this machine without entries.
const std::string& empty_file() {
  static const std::string text = [] {
    mote::Context context;
    return mote::tuning_text(context);
  }();
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = mote::fuzz::text_of(data, size);
  check(text);
  const std::string& file = empty_file();
  const std::size_t at = file.rfind("[]");
  check(file.substr(0, at) + std::string(text) + file.substr(at + 2));
  return 0;
}
