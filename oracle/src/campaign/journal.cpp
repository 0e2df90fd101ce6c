// SPDX-License-Identifier: Apache-2.0
#include "campaign/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "campaign/journal_text.h"
#include "mote/base/error.h"
#include "mote/oracle/resolve.h"
#include "report/json_line.h"

namespace mote {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 2;

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void take_done(JournalContent& content, const Json& line) {
  for (const Json& r : line.at("results")) content.results.push_back(result_from_json(r));
  content.seconds = line.at("campaign_s");
  if (line.contains("listed")) {
    content.listed.insert(line["listed"]);
    return;
  }
  JournalStream& stream =
      content.streams[{line.at("op"), require_dtype(line.at("dtype").get<std::string>())}];
  stream.accepted[line.at("position")] = line.at("accepted");
  stream.seconds += line.at("seconds").get<double>();
}

}  // namespace

void take_line(JournalContent& content, const Json& line) {
  const auto type = line.at("type").get<std::string>();
  if (type == "journal") {
    if (line.at("version") != kVersion) throw Error("it is of another version of mote");
    content.seed = line.at("seed");
    content.campaign = line.at("campaign");
  } else if (type == "done") {
    take_done(content, line);
  } else if (type == "failure") {
    content.failures.push_back(failure_from_json(line));
  } else if (type == "end") {
    content.without_kernel = line.at("without_kernel");
    content.ended_early = line.value("ended_early", false);
  }
}

JournalContent read_journal(const std::string& path) {
  std::ifstream stream(path);
  if (!stream) throw Error("journal " + path + ": cannot be read");
  JournalContent content;
  int number = 0;
  for (std::string line; std::getline(stream, line) && !stream.eof();) {
    ++number;
    try {
      take_line(content, Json::parse(line));
    } catch (const std::exception& e) {
      throw Error(fmt::format("journal {}: line {}: {}", path, number, e.what()));
    }
  }
  return content;
}

void count(JournalContent& content, Tally& tally) {
  for (Failure& f : content.failures) {
    f.occurrences = 0;
    tally.add(std::move(f));
  }
  for (const CaseResult& r : content.results) {
    tally.record(r);
    if (is_failure(r.outcome.verdict)) tally.seen_again(r.op, r.backend, r.outcome.verdict);
  }
}

std::string campaign_text(const CampaignOptions& options) {
  std::vector<std::string> backends;
  for (const BackendEntry& e : options.backends) backends.push_back(e.name());
  std::vector<std::string_view> dtypes;
  for (const DType dtype : options.dtypes) dtypes.push_back(name(dtype));
  if (dtypes.empty()) dtypes = {"all"};
  return fmt::format("ops {}; backends {}; dtype {}; shard {}/{}", fmt::join(options.ops, ","),
                     fmt::join(backends, ","), fmt::join(dtypes, ","), options.shard.index,
                     options.shard.count);
}

Journal::Journal(const std::string& path, const std::string& campaign, std::uint64_t seed)
    : path_(path) {
  std::error_code ignored;
  const bool is_there =
      std::filesystem::exists(path, ignored) && std::filesystem::file_size(path, ignored) > 0;
  if (is_there) {
    content_ = read_journal(path);
    if (content_.campaign != campaign || content_.seed != seed) {
      throw Error(
          fmt::format("journal {}: it is of another campaign: {}; seed {} (this one: {}; "
                      "seed {})",
                      path, content_.campaign, content_.seed, campaign, seed));
    }
  }
  file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file_ < 0) throw Error("journal " + path + ": " + std::strerror(errno));
  if (!is_there) {
    append(
        Json{{"type", "journal"}, {"version", kVersion}, {"seed", seed}, {"campaign", campaign}});
    return;
  }
  // A line that was cut off by a kill is removed.
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  const std::string all = [&] {
    std::string text(static_cast<std::size_t>(stream.tellg()), '\0');
    stream.seekg(0);
    stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    return text;
  }();
  const auto whole = static_cast<off_t>(all.rfind('\n') + 1);
  if (ftruncate(file_, whole) != 0) throw Error("journal " + path + ": " + std::strerror(errno));
}

Journal::~Journal() {
  fsync(file_);
  close(file_);
}

void Journal::append(const Json& line) {
  const std::string text = json_line(line);
  if (write(file_, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw Error("journal " + path_ + ": " + std::strerror(errno));
  if (now_s() - synchronised_s_ < 1) return;
  fsync(file_);
  synchronised_s_ = now_s();
}

void Journal::begin(const std::string& case_text) {
  append(Json{{"type", "begin"}, {"case", case_text}});
}

void Journal::done(const CaseDone& done, const std::vector<CaseResult>& results,
                   double campaign_s) {
  Json line = {{"type", "done"}, {"campaign_s", campaign_s}, {"results", Json::array()}};
  for (const CaseResult& r : results) line["results"].push_back(result_to_json(r));
  if (done.op.empty()) {
    line["listed"] = done.listed;
  } else {
    line["op"] = done.op;
    line["dtype"] = name(done.dtype);
    line["position"] = done.position;
    line["accepted"] = done.accepted;
    line["seconds"] = done.seconds;
  }
  append(line);
}

void Journal::found(const FoundFailure& found) {
  Json line = found_to_json(found);
  line["type"] = "found";
  append(line);
}

void Journal::failure(const Failure& failure) {
  Json line = failure_to_json(failure);
  line["type"] = "failure";
  append(line);
}

void Journal::end(const CampaignResult& result) {
  append(Json{{"type", "end"},
              {"without_kernel", result.without_kernel},
              {"ended_early", result.ended_early}});
}

std::optional<std::uint64_t> journal_seed(const std::string& path) {
  std::error_code ignored;
  const bool is_there =
      std::filesystem::exists(path, ignored) && std::filesystem::file_size(path, ignored) > 0;
  return is_there ? std::optional(read_journal(path).seed) : std::nullopt;
}

}  // namespace mote
