// SPDX-License-Identifier: Apache-2.0
// Runs docs/language.md: its programs are read and their kernels checked, its commands run in
// order, and their output is that of the page; every word that the parser knows is on the page.
#include "mote/uops/language.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>

#include "mote/base/temporary_folder.h"
#include "support/shell.h"

namespace mote {
namespace {

std::string page() {
  std::ifstream stream(MOTE_DOCS_FOLDER "/language.md", std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

struct Block {
  std::string kind;  ///< mote, sh, output, error, ebnf
  std::string name;  ///< the name of a file
  std::string text;
  int line = 0;
};

std::vector<Block> blocks() {
  std::vector<Block> all;
  std::istringstream stream(page());
  bool is_inside = false;
  int number = 0;
  for (std::string line; std::getline(stream, line); ++number) {
    if (line.starts_with("```")) {
      is_inside = !is_inside;
      if (!is_inside) continue;
      std::istringstream head(line.substr(3));
      Block block;
      head >> block.kind >> block.name;
      block.line = number + 1;
      all.push_back(block);
    } else if (is_inside) {
      all.back().text += line + "\n";
    }
  }
  return all;
}

/// Runs mote in the folder.
test::Ran mote(const TemporaryFolder& folder, const std::string& arguments) {
  return test::run_in_shell(
      fmt::format("cd '{}' && '{}' {}", folder.path().string(), MOTE_TOOL, arguments));
}

/// Runs a line of commands of the page; "! " stands before one that fails.
test::Ran run_line(const TemporaryFolder& folder, const std::string& line) {
  const bool fails = line.starts_with("! ");
  test::Ran ran = mote(folder, line.substr(fails ? 7 : 5));
  EXPECT_EQ(ran.code != 0, fails) << line << "\n" << ran.out;
  return ran;
}

/// Expects that each line of the expected text is in the output, in that order.
void expect_printed(const std::string& expected, const std::string& printed, int line) {
  std::istringstream lines(expected);
  std::size_t at = 0;
  for (std::string one; std::getline(lines, one);) {
    const std::size_t found = printed.find(one, at);
    ASSERT_NE(found, std::string::npos)
        << "docs/language.md:" << line << ": not printed: " << one << "\n"
        << printed;
    at = found + one.size();
  }
}

class LanguagePage : public testing::Test {
 protected:
  /// Returns the block after number k, if it is of that kind.
  std::optional<Block> next(std::size_t k, const std::string& kind) const {
    if (k + 1 < blocks_.size() && blocks_[k + 1].kind == kind) return blocks_[k + 1];
    return std::nullopt;
  }
  std::string write(const Block& block) const {
    std::ofstream(folder_.path() / block.name, std::ios::binary) << block.text;
    return block.name;
  }
  const std::vector<Block> blocks_ = blocks();
  const TemporaryFolder folder_;
};

TEST_F(LanguagePage, ItsProgramsAreRightAndItsErrorsAreThosePrinted) {
  std::set<std::string> files;
  for (std::size_t k = 0; k < blocks_.size(); ++k) {
    if (blocks_[k].kind != "mote") continue;
    const std::string file = write(blocks_[k]);
    const test::Ran ran = mote(folder_, "explain " + file);
    if (const auto error = next(k, "error")) {
      EXPECT_EQ(ran.code, 2) << ran.out;
      EXPECT_EQ(ran.out, "mote: " + error->text);
      continue;
    }
    EXPECT_EQ(ran.code, 0) << "docs/language.md:" << blocks_[k].line << "\n" << ran.out;
    files.insert(file);
  }
  ASSERT_GE(files.size(), 15U);
  std::string all;
  for (const std::string& file : files) all += " " + file;
  const test::Ran checked = mote(folder_, "check" + all + " --backend gen --count 12 --seed 1");
  EXPECT_EQ(checked.code, 0) << checked.out;
  for (const std::string& file : files)
    EXPECT_NE(checked.out.find("\n" + file + " "), std::string::npos) << checked.out;
}

TEST_F(LanguagePage, ItsCommandsPrintWhatItSays) {
  int commands = 0;
  for (std::size_t k = 0; k < blocks_.size(); ++k) {
    if (blocks_[k].kind == "mote" && !next(k, "error")) write(blocks_[k]);
    if (blocks_[k].kind != "sh") continue;
    std::istringstream lines(blocks_[k].text);
    std::string printed;
    for (std::string line; std::getline(lines, line); ++commands)
      printed += run_line(folder_, line).out;
    for (const char* kind : {"output", "error"})
      if (const auto expected = next(k, kind))
        expect_printed(expected->text, printed, blocks_[k].line);
  }
  EXPECT_GE(commands, 5);
}

/// True if the text has the word at the start of a code span.
bool has(const std::string& text, std::string_view word) {
  return text.find(fmt::format("`{}`", word)) != std::string::npos ||
         text.find(fmt::format("`{}(", word)) != std::string::npos ||
         text.find(fmt::format("`{}[", word)) != std::string::npos ||
         text.find(fmt::format("`{} ", word)) != std::string::npos;
}

TEST_F(LanguagePage, HasEveryWordOfTheParser) {
  std::string prose = page(), grammar;
  for (const Block& block : blocks_)
    if (block.kind == "ebnf") grammar += block.text;
  const LanguageWords words = language_words();
  for (const auto* list : {&words.statements, &words.operators, &words.functions, &words.reductions,
                           &words.forms, &words.scatter_ops, &words.constants, &words.dtypes})
    for (const std::string_view word : *list)
      EXPECT_TRUE(has(prose, word)) << word << " is not on the page";
  for (const auto* list :
       {&words.statements, &words.operators, &words.reductions, &words.forms, &words.scatter_ops,
        &words.constants, &words.dtypes, &words.joints, &words.index_functions})
    for (const std::string_view word : *list)
      EXPECT_NE(grammar.find(fmt::format("\"{}\"", word)), std::string::npos)
          << word << " is not in the grammar";
}

/// Every word in quotes of the page's grammar is known to the parser.
TEST_F(LanguagePage, HasNoOtherWords) {
  const LanguageWords words = language_words();
  std::set<std::string, std::less<>> known = {"i"};
  for (const auto* list : {&words.statements, &words.reductions, &words.forms, &words.scatter_ops,
                           &words.constants, &words.dtypes, &words.joints, &words.index_functions})
    known.insert(list->begin(), list->end());
  for (const Block& block : blocks_) {
    if (block.kind != "ebnf") continue;
    for (std::size_t at = block.text.find('"'); at != std::string::npos;) {
      const std::size_t end = block.text.find('"', at + 1);
      if (end == std::string::npos) break;
      const std::string word = block.text.substr(at + 1, end - at - 1);
      const bool is_name = !word.empty() && std::isalpha(static_cast<unsigned char>(word[0])) != 0;
      EXPECT_TRUE(!is_name || word.size() == 1 || known.contains(word)) << word;
      at = block.text.find('"', end + 1);
    }
  }
}

}  // namespace
}  // namespace mote
