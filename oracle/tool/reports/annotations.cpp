// SPDX-License-Identifier: Apache-2.0
// Writes https://docs.github.com/actions/reference/workflow-commands-for-github-actions: ::error
// title=…::message, in which % and line ends are escaped, and : and , in a title too.
#include <fmt/format.h>

#include "mote/oracle/report.h"
#include "mote/oracle/text.h"
#include "reports.h"

namespace mote::tool {
namespace {

std::string escaped(const std::string& text, bool property) {
  std::string out;
  for (const char c : valid_utf8(text)) {
    const bool special = c == '%' || c == '\r' || c == '\n' || (property && (c == ':' || c == ','));
    out += special ? fmt::format("%{:02X}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  return out;
}

}  // namespace

std::string github_annotations(const CampaignResult& result) {
  std::string text;
  for (const Failure& f : result.failures) {
    const std::string title = fmt::format("{} on {}: {}", f.smallest.target->text(),
                                          f.smallest.backend, name(f.outcome.verdict));
    text += fmt::format("::error title={}::{}\n", escaped(title, true),
                        escaped(failure_text(f), false));
  }
  return text;
}

}  // namespace mote::tool
