// SPDX-License-Identifier: Apache-2.0
// Tests the numbers, foreign bytes and long lines of reports; JSON is valid for any content.
#include "mote/oracle/text.h"

#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "mote/oracle/report.h"
#include "report/json_line.h"

namespace mote {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Text, ANanHasNoSign) {
  EXPECT_EQ(number_text(kNan), "nan");
  EXPECT_EQ(number_text(-kNan), "nan");
  EXPECT_EQ(number_text(Number(-kNan)), "nan");
  EXPECT_EQ(number_text(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(number_text(-0.0), "-0");
  EXPECT_EQ(number_text(Number(std::int64_t{-5})), "-5");
}

TEST(Text, ADifferenceShowsNoSignOfANan) {
  Outcome outcome;
  outcome.verdict = Verdict::failed;
  outcome.elements = outcome.differing = 1;
  outcome.differences = {{"y", {0}, Number(-kNan), Number(1.0), {}}};
  outcome.differences[0].allowed.emplace(Number(-kNan), Number(2.0));
  EXPECT_EQ(differences_text(outcome, 1), "  y[0]: expected nan, got 1, allowed [nan, 2]\n");
  const Case c = parse_case("neg x=f32[1,1,1,1]");
  EXPECT_NE(outcome_json(c, outcome).find(R"("expected":"nan")"), std::string::npos);
}

TEST(Text, BytesBesideUtf8AreEscaped) {
  EXPECT_EQ(valid_utf8("plain é €  😀"), "plain é €  😀");
  EXPECT_EQ(valid_utf8("a\xff"
                       "b"),
            "a\\xffb");
  EXPECT_EQ(valid_utf8("\xc3"), "\\xc3");                             // truncated
  EXPECT_EQ(valid_utf8("\xc0\xaf"), "\\xc0\\xaf");                    // overlong
  EXPECT_EQ(valid_utf8("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // a surrogate
  EXPECT_EQ(valid_utf8("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond U+10FFFF
  EXPECT_EQ(columns_of("é€😀"), 3U);
  EXPECT_EQ(code_point("a"), 0x61U);
  EXPECT_EQ(code_point("é"), 0xe9U);
  EXPECT_EQ(code_point("€"), 0x20acU);
  EXPECT_EQ(code_point("😀"), 0x1f600U);
}

TEST(Text, JsonIsValidWhateverItHolds) {
  for (int byte = 1; byte < 256; ++byte) {
    const std::string text = std::string("x") + static_cast<char>(byte) + "y";
    const auto line = json_line(nlohmann::ordered_json{{"a", {text, 1}}, {text, {{"b", text}}}});
    const auto read = nlohmann::json::parse(line);
    EXPECT_EQ(read.at("a").at(0), valid_utf8(text)) << byte;
    EXPECT_EQ(read.at(valid_utf8(text)).at("b"), valid_utf8(text)) << byte;
  }
}

TEST(Text, LinesKeepToTheWidth) {
  const std::string text =
      "one, two three /a/long/path/that/does/not/fit/into/a/line and a word_without_any_separator_"
      "in_it é€😀é€😀é€😀é€😀é€😀é€😀é€😀é€😀é€😀é€😀é€😀";
  for (std::size_t width = 1; width < 90; ++width) {
    std::istringstream lines(wrapped(text, width, 4));
    std::string all;
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(columns_of(line), width);
      EXPECT_TRUE(is_utf8(line));
      all += line;
    }
    std::erase(all, ' ');
    std::string expected = text;
    std::erase(expected, ' ');
    EXPECT_EQ(all, expected) << width;
  }
  EXPECT_EQ(wrapped("a b c", 3, 1), "a b\n c\n");
  EXPECT_EQ(wrapped("", 10, 2), "\n");
}

}  // namespace
}  // namespace mote
