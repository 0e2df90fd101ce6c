// SPDX-License-Identifier: Apache-2.0
// What a campaign found, in the forms that other programs show: JUnit's XML, a page for a browser,
// annotations of GitHub.
#pragma once

#include <string>
#include <vector>

#include "mote/oracle/campaign.h"

namespace mote::tool {

/// What was run: the head of every report.
struct Heading {
  std::string version;  ///< of mote
  std::uint64_t seed = 0;
  std::vector<std::string> backends;   ///< "openblas 0.3.21"
  std::vector<std::string> contracts;  ///< by which they are judged: "contract of gen (add): …"
  int exit = 0;                        ///< of the campaign, as mote check's
  std::string date = {};               ///< when it began: "2026-11-25T10:18:26+0100"
  std::string command = {};
  std::string host = {};  ///< its system and processors too
  std::string host_name = {};
};

/// XML as Jenkins, GitLab and others read it: a suite for each backend, in it a test for each op
/// and dtype. A test that judged no case is skipped, with the reason; a failure holds the replay
/// line.
std::string junit_xml(const Heading& heading, const CampaignResult& result);

/// One HTML file that needs no other: the matrix of ops and backends; behind each cell its counts
/// and failures, with a map of the wrong elements, each error beside its bound, and the replay
/// line.
std::string html_page(const Heading& heading, const CampaignResult& result);

/// A workflow command of GitHub Actions for each failure: an error on the run's summary page.
std::string github_annotations(const CampaignResult& result);

}  // namespace mote::tool
