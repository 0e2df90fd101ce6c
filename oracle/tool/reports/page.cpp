// SPDX-License-Identifier: Apache-2.0
// Writes the page as one tree of tags, without a script: cells are links, and sections fold without
// one.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <pugixml.hpp>
#include <sstream>

#include "heat_map.h"
#include "markup.h"
#include "mote/oracle/report.h"
#include "mote/oracle/text.h"
#include "page_style.h"
#include "reports.h"

namespace mote::tool {
namespace {

/// The rows of one op on one backend, by dtype.
using Location = std::vector<const Row*>;

struct Matrix {
  std::vector<std::string> ops;
  std::vector<std::string> backends;
  std::map<std::pair<std::string, std::string>, Location> cells;
};

void add_once(std::vector<std::string>& all, const std::string& one) {
  if (std::ranges::find(all, one) == all.end()) all.push_back(one);
}

Matrix matrix_of(const CampaignResult& result) {
  Matrix m;
  for (const Row& row : result.rows) {
    add_once(m.ops, row.op);
    add_once(m.backends, row.backend);
    m.cells[{row.op, row.backend}].push_back(&row);
  }
  for (const Coverage& c : result.coverage) {  // ops that were not reached count too
    add_once(m.ops, c.op);
    add_once(m.backends, c.backend);
    m.cells[{c.op, c.backend}];
  }
  return m;
}

struct Sum {
  std::int64_t judged = 0;
  std::int64_t failed = 0;
  std::int64_t weak = 0;
};

Sum sum(const Location& cell) {
  Sum s;
  for (const Row* row : cell) {
    s.judged += row->judged;
    s.failed += row->failures();
    s.weak += row->count(Verdict::weak);
  }
  return s;
}

const char* style_of(const Sum& s) {
  return s.failed > 0 ? "failed" : s.judged > 0 ? "passed" : "none";
}

/// The name of a section's anchor: letters, digits and dashes for an op or a user's file.
std::string anchor(const std::string& op, const std::string& backend) {
  std::string text = op + "-" + backend;
  for (char& c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain) c = '-';
  }
  return text;
}

void add_link(pugi::xml_node parent, const std::string& to, const std::string& text) {
  pugi::xml_node link = add(parent, "a", text);
  set(link, "href", "#" + to);
}

void add_matrix(pugi::xml_node body, const Matrix& m) {
  pugi::xml_node table = add(add(body, "div", "", "wide"), "table", "", "matrix");
  pugi::xml_node head = add(add(table, "thead"), "tr");
  add(head, "th", "op");
  for (const std::string& backend : m.backends) add(head, "th", backend);
  pugi::xml_node lines = add(table, "tbody");
  for (const std::string& op : m.ops) {
    pugi::xml_node line = add(lines, "tr");
    set(add(line, "th", op), "scope", "row");
    for (const std::string& backend : m.backends) {
      const auto found = m.cells.find({op, backend});
      if (found == m.cells.end()) {
        add(line, "td", "no kernel", "none");
        continue;
      }
      const Sum s = sum(found->second);
      pugi::xml_node cell = add(line, "td", "", style_of(s));
      add_link(cell, anchor(op, backend),
               s.failed > 0   ? fmt::format("✗ {} of {} failed", s.failed, s.judged)
               : s.judged > 0 ? fmt::format("✓ {} passed", s.judged)
                              : "not judged");
    }
  }
}

void add_counts(pugi::xml_node section, const Location& cell) {
  pugi::xml_node table = add(add(section, "div", "", "wide"), "table", "", "counts");
  pugi::xml_node head = add(add(table, "thead"), "tr");
  add(head, "th", "dtype");
  std::vector<Verdict> shown;
  for (std::size_t v = 0; v < kVerdicts; ++v) {
    const auto verdict = static_cast<Verdict>(v);
    if (std::ranges::any_of(cell, [&](const Row* r) { return r->count(verdict) > 0; }))
      shown.push_back(verdict);
  }
  for (const Verdict v : shown) add(head, "th", std::string(name(v)));
  for (const char* title : {"indeterminate elements", "greatest error / bound, by fill"})
    add(head, "th", title);
  pugi::xml_node body = add(table, "tbody");
  for (const Row* row : cell) {
    pugi::xml_node line = add(body, "tr");
    set(add(line, "th", std::string(name(row->dtype))), "scope", "row");
    for (const Verdict v : shown) add(line, "td", fmt::format("{}", row->count(v)), "value");
    add(line, "td", fmt::format("{}", row->indeterminate), "value");
    std::string errors;
    for (const auto& [fill, error] : row->errors) {
      if (error > 0)
        errors += fmt::format("{}{} {:.2f}", errors.empty() ? "" : ", ", name(fill), error);
    }
    if (errors.empty() && row->judged > 0) errors = "exact";
    add(line, "td", errors);
  }
  for (const Row* row : cell) {
    if (row->reason.empty()) continue;
    add(section, "p", fmt::format("{}: {}", name(row->dtype), row->reason), "reason");
  }
}

void add_diagnosis(pugi::xml_node article, const Failure& f) {
  std::istringstream lines(diagnosis_text(f.diagnosis));
  for (std::string line; std::getline(lines, line);) add(article, "p", line, "diagnosis");
}

void add_failure(pugi::xml_node section, const Failure& f) {
  pugi::xml_node article = add(section, "article");
  add(article, "h3", std::string(name(f.outcome.verdict)));
  if (!f.outcome.reason.empty()) add(article, "p", f.outcome.reason);
  add_diagnosis(article, f);
  if (!f.peers.empty()) add(article, "p", peers_text(f.peers), "peers");
  std::string seen =
      fmt::format("Seen {}, first after {:.2f} s", counted(f.occurrences, "time"), f.found_after_s);
  if (f.outcome.differing > 0)
    seen += fmt::format("; {} of {} elements of the smallest case are wrong", f.outcome.differing,
                        f.outcome.elements);
  add(article, "p", seen + ".");
  add_heat_maps(article, f.smallest, f.outcome);
  add_errors(article, f.outcome);
  add(article, "h4", "smallest case");
  add(article, "pre", to_string(f.smallest));
  if (!f.sparsest.empty()) {
    add(article, "h4", "with most elements 0");
    add(article, "pre", f.sparsest);
    add(article, "p", f.sparsest_text);
  }
  add(article, "h4", "replay");
  add(article, "pre", replay_command(f.smallest));
  pugi::xml_node more = add(article, "details");
  add(more, "summary", "as it was found");
  add(more, "pre", to_string(f.first));
  add_heat_maps(more, f.first, f.first_outcome);
}

/// Adds the cells of the op that were not executed on the backend, by dtype.
void add_coverage(pugi::xml_node section, const std::string& op, const std::string& backend,
                  const CampaignResult& result) {
  std::vector<Coverage> here;
  std::ranges::copy_if(result.coverage, std::back_inserter(here),
                       [&](const Coverage& c) { return c.op == op && c.backend == backend; });
  if (here.empty()) return;
  const CoverageSum sum = sum_of(here);
  pugi::xml_node details = add(section, "details", "", "coverage");
  add(details, "summary",
      fmt::format("{} of {} cells of layout and value executed, {} declined, {} untested",
                  sum.executed, sum.cells(), sum.declined, sum.untested));
  for (const Coverage& c : here) {
    const std::string type(name(c.dtype));
    if (!c.untested.empty())
      add(details, "p", fmt::format("{} untested: {}", type, cells_text(c.untested, c.of)));
    if (!c.declined.empty())
      add(details, "p", fmt::format("{} declined: {}", type, cells_text(c.declined, c.of)));
  }
}

void add_section(pugi::xml_node body, const std::string& op, const std::string& backend,
                 const Location& cell, const CampaignResult& result) {
  pugi::xml_node section = add(body, "section");
  set(section, "id", anchor(op, backend));
  const Sum s = sum(cell);
  pugi::xml_node details = add(section, "details");
  if (s.failed > 0) set(details, "open", "open");
  add(add(details, "summary"), "h2", fmt::format("{} on {}", op, backend), style_of(s));
  add_counts(details, cell);
  add_coverage(details, op, backend, result);
  for (const Failure& f : result.failures) {
    if (f.smallest.target->text() == op && f.smallest.backend == backend) add_failure(details, f);
  }
}

void add_head(pugi::xml_node html, const std::string& title) {
  pugi::xml_node head = html.append_child("head");
  set(head.append_child("meta"), "charset", "utf-8");
  pugi::xml_node view = head.append_child("meta");
  set(view, "name", "viewport");
  set(view, "content", "width=device-width, initial-scale=1");
  add(head, "title", title);
  add(head, "style", kPageStyle);
}

/// The outcome of the whole run. A required backend may be missing although nothing failed.
std::string outcome_text(const Heading& heading, const CampaignResult& result) {
  const bool failed =
      std::ranges::any_of(result.rows, [](const Row& row) { return row.failures() > 0; });
  const std::string text = failed ? "failed" : heading.exit == 0 ? "passed" : "not judged";
  return result.interrupted ? text + ", interrupted" : text;
}

void add_run(pugi::xml_node body, const Heading& heading, const CampaignResult& result) {
  std::int64_t judged = 0;
  for (const Row& row : result.rows) judged += row.judged;
  std::string cases = fmt::format("{} judged in {:.1f} s", judged, result.seconds);
  if (result.ended_early) cases += ", ended early, since every op and dtype has failed";
  if (result.interrupted) cases += ", then interrupted";
  pugi::xml_node list = add(body, "dl");
  const auto say = [&](const char* what, const std::string& text) {
    if (text.empty()) return;
    add(list, "dt", what);
    add(list, "dd", text);
  };
  say("cases", cases);
  say("date", heading.date);
  say("command", heading.command);
  say("seed", fmt::format("{}", heading.seed));
  say("host", heading.host);
  say("mote", heading.version);
  say("backends", fmt::format("{}", fmt::join(heading.backends, ", ")));
  for (const std::string& contract : heading.contracts) say("contract", contract);
}

void add_legend(pugi::xml_node body) {
  add(body, "p",
      "In the maps a square is an element: pale where it is right; the stronger its colour, the "
      "further it is outside of its bound (a step is a factor of 100, the strongest also where the "
      "bits had to agree or the value is not finite); framed where it was never written; with a "
      "dotted frame where it is not known, since only the first wrong elements are kept.",
      "legend");
}

}  // namespace

std::string html_page(const Heading& heading, const CampaignResult& result) {
  pugi::xml_document document;
  document.append_child(pugi::node_doctype).set_value("html");
  pugi::xml_node html = document.append_child("html");
  set(html, "lang", "en");
  const std::string outcome = outcome_text(heading, result);
  const std::string title = "mote check: " + outcome;
  add_head(html, title);
  pugi::xml_node body = html.append_child("body");
  add(body, "h1", title, outcome.substr(0, outcome.find_first_of(" ,")));
  add_run(body, heading, result);
  const Matrix m = matrix_of(result);
  if (!result.coverage.empty()) {
    const CoverageSum covered = sum_of(result.coverage);
    add(body, "p",
        fmt::format("{} of {} cells (op, dtype, layout, parameter's value, backend) executed, {} "
                    "declined by backends, {} untested: listed behind each cell of the matrix.",
                    covered.executed, covered.cells(), covered.declined, covered.untested));
  }
  add_matrix(body, m);
  if (!result.failures.empty()) add_legend(body);
  for (const std::string& op : m.ops) {
    for (const std::string& backend : m.backends) {
      const auto found = m.cells.find({op, backend});
      if (found != m.cells.end()) add_section(body, op, backend, found->second, result);
    }
  }
  std::ostringstream text;
  document.save(text, "",
                pugi::format_raw | pugi::format_no_declaration | pugi::format_no_empty_element_tags,
                pugi::encoding_utf8);
  return text.str() + "\n";
}

}  // namespace mote::tool
