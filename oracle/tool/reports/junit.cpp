// SPDX-License-Identifier: Apache-2.0
// Writes JUnit's XML. No standard fixes it; this keeps to what
// https://github.com/testmoapp/junitxml describes as understood by all: one failure a test, its
// text as content, properties of suites.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <pugixml.hpp>
#include <sstream>

#include "markup.h"
#include "mote/oracle/report.h"
#include "reports.h"

namespace mote::tool {
namespace {

constexpr std::size_t kWithoutZone = 19;  ///< the characters of a date and time in JUnit

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// The failures of the row's op and backend; a failure is kept once for all dtypes.
std::vector<const Failure*> failures_of(const Row& row, const CampaignResult& result) {
  std::vector<const Failure*> found;
  for (const Failure& f : result.failures) {
    if (f.smallest.target->text() == row.op && f.smallest.backend == row.backend)
      found.push_back(&f);
  }
  return found;
}

void add_failure(pugi::xml_node test, const Row& row, const CampaignResult& result) {
  const std::vector<const Failure*> failures = failures_of(row, result);
  std::string text;
  for (const Failure* f : failures) text += failure_text(*f);
  pugi::xml_node node = test.append_child("failure");
  const std::string what = failures.empty() ? "" : ": " + first_line(failure_text(*failures[0]));
  set(node, "message", fmt::format("{} of {} cases failed{}", row.failures(), row.judged, what));
  set(node, "type", failures.empty() ? "failed" : std::string(name(failures[0]->outcome.verdict)));
  add_text(node, text);
}

std::string counts_text(const Row& row) {
  std::string text;
  for (std::size_t v = 0; v < kVerdicts; ++v) {
    if (row.counts[v] == 0) continue;
    text += fmt::format("{}: {}\n", name(static_cast<Verdict>(v)), row.counts[v]);
  }
  return text + fmt::format("greatest error / bound: {:.3g}\n", row.error());
}

void add_test(pugi::xml_node suite, const Row& row, const CampaignResult& result) {
  pugi::xml_node test = suite.append_child("testcase");
  set(test, "classname", fmt::format("mote.{}.{}", row.backend, row.op));
  set(test, "name", std::string(name(row.dtype)));
  if (row.failures() > 0) {
    add_failure(test, row, result);
  } else if (row.judged == 0) {
    set(test.append_child("skipped"), "message",
        row.reason.empty() ? "no case was judged" : row.reason);
  }
  add(test, "system-out", counts_text(row));
}

void add_property(pugi::xml_node properties, const char* name, const std::string& value) {
  pugi::xml_node property = properties.append_child("property");
  set(property, "name", name);
  set(property, "value", value);
}

void count(pugi::xml_node node, const std::vector<const Row*>& rows) {
  set(node, "tests", fmt::format("{}", rows.size()));
  set(node, "failures", fmt::format("{}", std::ranges::count_if(rows, [](const Row* r) {
                                      return r->failures() > 0;
                                    })));
  set(node, "errors", "0");
  set(node, "skipped", fmt::format("{}", std::ranges::count_if(rows, [](const Row* r) {
                                     return r->failures() == 0 && r->judged == 0;
                                   })));
}

}  // namespace

std::string junit_xml(const Heading& heading, const CampaignResult& result) {
  std::map<std::string, std::vector<const Row*>> suites;
  std::vector<const Row*> all;
  for (const Row& row : result.rows) {
    suites[row.backend].push_back(&row);
    all.push_back(&row);
  }
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("testsuites");
  set(root, "name", "mote check");
  count(root, all);
  set(root, "time", fmt::format("{:.3f}", result.seconds));
  for (const auto& [backend, rows] : suites) {
    pugi::xml_node suite = root.append_child("testsuite");
    set(suite, "name", backend);
    set(suite, "timestamp", heading.date.substr(0, kWithoutZone));
    set(suite, "hostname", heading.host_name);
    count(suite, rows);
    pugi::xml_node properties = suite.append_child("properties");
    add_property(properties, "mote", heading.version);
    add_property(properties, "seed", fmt::format("{}", heading.seed));
    add_property(properties, "command", heading.command);
    add_property(properties, "host", heading.host);
    add_property(properties, "backends", fmt::format("{}", fmt::join(heading.backends, ", ")));
    for (const std::string& contract : heading.contracts)
      if (contract.starts_with("contract of " + backend + " ("))
        add_property(properties, "contract", contract);
    for (const Row* row : rows) add_test(suite, *row, result);
  }
  std::ostringstream text;
  document.save(text, "  ", pugi::format_indent | pugi::format_no_empty_element_tags,
                pugi::encoding_utf8);
  return text.str();
}

}  // namespace mote::tool
