// SPDX-License-Identifier: Apache-2.0
// The texts of the examples, of the fuzzer's corpus and of gradients of loops, whose words are
// exchanged, repeated and left out at random: each is an error in words or a graph that can be
// checked, differentiated and run. MOTE_TEXT_MUTATIONS sets the number of texts (3,000), MOTE_SEED
// the first seed; a failure prints its own.
#include <gtest/gtest.h>

#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "graphs/symbolic/graph_text_trial.h"
#include "support/random_run.h"

namespace mote {
namespace {

using Words = std::vector<std::string>;

bool is_of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

/// Splits a text into words, numbers, quoted names, blanks and other characters, one each.
Words words_of(std::string_view text) {
  Words words;
  while (!text.empty()) {
    std::size_t end = 1;
    if (is_of_word(text[0]) || text[0] == '-')
      while (end < text.size() && is_of_word(text[end])) ++end;
    else if (text[0] == '"')
      end = std::min(text.find('"', 1), text.size() - 1) + 1;
    else if (text[0] == ' ')
      end = std::min(text.find_first_not_of(' '), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return words;
}

constexpr std::array kKnownWords = {"\"tape push 1\"",
                                    "\"tape push 1 if 0 0 1\"",
                                    "\"tape count 1\"",
                                    "\"tape get 1 v 0\"",
                                    "\"tape get 1 v\"",
                                    "\"tape get 1 v.1 0 3\"",
                                    "\"tape add 1 v.1 0\"",
                                    "\"tape keep 1 sqrt\"",
                                    "\"tape keep 1 2\"",
                                    "\"tape take 1\"",
                                    "\"tape reach 1 2\"",
                                    "\"tape mark 1 2\"",
                                    "\"step count\"",
                                    "\"step zeros\"",
                                    "\"step zero state\"",
                                    "\"step take\"",
                                    "\"step put\"",
                                    "\"step add\"",
                                    "\"step alone\"",
                                    "\"f\"",
                                    "function",
                                    "_",
                                    "-1",
                                    "0",
                                    "1",
                                    "65535",
                                    "2147483647",
                                    "9223372036854775807",
                                    "1e300",
                                    "nan",
                                    "f64",
                                    "i64",
                                    "checkpoint",
                                    "sqrt",
                                    "counter",
                                    "limit"};

/// The text of a loop of four iterations with its gradient.
std::string text_of_gradient(const std::string& checkpoints) {
  SymbolicGraph g = parse_graph(
      "graph g(x f32[3], w f32[3], s f32[4,3]) -> (y)\n  y = while (x, w, s) counter limit 9" +
      checkpoints +
      " {\n    graph step(x f32[3], w f32[3], s f32[4,3], c i64[]) -> (t, left)\n"
      "      n = constant i64[] [4]\n      left = sub(n, c)\n      v = tensor f32[3]\n"
      "      v <- function \"step take\"(s, c)\n      h = mul(x, w)\n      a = add(h, v)\n"
      "      t = tanh(a)\n  }\n");
  test::differentiate(g);
  return to_text(g);
}

std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> all_texts() {
  std::vector<std::string> texts = {text_of_gradient(""), text_of_gradient(" checkpoint sqrt"),
                                    text_of_gradient(" checkpoint 2")};
  const std::filesystem::path root = MOTE_SOURCE_DIR;
  for (const char* folder : {"examples", "tests/fuzz/corpus/graph"})
    for (const auto& entry : std::filesystem::directory_iterator(root / folder))
      if (entry.path().extension() == ".graph" || std::string(folder) != "examples")
        texts.push_back(text_of_file(entry.path()));
  std::ranges::sort(texts);
  return texts;
}

std::string joined(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += word;
  return text;
}

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::string mutate(const std::vector<std::string>& texts) {
    Words words = words_of(texts[below(texts.size())]);
    const std::size_t times = 1 + below(4);
    for (std::size_t k = 0; k < times && !words.empty(); ++k) change(words);
    return joined(words);
  }

 private:
  std::size_t below(std::size_t end) { return static_cast<std::size_t>(random_() % end); }

  void change(Words& words) {
    const std::size_t at = below(words.size());
    const auto place = words.begin() + static_cast<std::ptrdiff_t>(at);
    switch (below(5)) {
      case 0:
        words.erase(place);
        break;
      case 1:
        words.insert(place, words[below(words.size())]);
        break;
      case 2:
        words[at] = words[below(words.size())];
        break;
      case 3:
        words[at] = kKnownWords[below(kKnownWords.size())];
        break;
      default:  // another quoted name, since those are rare
        for (std::size_t k = 0; k < words.size(); ++k)
          if (std::string& word = words[(at + k) % words.size()]; word[0] == '"') {
            word = kKnownWords[below(kKnownWords.size())];
            break;
          }
    }
  }

  std::mt19937_64 random_;
};

TEST(TextMutations, AreErrorsInWordsOrGraphsThatRun) {
  const std::vector<std::string> texts = all_texts();
  ASSERT_GT(texts.size(), 9U);
  const std::string wanted = test::environment("MOTE_TEXT_MUTATIONS");
  const std::uint64_t count = wanted.empty() ? 3000 : std::stoull(wanted);
  const std::uint64_t first = test::first_seed();
  test::say_seed_on_crash("crashed in a changed text of a graph: MOTE_TEXT_MUTATIONS=1 MOTE_SEED=");
  std::array<std::uint64_t, 4> reached{};
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    test::current_seed = seed;
    const std::string text = Mutator(seed).mutate(texts);
    try {
      ++reached[static_cast<std::size_t>(test::try_graph_text(text))];
    } catch (const test::BrokenPromise& broken) {
      FAIL() << broken.what << "\nMOTE_TEXT_MUTATIONS=1 MOTE_SEED=" << seed << "\n" << text;
    }
  }
  if (count < 1000) return;
  for (const std::uint64_t number : {reached[0], reached[3]}) EXPECT_GT(number, count / 50);
}

TEST(TextMutations, TheTextsThemselvesRun) {
  for (const std::string& text : all_texts()) EXPECT_GE(test::try_graph_text(text), 1) << text;
}

}  // namespace
}  // namespace mote
