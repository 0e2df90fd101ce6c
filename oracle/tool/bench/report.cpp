// SPDX-License-Identifier: Apache-2.0
#include "bench/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "host.h"
#include "report/json_line.h"
#include "report/table.h"

namespace mote::tool {
namespace {

using Json = nlohmann::ordered_json;

/// A backend's line.
struct BenchLine {
  const PreparedSubject* subject;
  Median seconds;
  TimeRatio to_best;
  bool is_best = false;
  bool is_wrong = false;
};

bool is_wrong(const ResultAgreement& agreement, const PreparedSubject& s) {
  return std::ranges::find(agreement.wrong, s.name(), &DeclinedSubject::backend) !=
         agreement.wrong.end();
}

/// Returns the lines from the fastest on; the best is the fastest whose results are not wrong.
std::vector<BenchLine> lines_of(const BenchReport& r) {
  std::vector<BenchLine> lines;
  for (const PreparedSubject& s : r.measured.subjects)
    lines.push_back({&s, median_of(s.seconds), {}, false, is_wrong(r.agreement, s)});
  std::ranges::stable_sort(lines, {}, [](const BenchLine& l) { return l.seconds.value; });
  const auto best = std::ranges::find(lines, false, &BenchLine::is_wrong);
  if (best == lines.end()) return lines;
  best->is_best = true;
  for (BenchLine& l : lines) l.to_best = ratio_of_times(l.subject->seconds, best->subject->seconds);
  return lines;
}

/// Three significant digits with a unit: "1.97 ms", "27.1 GFLOP/s".
std::string with_unit(double value, const char* unit) {
  static constexpr std::array<std::pair<double, const char*>, 7> kPrefixes = {
      {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}, {1e-3, "m"}, {1e-6, "µ"}}};
  auto prefix = std::ranges::find_if(kPrefixes, [&](const auto& p) { return value >= p.first; });
  if (prefix == kPrefixes.end()) return fmt::format("{:.3g} n{}", value * 1e9, unit);
  const double scaled = value / prefix->first;
  return fmt::format("{:.{}f} {}{}", scaled,
                     scaled < 10    ? 2
                     : scaled < 100 ? 1
                                    : 0,
                     prefix->second, unit);
}

std::string spread(const Median& m) {
  return fmt::format("{:+.1f} {:+.1f}%", 100 * (m.low / m.value - 1), 100 * (m.high / m.value - 1));
}

double bytes_of(const BenchReport& r) { return r.work.read_bytes + r.work.written_bytes; }

std::string rate(const BenchReport& r, double seconds) {
  return r.limit.is_arithmetic ? with_unit(r.work.operations / seconds, "FLOP/s")
                               : with_unit(bytes_of(r) / seconds, "B/s");
}

std::string ratio_text(const BenchLine& l) {
  if (l.is_wrong) return "wrong";
  if (l.is_best) return "best";
  const Median& ratio = l.to_best.ratio;
  if (l.to_best.told_apart) return fmt::format("{:.2f}", ratio.value);
  return "refused";
}

/// Returns why a comparison is refused; empty if none is.
std::string refused_text(const std::vector<BenchLine>& lines) {
  std::string text;
  const auto best = std::ranges::find(lines, true, &BenchLine::is_best);
  for (const BenchLine& l : lines) {
    if (l.is_wrong || l.is_best || l.to_best.told_apart) continue;
    text += fmt::format(
        "  refused: {} with {}: rounds scatter more than they differ, the ratio is {:.3f} to "
        "{:.3f}\n",
        l.subject->name(), best->subject->name(), l.to_best.ratio.low, l.to_best.ratio.high);
  }
  return text;
}

/// The backends that are left out, those with the same reason in one line.
std::string declined_text(const std::vector<DeclinedSubject>& declined) {
  std::vector<std::pair<std::string, std::string>> lines;  // reason, backends
  for (const DeclinedSubject& d : declined) {
    const auto same = [&](const auto& line) { return line.first == d.reason; };
    const auto at = std::ranges::find_if(lines, same);
    if (at == lines.end())
      lines.emplace_back(d.reason, d.backend);
    else
      at->second += ", " + d.backend;
  }
  std::string text;
  for (const auto& [reason, backends] : lines) text += fmt::format("  {}: {}\n", backends, reason);
  return text;
}

Json median_json(const Median& m) {
  return {{"median", m.value}, {"low", m.low}, {"high", m.high}};
}

}  // namespace

std::string machine_text(const MachineLimits& machine) {
  const std::string model = cpu_model();
  std::string text =
      fmt::format("{}, x86-64-v{}, {} thread{}\n", model.empty() ? "a processor" : model,
                  machine.level, machine.threads, machine.threads == 1 ? "" : "s");
  text += fmt::format("at most, measured: {} in f32, {} in f64\n", with_unit(machine.f32, "FLOP/s"),
                      with_unit(machine.f64, "FLOP/s"));
  for (const MemoryLevel& l : machine.memory)
    text += fmt::format("  {:5} reads {:>9}, copies {:>9}\n", l.name, with_unit(l.read, "B/s"),
                        with_unit(l.copy, "B/s"));
  return text;
}

std::string machine_json(const MachineLimits& machine) {
  Json levels = Json::array();
  for (const MemoryLevel& l : machine.memory) {
    levels.push_back({{"name", l.name}, {"read", l.read}, {"copy", l.copy}});
    if (std::isfinite(l.capacity)) levels.back()["bytes"] = l.capacity;
  }
  return json_line(Json{{"type", "machine"},
                        {"processor", cpu_model()},
                        {"level", machine.level},
                        {"threads", machine.threads},
                        {"f32", machine.f32},
                        {"f64", machine.f64},
                        {"memory", levels}});
}

std::string bench_text(const BenchReport& r, const Screen& screen) {
  const double operations = r.work.operations;
  std::string text = fmt::format(
      "\n{}\n  {}{} read, {} written; this machine takes {} at least ({})\n",
      painted(r.text, Colour::bold, screen), operations > 0 ? with_unit(operations, "FLOP, ") : "",
      with_unit(r.work.read_bytes, "B"), with_unit(r.work.written_bytes, "B"),
      with_unit(r.limit.seconds, "s"), r.limit.name);
  Table table{.lines = {{"  BACKEND", "TIME", "SPREAD", "RATE", "OF " + r.limit.name, "RATIO"}},
              .left = {true, false, false, false, false, true}};
  const std::vector<BenchLine> lines = lines_of(r);
  for (const BenchLine& l : lines)
    table.lines.push_back({"  " + l.subject->name(), with_unit(l.seconds.value, "s"),
                           spread(l.seconds), rate(r, l.seconds.value),
                           fmt::format("{:.0f}%", 100 * r.limit.seconds / l.seconds.value),
                           ratio_text(l)});
  if (table.lines.size() > 1) text += aligned(table, screen) + refused_text(lines);
  text += fmt::format("  results: {}\n", r.agreement.text);
  for (const DeclinedSubject& w : r.agreement.wrong)
    text += fmt::format("    {}: {}\n", w.backend, w.reason);
  return text + declined_text(r.measured.declined);
}

std::string bench_json(const BenchReport& r) {
  Json backends = Json::array();
  for (const BenchLine& l : lines_of(r)) {
    Json line = {{"backend", l.subject->name()},
                 {"seconds", median_json(l.seconds)},
                 {"rounds", l.subject->seconds.size()},
                 {"calls", l.subject->calls},
                 {"flops", r.work.operations / l.seconds.value},
                 {"bytes_per_s", bytes_of(r) / l.seconds.value},
                 {"share", r.limit.seconds / l.seconds.value},
                 {"wrong", l.is_wrong}};
    if (!l.is_wrong) {
      line["ratio"] = median_json(l.to_best.ratio);
      line["best"] = l.is_best;
      line["told_apart"] = l.is_best || l.to_best.told_apart;
    }
    backends.push_back(line);
  }
  Json declined = Json::array();
  for (const DeclinedSubject& d : r.measured.declined)
    declined.push_back({{"backend", d.backend}, {"reason", d.reason}});
  Json wrong = Json::array();
  for (const DeclinedSubject& w : r.agreement.wrong)
    wrong.push_back({{"backend", w.backend}, {"reason", w.reason}});
  return json_line(Json{{"type", "case"},
                        {"case", r.text},
                        {"operations", r.work.operations},
                        {"read_bytes", r.work.read_bytes},
                        {"written_bytes", r.work.written_bytes},
                        {"limit", r.limit.name},
                        {"limit_seconds", r.limit.seconds},
                        {"backends", backends},
                        {"results", r.agreement.text},
                        {"wrong", wrong},
                        {"declined", declined}});
}

}  // namespace mote::tool
