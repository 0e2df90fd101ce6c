// SPDX-License-Identifier: Apache-2.0
// Reads phrases of the text of loop programs, and looks up the names in it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "ir/syntax.h"
#include "mote/base/near_names.h"

namespace mote::loop_text {
namespace {

/// The longest text: programs of the catalogue have less than 100,000 bytes.
constexpr std::size_t kMaxText = std::size_t{1} << 22U;

}  // namespace

Cursor::Cursor(std::string_view text) : TextCursor(text, "loops", kMaxText) {}

bool Cursor::accept_phrase(std::string_view phrase) {
  const std::size_t start = at_;
  while (!phrase.empty()) {
    const std::size_t size = std::min(phrase.find(' '), phrase.size());
    if (!accept_word(phrase.substr(0, size))) {
      at_ = start;
      return false;
    }
    phrase.remove_prefix(std::min(size + 1, phrase.size()));
  }
  return true;
}

bool Cursor::peek_phrase(std::string_view phrase) {
  const std::size_t start = at_;
  const bool found = accept_phrase(phrase);
  at_ = start;
  return found;
}

void Cursor::expect_phrase(std::string_view phrase) {
  if (!accept_phrase(phrase)) expected(fmt::format("'{}'", phrase));
}

int Cursor::small_integer(std::string_view what) {
  constexpr int kMost = std::numeric_limits<int>::max();
  const std::size_t at = position();
  const std::int64_t n = integer();
  if (n < 0 || n > kMost) fail(at, fmt::format("expected {} from 0 to {}, got {}", what, kMost, n));
  return static_cast<int>(n);
}

DType Cursor::dtype() {
  const std::size_t at = position();
  const std::string said = word("a dtype");
  if (const std::optional<DType> found = parse_dtype(said)) return *found;
  std::vector<std::string> known;
  for (const DType d : all_dtypes()) known.emplace_back(name(d));
  fail(at, fmt::format("unknown dtype '{}'{} (known: {})", said, did_you_mean(said, known),
                       fmt::join(known, ", ")));
}

std::string Cursor::behind_word() {
  std::size_t end = position() + peek_word().size();
  while (end < text_.size() && text_[end] == ' ') ++end;
  return text_.substr(end, std::min(text_.find('\n', end), text_.size()) - end);
}

std::string Cursor::name_before_bracket() {
  const std::size_t start = position();
  const std::size_t end = std::min(text_.find_first_of("(\n", start), text_.size());
  at_ = end;
  if (end == start) expected("a program: NAME(inputs) -> (outputs)");
  std::string name = text_.substr(start, end - start);
  name.erase(name.find_last_not_of(" \t\r") + 1);
  return name;
}

const Names::Meaning* Names::find(std::string_view name) const {
  const auto found = known.find(name);
  return found == known.end() ? nullptr : &found->second;
}

std::vector<std::string> Names::all() const {
  std::vector<std::string> out;
  for (const auto& [name, meaning] : known) out.push_back(name);
  for (const auto& [name, value] : sizes) out.push_back(name);
  return out;
}

}  // namespace mote::loop_text
