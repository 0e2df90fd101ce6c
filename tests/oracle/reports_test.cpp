// SPDX-License-Identifier: Apache-2.0
// Tests reports of a campaign that finds planted bugs: a parser reads them back, every link has a
// target, every failure has its replay line.
#include "reports/reports.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <pugixml.hpp>
#include <set>

#include "mote/oracle/report.h"
#include "reports/heat_map.h"

namespace mote::tool {
namespace {

struct Checked {
  Backends backends;
  CampaignResult result;
};

/// A correct gemm, and one with a planted bug.
const Checked& checked() {
  static const Checked checked = [] {
    Checked c;
    const std::string folder = MOTE_MUTANTS_FOLDER;
    c.backends = find_backends({folder + "/gemm_correct.so", folder + "/gemm_k_tail.so"});
    CampaignOptions options;
    options.backends = select_backends(c.backends, {"gemm_correct", "gemm_k_tail"}).chosen;
    options.peers = c.backends.all;
    options.ops = {"gemm"};
    options.count = 120;
    options.seed = 12;
    c.result = run_campaign(options);
    c.result.coverage = coverage_of(options, c.result);
    return c;
  }();
  return checked;
}

Heading heading() {
  return {.version = "0.1.0",
          .seed = 12,
          .backends = {"gemm_correct", "gemm_k_tail"},
          .contracts = {"contract of gemm_correct (gemm): accumulator f64, deterministic",
                        "contract of gemm_k_tail (gemm): accumulator f32"},
          .exit = 1};
}

pugi::xml_document parsed(const std::string& text) {
  pugi::xml_document document;
  const auto status =
      document.load_buffer(text.data(), text.size(), pugi::parse_default | pugi::parse_doctype);
  EXPECT_TRUE(status) << status.description() << " at " << status.offset;
  return document;
}

std::int64_t number(pugi::xml_node node, const char* attribute) {
  return node.attribute(attribute).as_llong(-1);
}

TEST(Junit, CountsWhatItHolds) {
  const pugi::xml_document document = parsed(junit_xml(heading(), checked().result));
  const pugi::xml_node root = document.child("testsuites");
  std::int64_t suites = 0;
  for (const pugi::xml_node suite : root.children("testsuite")) {
    ++suites;
    std::int64_t tests = 0;
    std::int64_t failures = 0;
    std::int64_t skipped = 0;
    for (const pugi::xml_node test : suite.children("testcase")) {
      ++tests;
      failures += test.child("failure") ? 1 : 0;
      skipped += test.child("skipped") ? 1 : 0;
    }
    EXPECT_EQ(tests, number(suite, "tests"));
    EXPECT_EQ(failures, number(suite, "failures"));
    EXPECT_EQ(skipped, number(suite, "skipped"));
    const bool planted = std::string(suite.attribute("name").value()) == "gemm_k_tail";
    EXPECT_EQ(failures > 0, planted) << suite.attribute("name").value();
  }
  EXPECT_EQ(suites, 2);
  EXPECT_EQ(number(root, "tests"), static_cast<std::int64_t>(checked().result.rows.size()));
}

/// A suite states the contracts of its own backend.
TEST(Junit, SaysByWhichContractABackendIsJudged) {
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(junit_xml(heading(), checked().result).c_str()));
  for (const pugi::xml_node suite : document.child("testsuites").children("testsuite")) {
    std::vector<std::string> contracts;
    for (const pugi::xml_node p : suite.child("properties").children("property"))
      if (std::string(p.attribute("name").value()) == "contract")
        contracts.emplace_back(p.attribute("value").value());
    const std::size_t own = std::string(suite.attribute("name").value()) == "gemm_correct" ? 0 : 1;
    EXPECT_EQ(contracts, (std::vector<std::string>{heading().contracts[own]}));
  }
}

TEST(Page, SaysByWhichContractsBackendsAreJudged) {
  const std::string page = html_page(heading(), checked().result);
  for (const std::string& contract : heading().contracts)
    EXPECT_NE(page.find(contract), std::string::npos) << contract;
}

TEST(Junit, AFailureSaysHowToReplayIt) {
  ASSERT_FALSE(checked().result.failures.empty());
  const std::string replay = replay_command(checked().result.failures[0].smallest);
  const pugi::xml_document document = parsed(junit_xml(heading(), checked().result));
  const pugi::xpath_node_set failures = document.select_nodes("//failure");
  ASSERT_FALSE(failures.empty());
  for (const pugi::xpath_node& f : failures) {
    EXPECT_NE(std::string(f.node().child_value()).find(replay), std::string::npos);
    EXPECT_NE(std::string(f.node().attribute("message").value()), "");
  }
}

TEST(Junit, TextOfASubjectCannotBreakIt) {
  CampaignResult result = checked().result;
  result.failures[0].outcome.reason = "]]></failure> <&\"'\x01\x1b[31m é";
  const pugi::xml_document document = parsed(junit_xml(heading(), result));
  const std::string text = document.select_node("//failure").node().child_value();
  EXPECT_NE(text.find("]]></failure> <&\"'??[31m é"), std::string::npos) << text;
}

TEST(Page, IsWellFormedAndEveryLinkLeadsToASection) {
  const pugi::xml_document document = parsed(html_page(heading(), checked().result));
  std::set<std::string> ids;
  for (const pugi::xpath_node& n : document.select_nodes("//*[@id]")) {
    EXPECT_TRUE(ids.insert(n.node().attribute("id").value()).second);
  }
  const pugi::xpath_node_set links = document.select_nodes("//a");
  EXPECT_EQ(links.size(), 2U);
  for (const pugi::xpath_node& n : links) {
    const std::string to = n.node().attribute("href").value();
    ASSERT_EQ(to.substr(0, 1), "#");
    EXPECT_TRUE(ids.contains(to.substr(1))) << to;
  }
}

TEST(Page, NeedsNothingFromOutside) {
  const std::string text = html_page(heading(), checked().result);
  for (const char* outside : {"http://", "https://", "<script", "src=", "@import", "url("}) {
    EXPECT_EQ(text.find(outside), std::string::npos) << outside;
  }
}

TEST(Page, SaysWhichOtherBackendsAgree) {
  const pugi::xml_document document = parsed(html_page(heading(), checked().result));
  const std::string text = document.select_node("//p[@class = 'peers']").node().child_value();
  EXPECT_TRUE(text.starts_with("other backends agree with the reference: gemm_correct")) << text;
}

TEST(Page, ListsWhatIsUntested) {
  const pugi::xml_document document = parsed(html_page(heading(), checked().result));
  const auto sections = document.select_nodes("//details[@class = 'coverage']");
  EXPECT_EQ(sections.size(), 2U);  // gemm on each backend
  const std::string text = html_page(heading(), checked().result);
  EXPECT_NE(text.find("bf16 declined: all"), std::string::npos);
}

TEST(Page, TheMapHasASquareForEachElement) {
  const Failure& f = checked().result.failures[0];
  const pugi::xml_document document = parsed(html_page(heading(), checked().result));
  const pugi::xml_node figure = document.select_node("//figure").node();
  ASSERT_TRUE(figure);
  std::int64_t squares = 0;
  std::int64_t wrong = 0;
  for (const pugi::xml_node square : figure.child("svg").children("rect")) {
    ++squares;
    wrong += std::string(square.attribute("class").value()) != "right" ? 1 : 0;
  }
  EXPECT_EQ(squares, f.outcome.elements);
  EXPECT_EQ(wrong, f.outcome.differing);
}

TEST(Page, ALargeOutputIsDrawnWithSeveralElementsASquare) {
  Failure f = checked().result.failures[0];
  f.smallest.outputs[0].shape = {100, 1000};
  f.outcome.differences.resize(1);
  f.outcome.differences[0].index = {99, 999};
  pugi::xml_document document;
  add_heat_maps(document.append_child("body"), f.smallest, f.outcome);
  EXPECT_EQ(document.select_nodes("//rect").size(), 34U * 48U);  // 3 x 21 elements each
  const pugi::xml_node wrong = document.select_node("//rect[@class != 'right']").node();
  EXPECT_EQ(wrong.attribute("x").as_int() / 12, 47);
  EXPECT_EQ(wrong.attribute("y").as_int() / 12, 33);
}

TEST(Severity, IsTheErrorInAllowances) {
  Difference d{"y", {0}, Number{10.0}, Number{16.0}, std::nullopt};
  EXPECT_TRUE(std::isinf(severity(d)));  // exact
  d.allowed.emplace(Number{9.0}, Number{12.0});
  EXPECT_EQ(severity(d), 3);
  d.got = Number{6.0};
  EXPECT_EQ(severity(d), 4);
  d.got = Number{std::numeric_limits<double>::quiet_NaN()};
  EXPECT_TRUE(std::isinf(severity(d)));
}

TEST(Github, AnAnnotationIsOneLine) {
  const std::string text = github_annotations(checked().result);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'),
            static_cast<std::ptrdiff_t>(checked().result.failures.size()));
  EXPECT_EQ(text.rfind("::error title=gemm on gemm_k_tail", 0), 0U) << text;
  EXPECT_NE(text.find("%0A  replay: mote replay"), std::string::npos) << text;
}

}  // namespace
}  // namespace mote::tool
