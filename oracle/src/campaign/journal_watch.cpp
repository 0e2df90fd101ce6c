// SPDX-License-Identifier: Apache-2.0
// Reads journals while they grow: only whole lines, each once.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <tuple>

#include "campaign/journal.h"
#include "campaign/journal_text.h"
#include "mote/base/error.h"
#include "mote/oracle/campaign.h"

namespace mote {
namespace {

/// Failures with equal keys count as one.
using FailureKey = std::tuple<std::string, std::string, Verdict>;

FailureKey key_of(const Case& c, const Outcome& outcome) {
  return {c.target->text(), c.backend, outcome.verdict};
}

}  // namespace

struct JournalWatch::State {
  /// Reads the whole lines that were added to a file since the last read.
  struct Source {
    std::string path;
    std::streamoff read = 0;
    int lines = 0;
    bool ended_early = false;

    std::vector<std::string> fresh() {
      std::ifstream stream(path, std::ios::binary);
      stream.seekg(read);
      std::vector<std::string> all;
      for (std::string line; std::getline(stream, line) && !stream.eof();) {
        read += std::ssize(line) + 1;
        all.push_back(std::move(line));
      }
      return all;
    }
  };

  std::vector<Source> sources;
  Tally tally;
  CampaignResult result;
  CampaignProgress progress;
  std::set<FailureKey> found;
  std::set<FailureKey> failures;

  void take(Source& source, const nlohmann::json& line, const CampaignOptions& told) {
    const std::string type = line.at("type");
    if (type == "begin") {
      const std::string text = line.at("case");
      progress.op = text.substr(0, text.find(' '));
    } else if (type == "found") {
      const FoundFailure met = found_from_json(line);
      if (found.insert(key_of(met.first, met.outcome)).second && told.found) told.found(met);
    } else {
      JournalContent content;
      take_line(content, line);
      take(source, content, told);
    }
  }

  void take(Source& source, JournalContent& content, const CampaignOptions& told) {
    for (const Failure& f : content.failures)
      if (failures.insert(key_of(f.smallest, f.outcome)).second && told.failure) told.failure(f);
    count(content, tally);
    progress.cases += std::ssize(content.listed) + std::ssize(content.streams);
    result.seconds = std::max(result.seconds, content.seconds);
    source.ended_early = source.ended_early || content.ended_early;
    if (!content.without_kernel.empty()) result.without_kernel = content.without_kernel;
  }
};

JournalWatch::JournalWatch(const std::vector<std::string>& paths)
    : state_(std::make_unique<State>()) {
  for (const std::string& path : paths) state_->sources.push_back({path});
}

JournalWatch::~JournalWatch() = default;

void JournalWatch::look(const CampaignOptions& told) {
  State& s = *state_;
  for (State::Source& source : s.sources) {
    for (const std::string& line : source.fresh()) {
      ++source.lines;
      try {
        s.take(source, nlohmann::json::parse(line), told);
      } catch (const std::exception& e) {
        throw Error(fmt::format("journal {}: line {}: {}", source.path, source.lines, e.what()));
      }
    }
  }
  s.progress.judged = s.tally.judged();
  s.progress.failed = s.tally.failed();
  s.progress.failures = std::ssize(s.tally.failures());
  if (told.progress) told.progress(s.progress);
}

CampaignResult JournalWatch::result() const {
  CampaignResult result = state_->result;
  result.rows = state_->tally.rows();
  result.failures = state_->tally.failures();
  result.ended_early = std::ranges::all_of(state_->sources, &State::Source::ended_early);
  return result;
}

CampaignResult merge_journals(const std::vector<std::string>& paths) {
  for (const std::string& path : paths)
    if (!std::ifstream(path)) throw Error("journal " + path + ": cannot be read");
  JournalWatch watch(paths);
  watch.look({});
  return watch.result();
}

}  // namespace mote
