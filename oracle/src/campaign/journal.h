// SPDX-License-Identifier: Apache-2.0
// The file from which a campaign can be resumed: lines of JSON, appended. A case is written before
// it runs, and its counts in one line when it is done. The file is synchronised to the disk once a
// second.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "campaign/tally.h"

namespace mote {

/// The identity of a case that a journal keeps: the op, dtype and position of a random one, the
/// text of a listed one.
struct CaseDone {
  std::string op = {};
  DType dtype = DType::f32;
  std::uint64_t position = 0;
  bool accepted = true;  ///< a backend accepted it
  double seconds = 0;
  std::string listed = {};
};

/// The random cases of one op and dtype.
struct JournalStream {
  std::map<std::uint64_t, bool> accepted;  ///< accepted or not, by position
  double seconds = 0;
};

struct JournalContent {
  std::uint64_t seed = 0;
  std::string campaign;  ///< the text of campaign_text()
  std::vector<CaseResult> results;
  std::vector<Failure> failures;
  std::map<std::pair<std::string, DType>, JournalStream> streams;
  std::set<std::string> listed;
  std::map<std::string, std::vector<std::string>> without_kernel;
  double seconds = 0;
  bool ended_early = false;
};

/// Adds one line of a journal. Throws Error, or an exception of the JSON parser, for an invalid
/// line.
void take_line(JournalContent& content, const nlohmann::json& line);
/// Reads a journal, whose last line may be cut off. Throws Error for a file that is not a journal.
JournalContent read_journal(const std::string& path);
/// Adds the journal's results and failures to the tally.
void count(JournalContent& content, Tally& tally);
/// The properties that must be the same for a journal to be resumed.
std::string campaign_text(const CampaignOptions& options);

class Journal {
 public:
  /// Begins the file, or reads the existing one. Throws Error if it cannot be written, or is the
  /// journal of another campaign or seed.
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
