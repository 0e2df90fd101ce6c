// SPDX-License-Identifier: Apache-2.0
// Tests tables within a width, and the table of a campaign.
#include "report/table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "mote/oracle/mutants.h"
#include "mote/oracle/report.h"
#include "mote/oracle/text.h"

namespace mote {
namespace {

std::size_t widest(const std::string& text) {
  std::size_t columns = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) columns = std::max(columns, columns_of(line));
  return columns;
}

Table sample() {
  return {.lines = {{"op", "dtype", "backend", "judged", "passed", "failed", "weak"},
                    {"conv_transpose2d.grad.grad", "f32", "a_backend_with_a_very_long_name_indeed",
                     "1000001", "1000002", "0", "0"},
                    {"neg", "bf16", "gen", "1000003", "1000004", "1000005", "0"}},
          .left = {true, true, true}};
}

TEST(Table, FitsEveryWidthAndLosesNothing) {
  for (std::size_t columns = 30; columns <= 110; ++columns) {
    const std::string text = aligned(sample(), {.columns = columns});
    EXPECT_LE(widest(text), columns) << text;
    for (const char* number : {"1000001", "1000002", "1000003", "1000004", "1000005"})
      EXPECT_NE(text.find(number), std::string::npos) << columns << "\n" << text;
  }
}

TEST(Table, IsOneLineForEachWhereItFits) {
  const std::string text = aligned(sample(), {.columns = 110});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << text;
  EXPECT_NE(text.find("neg                         bf16   gen"), std::string::npos) << text;
}

TEST(Table, EmptyColumnsAreLeftOut) {
  Table table = sample();
  leave_out_columns(table, {"0"}, 3);
  EXPECT_EQ(table.lines[0], (Cells{"op", "dtype", "backend", "judged", "passed", "failed"}));
  EXPECT_EQ(table.lines[2].size(), 6U);
}

TEST(Table, ColoursAreOfWholeLinesAndTakeNoColumns) {
  Table table = sample();
  table.colours = {Colour::bold, Colour::none, Colour::red};
  const std::string plain = aligned(table, {.columns = 110});
  std::string coloured = aligned(table, {.columns = 110, .colour = true});
  EXPECT_NE(coloured.find("\x1b[31mneg"), std::string::npos) << coloured;
  for (const char* code : {"\x1b[31m", "\x1b[1m", "\x1b[0m"})
    for (std::size_t at; (at = coloured.find(code)) != std::string::npos;)
      coloured.erase(at, std::string(code).size());
  EXPECT_EQ(coloured, plain);
}

Row row(const std::string& op, DType dtype, std::initializer_list<std::pair<Verdict, int>> counts) {
  Row row;
  row.op = op;
  row.dtype = dtype;
  row.backend = "mine";
  row.reason = "x is not f32";
  for (const auto& [verdict, count] : counts) {
    row.counts[static_cast<std::size_t>(verdict)] = count;
    if (verdict == Verdict::passed || is_failure(verdict)) row.judged += count;
  }
  return row;
}

TEST(CampaignTable, SaysWhatItsWordsMeanAndNoMore) {
  CampaignResult result;
  result.rows = {row("gemm", DType::f32, {{Verdict::passed, 5}})};
  EXPECT_EQ(table_text(result),
            "op    dtype  backend  judged  passed\ngemm  f32    mine          5       5\n");
  result.rows = {row("gemm", DType::f32, {{Verdict::passed, 5}, {Verdict::vacuous, 2}}),
                 row("gemm", DType::f64, {{Verdict::passed, 5}, {Verdict::declined, 3}})};
  const std::string text = table_text(result);
  for (const char* word : {"\n  vacuous: ", "\n  declined: "})
    EXPECT_NE(text.find(word), std::string::npos) << text;
  for (const char* word : {"weak", "indeterminate", "skipped", "failed", "large", "not judged"})
    EXPECT_EQ(text.find(word), std::string::npos) << text;
  result.rows[0].indeterminate = 7;
  result.rows[1].counts[static_cast<std::size_t>(Verdict::weak)] = 1;
  const std::string more = table_text(result);
  for (const char* word : {"\n  weak: ", "\n  indeterminate: "})
    EXPECT_NE(more.find(word), std::string::npos) << more;
}

TEST(CampaignTable, RowsThatSayNothingAreOneLine) {
  CampaignResult result;
  result.rows = {row("gemm", DType::f32, {{Verdict::passed, 5}}),
                 row("gemm", DType::i32, {{Verdict::declined, 5}}),
                 row("gemm", DType::i64, {{Verdict::declined, 5}}),
                 row("matmul", DType::i32, {{Verdict::declined, 9}})};
  result.without_kernel["mine"] = {"softmax", "relu"};
  EXPECT_EQ(table_text(result),
            "op    dtype  backend  judged  passed\n"
            "gemm  f32    mine          5       5\n"
            "declined: 19 of 24 cases\n"
            "not judged:\n"
            "  mine declined gemm i32 i64, matmul i32 (gemm i32: x is not f32)\n"
            "  mine has no kernel for softmax, relu\n");
}

TEST(CampaignTable, FitsEveryWidth) {
  CampaignResult result;
  for (const char* op : {"conv_transpose2d.grad.grad", "gemm", "scaled_dot_product_attention"})
    for (const DType dtype : {DType::f32, DType::bf16, DType::f64}) {
      result.rows.push_back(row(op, dtype,
                                {{Verdict::passed, 123456},
                                 {Verdict::failed, 23456},
                                 {Verdict::weak, 3456},
                                 {Verdict::vacuous, 456},
                                 {Verdict::declined, 78901},
                                 {Verdict::skipped, 12}}));
      result.rows.back().backend = "a_backend_with_a_very_long_name_indeed";
      result.rows.back().indeterminate = 123456789;
      result.rows.back().judged_large = 99999;
      result.rows.back().errors[FillKind::integer] = 0.5;
      result.rows.push_back(row(op, DType::i32, {{Verdict::declined, 5}}));
    }
  for (std::size_t columns = 40; columns <= 100; ++columns)
    EXPECT_LE(widest(table_text(result, {.columns = columns})), columns);
}

TEST(MutantTable, FitsEveryWidth) {
  std::vector<MutantResult> results(2);
  results[0].mutant.name = "a_mutant_with_quite_a_long_name_of_its_own";
  results[0].mutant.op = "gemm";
  results[0].mutant.text = "leaves out the last K % 8 terms of each sum where K is large enough";
  results[0].state = MutantState::survived;
  results[0].cases = 123456;
  results[0].seconds = 1234.56;
  results[1] = results[0];
  results[1].note = "needs large";
  for (std::size_t columns = 40; columns <= 100; ++columns) {
    const std::string text = mutants_text(results, {.columns = columns});
    EXPECT_LE(widest(text), columns) << text;
  }
  const std::string text = mutants_text(results);
  EXPECT_NE(text.find("\n  survived: "), std::string::npos) << text;
  EXPECT_EQ(text.find("diagnosis"), std::string::npos) << text;  // the column would be empty
}

}  // namespace
}  // namespace mote
