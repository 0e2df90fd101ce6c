// SPDX-License-Identifier: Apache-2.0
// The options of `mote check` that ask for reports, and the functions that write them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "reports.h"

namespace mote::tool {

struct ReportOptions {
  std::string junit;  ///< the path; empty: none
  std::string html;
  bool github = false;
};

void add_reports(CLI::App& command, ReportOptions& options);

/// Creates the files, so that a path that cannot be written is known before the campaign. Throws
/// Error.
void open_reports(const ReportOptions& options);

/// Writes the requested reports; annotations go to standard output. Throws Error.
void write_reports(const ReportOptions& options, const Heading& heading,
                   const CampaignResult& result);

}  // namespace mote::tool
