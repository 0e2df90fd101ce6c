// SPDX-License-Identifier: Apache-2.0
// Maps words to their meaning for the parser, and lists all of them.
#include "program/language.h"

#include <algorithm>
#include <array>

#include "graph/node.h"
#include "mote/uops/language.h"
#include "mote/uops/map_ops.h"

namespace mote {
namespace {

using std::string_view_literals::operator""sv;

// The words are in the order of Statement and of ValueForm.
constexpr std::array kStatements = {"op"sv,   "param"sv,   "input"sv,
                                    "size"sv, "require"sv, "output"sv};
constexpr std::array kForms = {"iota"sv, "select"sv, "scatter"sv, "select_scatter"sv,
                               "stop_gradient"sv};

constexpr std::array kConstants = {"inf"sv, "nan"sv, "true"sv, "false"sv};
constexpr auto kMean = "mean"sv;
constexpr std::array kIndexFunctions = {"min"sv, "max"sv};
constexpr std::array kJoints = {"over"sv, "else"sv, "keep"sv, "in"sv, "rank"sv, "int"sv, "real"sv};
/// A word only within a scatter, so a value may have that name.
constexpr auto kTo = "to"sv;
/// A word that is reserved but not used yet.
constexpr auto kKept = "integer"sv;

template <typename Words>
std::optional<std::size_t> place_in(const Words& words, std::string_view word) {
  const auto at = std::ranges::find(words, word);
  if (at == words.end()) return std::nullopt;
  return static_cast<std::size_t>(at - words.begin());
}

template <typename T, typename Words>
std::optional<T> find_in(const Words& words, std::string_view word) {
  const auto at = place_in(words, word);
  return at ? std::optional(static_cast<T>(*at)) : std::nullopt;
}

/// In program text equality binds as the other comparisons do, and none of them chains.
text::Precedence level_of(text::Precedence precedence) {
  return precedence == text::kEquality ? text::kRelation : precedence;
}

template <typename Words>
std::vector<std::string_view> listed(const Words& words) {
  return {words.begin(), words.end()};
}

std::vector<std::string_view> element_functions() {
  std::vector<std::string_view> names;
  for (const MapOpInfo& row : map_ops())
    if (row.op != MapOp::cast) names.push_back(row.name);
  return names;
}

}  // namespace

std::optional<Statement> find_statement(std::string_view word) {
  return find_in<Statement>(kStatements, word);
}

std::optional<ValueForm> find_value_form(std::string_view word) {
  return find_in<ValueForm>(kForms, word);
}

std::span<const InfixOperator> infix_operators() {
  static const std::vector<InfixOperator> all = [] {
    std::vector<InfixOperator> found;
    for (const MapOpInfo& row : map_ops())
      if (row.infix) found.push_back({row.infix->symbol, row.op, level_of(row.infix->precedence)});
    std::ranges::stable_sort(found, std::ranges::greater(),
                             [](const InfixOperator& one) { return one.symbol.size(); });
    return found;
  }();
  return all;
}

bool is_constant_word(std::string_view word) { return place_in(kConstants, word).has_value(); }

bool is_reduction(std::string_view word) {
  return word == kMean || find_reduce_op(word).has_value();
}

bool is_index_function(std::string_view word) {
  return place_in(kIndexFunctions, word).has_value();
}

bool is_reserved_word(std::string_view word) {
  return find_statement(word) || find_value_form(word) || is_constant_word(word) ||
         place_in(kJoints, word) || word == kKept || is_reduction(word) || find_map_op(word) ||
         parse_dtype(word);
}

LanguageWords language_words() {
  LanguageWords words{.statements = listed(kStatements),
                      .operators = {},
                      .functions = element_functions(),
                      .reductions = {kMean},
                      .forms = listed(kForms),
                      .scatter_ops = {},
                      .constants = listed(kConstants),
                      .dtypes = {},
                      .joints = listed(kJoints),
                      .index_functions = listed(kIndexFunctions)};
  for (const InfixOperator& infix : infix_operators()) words.operators.push_back(infix.symbol);
  for (int k = 0; k <= static_cast<int>(ReduceOp::all); ++k)
    words.reductions.push_back(name(static_cast<ReduceOp>(k)));
  for (int k = 0; k <= static_cast<int>(ScatterOp::set); ++k)
    words.scatter_ops.push_back(name(static_cast<ScatterOp>(k)));
  for (const DType d : all_dtypes()) words.dtypes.push_back(name(d));
  words.joints.push_back(kTo);
  return words;
}

}  // namespace mote
