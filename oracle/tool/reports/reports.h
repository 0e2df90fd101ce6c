// SPDX-License-Identifier: Apache-2.0
// Writes the result of a campaign in forms that other programs show: JUnit's XML, a page for a
// browser, annotations of GitHub.
#pragma once

#include <string>
#include <vector>

#include "mote/oracle/campaign.h"

namespace mote::tool {

/// The head of every report, which describes the run.
struct Heading {
  std::string version;  ///< the version of mote
  std::uint64_t seed = 0;
  std::vector<std::string> backends;   ///< "openblas 0.3.21"
  std::vector<std::string> contracts;  ///< as judged: "contract of gen (add): …"
  int exit = 0;                        ///< the exit code of mote check
  std::string date = {};               ///< the start of the campaign: "2026-11-25T10:18:26+0100"
  std::string command = {};
  std::string host = {};  ///< its name, system and processors
  std::string host_name = {};
};

/// The XML as Jenkins, GitLab and others read it: a suite for each backend, with a test for each op
/// and dtype. A test that judged no case is skipped, with the reason; a failure holds the replay
/// line.
std::string junit_xml(const Heading& heading, const CampaignResult& result);

/// One self-contained HTML file: the matrix of ops and backends, and for each cell its counts and
/// failures, with a map of the wrong elements, each error next to its error bound, and the replay
/// line.
std::string html_page(const Heading& heading, const CampaignResult& result);

/// A workflow command of GitHub Actions for each failure, which adds an error to the run's summary
/// page.
std::string github_annotations(const CampaignResult& result);

}  // namespace mote::tool
