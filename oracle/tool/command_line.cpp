// SPDX-License-Identifier: Apache-2.0
// Reads the values that an option takes from the name of its type.
#include "command_line.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "case_groups.h"
#include "mote/base/dtype.h"
#include "mote/base/plugin_search.h"
#include "mote/generated/kernels.h"
#include "mote/macroops/catalogue.h"
#include "mote/oracle/backends.h"

namespace mote::tool {
namespace {

std::vector<std::string> all_ops() {
  std::vector<std::string> names;
  for (const OpRecord* record : generated_ops()) names.push_back(record->name);
  return names;
}

std::vector<std::string> all_backends() {
  const auto known = known_backends();
  return {known.begin(), known.end()};
}

std::vector<std::string> dtype_words() {
  std::vector<std::string> names;
  for (const DType dtype : all_dtypes()) names.emplace_back(name(dtype));
  return names;
}

bool is_word(std::string_view text) {
  return !text.empty() && (std::islower(static_cast<unsigned char>(text[0])) != 0);
}

void add_words(Values& values, std::vector<std::string> words) {
  std::ranges::move(words, std::back_inserter(values.words));
}

/// Adds one alternative of a type: "c", "coverage=PERCENT", "BACKEND", "FILE.html".
void add_alternative(Values& values, std::string_view text) {
  if (is_word(text)) {
    const std::size_t equals = text.find('=');  // the word is the part before the value
    values.words.emplace_back(equals == text.npos ? text : text.substr(0, equals + 1));
    return;
  }
  if (text == "OP") add_words(values, all_ops());
  if (text == "BACKEND") add_words(values, all_backends());
  if (text == "DTYPE") add_words(values, dtype_words());
  if (text == "GROUP") add_words(values, groups_in(case_folder()));
  for (const std::string_view kind : {"FILE", "DIR", "LIB", "OP", "CASE"})
    values.files = values.files || text.starts_with(kind);
}

}  // namespace

const std::vector<ExitCode>& exit_codes() {
  static const std::vector<ExitCode> codes = {
      {"0", "done, or everything passed"},
      {"1", "a kernel is wrong, or a compiled graph differs from its nodes"},
      {"2", "the command line or a file cannot be understood"},
      {"3", "a kernel crashed or hung"},
      {"4", "nothing was judged, or less than was required"},
      {"77", "no backend that was asked for is on this machine"},
      {"130, 143", "interrupted by Ctrl-C or by TERM; what was found by then is reported"}};
  return codes;
}

Values values_of(const OptionHelp& option) {
  Values values;
  std::string_view types =
      option.positional && !is_word(option.type) ? option.names.front() : option.type;
  while (!types.empty()) {
    const std::size_t bar = std::min(types.find('|'), types.size());
    add_alternative(values, types.substr(0, bar));
    types.remove_prefix(std::min(bar + 1, types.size()));
  }
  return values;
}

}  // namespace mote::tool
