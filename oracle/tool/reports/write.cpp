// SPDX-License-Identifier: Apache-2.0
#include "write.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "../commands.h"
#include "mote/base/error.h"

namespace mote::tool {
namespace {

void write(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw Error(fmt::format("cannot write '{}': {}", path, std::strerror(errno)));
}

bool in_github_actions() {
  const char* value = std::getenv("GITHUB_ACTIONS");
  return value != nullptr && std::string_view(value) == "true";
}

}  // namespace

void add_reports(CLI::App& command, ReportOptions& options) {
  command.add_option("--junit", options.junit, "write a report that CI systems read")
      ->type_name("FILE.xml");
  command.add_option("--html", options.html, "write a page: the matrix, failures, their pictures")
      ->type_name("FILE.html");
  command.add_flag("--github", options.github,
                   "annotate failures for GitHub; default where GITHUB_ACTIONS=true");
}

void open_reports(const ReportOptions& options) {
  write(options.junit, "");
  write(options.html, "");
}

void write_reports(const ReportOptions& options, const Heading& heading,
                   const CampaignResult& result) {
  if (!options.junit.empty()) write(options.junit, junit_xml(heading, result));
  if (!options.html.empty()) write(options.html, html_page(heading, result));
  if (options.github || in_github_actions()) print(github_annotations(result));
}

}  // namespace mote::tool
