// SPDX-License-Identifier: Apache-2.0
#include "mote/memory/minimalloc.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <concepts>
#include <optional>
#include <utility>

#include "mote/base/characters.h"
#include "mote/base/error.h"

namespace mote {
namespace {

enum Column : std::uint8_t { kId, kLower, kUpper, kSize, kAlignment, kOffset, kColumns };
constexpr std::array<std::string_view, kColumns> kNames = {"id",   "lower",     "upper",
                                                           "size", "alignment", "offset"};

struct Field {
  std::string_view text;
  std::size_t line = 0;
  std::size_t column = 0;  // of its first character, from 1
};

/// Returns the text as it may stand in a message of one line.
std::string quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text.substr(0, 40))
    result += static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? '?' : c;
  return result + (text.size() > 40 ? "…'" : "'");
}

[[noreturn]] void fail(const Field& field, const std::string& what) {
  throw Error("minimalloc: line " + std::to_string(field.line) + ", column " +
              std::to_string(field.column) + ": " + what);
}

std::vector<Field> fields_of(std::string_view line, std::size_t number) {
  std::vector<Field> fields;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(',', begin), line.size());
    std::size_t first = begin, last = end;
    while (first < last && is_space(line[first])) ++first;
    while (last > first && is_space(line[last - 1])) --last;
    fields.push_back({line.substr(first, last - first), number, first + 1});
    begin = end + 1;
  }
  return fields;
}

template <std::integral Number>
Number integer_of(const Field& field, const char* name) {
  Number number = 0;
  const char* const end = field.text.data() + field.text.size();
  const auto [at, error] = std::from_chars(field.text.data(), end, number);
  if (error == std::errc::result_out_of_range)
    fail(field, std::string(name) + " is " + quoted(field.text) + ", which is out of range");
  if (error != std::errc() || at != end)
    fail(field, std::string(name) + " is " + quoted(field.text) + ", expected an integer");
  return number;
}

class Reader {
 public:
  MinimallocFile read(std::string_view text) {
    std::size_t number = 0;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      read_line(text.substr(begin, end - begin), ++number);
      begin = end + 1;
    }
    if (columns_ == 0) fail({{}, 1, 1}, "expected the names of columns: id,lower,upper,size");
    file_.problem.interference = Interference::of_lifetimes(std::move(lifetimes_));
    return std::move(file_);
  }

 private:
  void read_line(std::string_view line, std::size_t number) {
    const std::vector<Field> fields = fields_of(line, number);
    if (fields.size() == 1 && fields[0].text.empty()) return;
    if (columns_ == 0) return read_header(fields);
    if (fields.size() != columns_)
      fail(fields.back(),
           std::to_string(fields.size()) + " fields, expected " + std::to_string(columns_));
    read_block(fields);
  }

  void read_header(const std::vector<Field>& fields) {
    for (std::size_t k = 0; k < fields.size(); ++k) {
      const auto* const name = std::find(kNames.begin(), kNames.end(), fields[k].text);
      if (name == kNames.end())
        fail(fields[k], "column " + quoted(fields[k].text) +
                            " is unknown, expected id, lower, upper, size, alignment or offset");
      std::optional<std::size_t>& location =
          locations_[static_cast<std::size_t>(name - kNames.begin())];
      if (location) fail(fields[k], "column " + quoted(fields[k].text) + " is there twice");
      location = k;
    }
    for (const Column column : {kId, kLower, kUpper, kSize})
      if (!locations_[column])
        fail(fields.back(), "column '" + std::string(kNames[column]) + "' is lacking");
    columns_ = fields.size();
  }

  void read_block(const std::vector<Field>& fields) {
    const auto field = [&](Column column) -> const Field& { return fields[*locations_[column]]; };
    MemoryBlock block = {.bytes = integer_of<std::uint64_t>(field(kSize), "size"),
                         .name = std::string(field(kId).text)};
    const Lifetime lifetime = {integer_of<std::int64_t>(field(kLower), "lower"),
                               integer_of<std::int64_t>(field(kUpper), "upper")};
    if (lifetime.begin >= lifetime.end)
      fail(field(kUpper), "upper is " + std::to_string(lifetime.end) + ", expected above lower " +
                              std::to_string(lifetime.begin));
    if (locations_[kAlignment]) {
      block.alignment = integer_of<std::uint64_t>(field(kAlignment), "alignment");
      if (!std::has_single_bit(block.alignment))
        fail(field(kAlignment),
             "alignment is " + std::to_string(block.alignment) + ", expected a power of two");
    }
    if (locations_[kOffset])
      file_.offsets.push_back(integer_of<std::uint64_t>(field(kOffset), "offset"));
    file_.problem.blocks.push_back(std::move(block));
    lifetimes_.push_back(lifetime);
  }

  std::array<std::optional<std::size_t>, kColumns> locations_;
  std::size_t columns_ = 0;
  MinimallocFile file_;
  std::vector<Lifetime> lifetimes_;
};

/// Returns a block's id; throws if it would not be read back.
std::string id_of(const MemoryBlock& block, std::size_t number) {
  if (block.name.empty()) return std::to_string(number);
  if (block.name.find_first_of(",\n") != std::string::npos || is_space(block.name.front()) ||
      is_space(block.name.back()))
    throw Error("minimalloc: block " + std::to_string(number) + " has the name " +
                quoted(std::string_view(block.name)) +
                ", expected one without a comma, a line end, and space at its ends");
  return block.name;
}

}  // namespace

MinimallocFile read_minimalloc(std::string_view text) { return Reader().read(text); }

std::string write_minimalloc(const MemoryProblem& problem, const MemoryPlan* plan) {
  const std::span<const Lifetime> lifetimes = problem.interference.lifetimes();
  if (lifetimes.size() != problem.blocks.size())
    throw Error("minimalloc: the interference has " + std::to_string(lifetimes.size()) +
                " lifetimes, expected one for each of " + std::to_string(problem.blocks.size()) +
                " blocks");
  if (plan != nullptr && plan->offsets.size() != problem.blocks.size())
    throw Error("minimalloc: the plan has " + std::to_string(plan->offsets.size()) +
                " offsets, expected one for each of " + std::to_string(problem.blocks.size()) +
                " blocks");
  const bool aligned = std::any_of(problem.blocks.begin(), problem.blocks.end(),
                                   [](const MemoryBlock& b) { return b.alignment != 1; });
  std::string text = "id,lower,upper,size";
  if (aligned) text += ",alignment";
  if (plan != nullptr) text += ",offset";
  text += '\n';
  for (std::size_t k = 0; k < problem.blocks.size(); ++k) {
    const MemoryBlock& block = problem.blocks[k];
    text += id_of(block, k) + ',' + std::to_string(lifetimes[k].begin) + ',' +
            std::to_string(lifetimes[k].end) + ',' + std::to_string(block.bytes);
    if (aligned) text += ',' + std::to_string(block.alignment);
    if (plan != nullptr) text += ',' + std::to_string(plan->offsets[k]);
    text += '\n';
  }
  return text;
}

}  // namespace mote
