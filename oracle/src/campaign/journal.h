// SPDX-License-Identifier: Apache-2.0
// The file that a campaign can be resumed from: lines of JSON, appended. A case is written before
// it runs; when it is done, what is counted of it is, in one line. The file is synchronised to the
// disk once a second.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "campaign/tally.h"

namespace mote {

/// What of a case's place in the campaign a journal keeps: the op, dtype and position of a random
/// one, the text of a listed one.
struct CaseDone {
  std::string op = {};
  DType dtype = DType::f32;
  std::uint64_t position = 0;
  bool accepted = true;  ///< by a backend
  double seconds = 0;
  std::string listed = {};
};

/// Random cases of one op and dtype.
struct JournalStream {
  std::map<std::uint64_t, bool> accepted;  ///< by position
  double seconds = 0;
};

struct JournalContent {
  std::uint64_t seed = 0;
  std::string campaign;  ///< what was checked
  std::vector<CaseResult> results;
  std::vector<Failure> failures;
  std::map<std::pair<std::string, DType>, JournalStream> streams;
  std::set<std::string> listed;
  std::map<std::string, std::vector<std::string>> without_kernel;
  double seconds = 0;
  bool ended_early = false;
};

/// One line of a journal. Throws Error, or what the parser of JSON does, for what is none.
void take_line(JournalContent& content, const nlohmann::json& line);
/// Throws Error for what is no journal. The last line may be cut off.
JournalContent read_journal(const std::string& path);
/// Counts what the journal says.
void count(JournalContent& content, Tally& tally);
/// What has to be the same for a journal to be resumed.
std::string campaign_text(const CampaignOptions& options);

class Journal {
 public:
  /// Begins the file, or reads what is there. Throws Error where it cannot be written, and where it
  /// is the journal of another campaign or seed.
  Journal(const std::string& path, const std::string& campaign, std::uint64_t seed);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  JournalContent content() { return std::move(content_); }
  void begin(const std::string& case_text);
  void done(const CaseDone& done, const std::vector<CaseResult>& results, double campaign_s);
  void found(const FoundFailure& found);
  void failure(const Failure& failure);
  void end(const CampaignResult& result);

 private:
  void append(const nlohmann::json& line);

  std::string path_;
  int file_ = -1;
  double synchronised_s_ = 0;
  JournalContent content_;
};

}  // namespace mote
