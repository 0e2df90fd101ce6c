// SPDX-License-Identifier: Apache-2.0
// Reads the names of tapes' functions.
#include <algorithm>
#include <charconv>
#include <span>
#include <string>
#include <vector>

#include "gradient/tape.h"
#include "gradient/tape_parts.h"
#include "gradient/tape_store.h"

namespace mote {
namespace {

/// Splits a text at blanks.
std::vector<std::string> tape_words(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::optional<std::uint64_t> tape_number(const std::string& word) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  if (word.size() > 1 && word.front() == '0') return std::nullopt;
  return number;
}

/// True for "v", "v.3", "v.3.14"; later gradients do not get these numbers.
bool is_path(const std::string& word) {
  if (!word.starts_with(kValuesPath)) return false;
  for (std::size_t at = std::string_view(kValuesPath).size(); at < word.size();) {
    const std::size_t end = std::min(word.find('.', at + 1), word.size());
    const std::optional<std::uint64_t> number = tape_number(word.substr(at + 1, end - at - 1));
    if (word[at] != '.' || !number) return false;
    keep_gradient_number(*number);
    at = end;
  }
  return true;
}

/// Reads the path and the numbers of values.
std::optional<TapePart> read_part(const std::shared_ptr<Tape>& tape,
                                  std::span<const std::string> words) {
  if (words.empty() || !is_path(words[0])) return std::nullopt;
  TapePart part{tape, words[0], {}};
  for (const std::string& word : words.subspan(1)) {
    const std::optional<std::uint64_t> value = tape_number(word);
    if (!value || *value > 0xFFFF) return std::nullopt;
    part.values.push_back(static_cast<std::uint32_t>(*value));
  }
  return part;
}

/// Reads rules: a value, a decision and a branch each.
std::optional<std::vector<KeptIf>> read_rules(std::span<const std::string> words) {
  std::vector<std::uint32_t> numbers;
  for (const std::string& word : words) {
    const std::optional<std::uint64_t> number = tape_number(word);
    if (!number || *number > 0xFFFF) return std::nullopt;
    numbers.push_back(static_cast<std::uint32_t>(*number));
  }
  if (numbers.empty() || numbers.size() % 3 != 0) return std::nullopt;
  std::vector<KeptIf> rules;
  for (std::size_t k = 0; k < numbers.size(); k += 3)
    rules.push_back({numbers[k], numbers[k + 1], numbers[k + 2]});
  return rules;
}

std::optional<NamedFunction> read_push(const std::shared_ptr<Tape>& tape,
                                       std::span<const std::string> words) {
  if (words.empty()) return tape_push(tape);
  if (words[0] != kTapeIf) return std::nullopt;
  std::optional<std::vector<KeptIf>> rules = read_rules(words.subspan(1));
  return rules ? std::optional(tape_push(tape, std::move(*rules))) : std::nullopt;
}

}  // namespace

std::optional<NamedFunction> tape_function(std::string_view name, Tapes& tapes) {
  for (const std::string_view function :
       {kTapePush, kTapeCount, kTapeGet, kTapeAdd, kTapeKeep, kTapeTake, kTapeReach, kTapeMark}) {
    if (!name.starts_with(std::string(function) + " ")) continue;
    const std::vector<std::string> words = tape_words(name.substr(function.size() + 1));
    const std::optional<std::uint64_t> number =
        words.empty() ? std::nullopt : tape_number(words[0]);
    if (!number || *number == 0) return std::nullopt;
    std::shared_ptr<Tape>& tape = tapes[*number];
    if (tape == nullptr) tape = std::make_shared<Tape>(*number);
    const bool is_alone = words.size() == 1;
    if (function == kTapeTake) return is_alone ? std::optional(tape_take(tape)) : std::nullopt;
    if (function == kTapeKeep || function == kTapeReach || function == kTapeMark) {
      if (words.size() != 2) return std::nullopt;
      if (function == kTapeKeep && words[1] == kTapeSquareRoot)
        return tape_keep(tape, kKeepSquareRoot);
      const std::optional<std::uint64_t> most = tape_number(words[1]);
      if (!most || *most == 0 || *most > 0x7FFFFFFF) return std::nullopt;
      const auto make = function == kTapeKeep    ? tape_keep
                        : function == kTapeReach ? tape_reach
                                                 : tape_mark;
      return make(tape, static_cast<std::int64_t>(*most));
    }
    if (function == kTapePush) return read_push(tape, std::span(words).subspan(1));
    if (function == kTapeCount) return is_alone ? std::optional(tape_count(tape)) : std::nullopt;
    const std::optional<TapePart> part = read_part(tape, std::span(words).subspan(1));
    if (!part) return std::nullopt;
    if (function == kTapeAdd) return add_function(*part);
    tape->count_reader(part->path);
    return get_function(*part);
  }
  return std::nullopt;
}

}  // namespace mote
