// SPDX-License-Identifier: Apache-2.0
// Prints and parses steps, each by a row of one table.
#include "mote/codegen/steps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>

#include "mote/base/error.h"
#include "mote/base/text_cursor.h"

namespace mote {
namespace {

constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kLongestText = 1 << 16;
/// The greatest amount of a step: indices of threads and tiles are multiplied with it.
constexpr std::int64_t kMaxAmount = 1 << 30;

/// The form of a step: its word, the number of names behind it, and whether each has an amount.
struct StepForm {
  StepKind kind;
  std::string_view word;
  std::size_t names;  ///< kAny: one or more
  bool has_amounts;
};

constexpr std::array kForms = {
    StepForm{StepKind::once, "once", 0, false},
    StepForm{StepKind::keep, "keep", 1, false},
    StepForm{StepKind::scan, "scan", 1, false},
    StepForm{StepKind::blocks, "blocks", 1, true},
    StepForm{StepKind::vectors, "vectors", 0, true},
    StepForm{StepKind::tile, "tile", 2, true},
    StepForm{StepKind::tile_window, "tile_window", 2, true},
    StepForm{StepKind::tile_rows, "tile_rows", 1, true},
    StepForm{StepKind::slide, "slide", 0, true},
    StepForm{StepKind::scatter, "scatter", 0, false},
    StepForm{StepKind::positions, "positions", 0, false},
    StepForm{StepKind::jam, "jam", 0, true},
    StepForm{StepKind::prefetch, "prefetch", 1, false},
    StepForm{StepKind::hoist, "hoist", 0, false},
    StepForm{StepKind::narrow, "narrow", 0, true},
    StepForm{StepKind::inward, "inward", 1, true},
    StepForm{StepKind::partial, "partial", 1, true},
    StepForm{StepKind::outward, "outward", 1, true},
    StepForm{StepKind::innermost, "innermost", 1, true},
    StepForm{StepKind::registers, "registers", 1, true},
    StepForm{StepKind::transpose, "transpose", 1, true},
    StepForm{StepKind::interchange, "interchange", 1, false},
    StepForm{StepKind::split, "split", 1, true},
    StepForm{StepKind::simd, "simd", 1, false},
    StepForm{StepKind::simd_if_adjacent, "simd_if_adjacent", 1, false},
    StepForm{StepKind::simd_apart, "simd_apart", 1, true},
    StepForm{StepKind::threads, "threads", kAny, false},
    StepForm{StepKind::adjacent, "adjacent", 1, false},
    StepForm{StepKind::repeat, "repeat", 1, true},
    StepForm{StepKind::distribute, "distribute", 0, false},
    StepForm{StepKind::parts, "parts", 1, false},
    StepForm{StepKind::grid, "grid", kAny, false},
    StepForm{StepKind::row_vectors, "row_vectors", 1, false},
    StepForm{StepKind::thread_vectors, "thread_vectors", 1, false},
    StepForm{StepKind::block_tile, "block_tile", 1, true},
};

const StepForm& form_of(StepKind kind) { return *std::ranges::find(kForms, kind, &StepForm::kind); }

class StepParser {
 public:
  explicit StepParser(std::string_view text) : text_(text, "schedule", kLongestText) {}

  std::vector<Step> run() {
    std::vector<Step> steps;
    if (text_.at_end()) return steps;
    do {
      add(steps, step());
    } while (text_.accept(","));
    if (!text_.at_end()) text_.expected("a comma between two steps");
    if (!steps.empty() && is_half_tile(steps.back())) refuse_half(steps.back());
    return steps;
  }

 private:
  Step step() {
    const std::size_t start = text_.position();
    const std::string word = text_.word("a step");
    const auto form = std::ranges::find(kForms, word, &StepForm::word);
    if (form == kForms.end()) {
      std::vector<std::string_view> known;
      for (const StepForm& f : kForms) known.push_back(f.word);
      text_.fail(start, fmt::format("unknown step '{}' (known: {})", word, fmt::join(known, ", ")));
    }
    Step out{form->kind, {}};
    if (form->names == 0) {
      out.targets.push_back({"", form->has_amounts ? amount(*form) : -1});
      return out;
    }
    while (out.targets.size() < form->names && (out.targets.empty() || !is_at_end_of_step())) {
      StepTarget target{text_.word("a name"), -1};
      if (form->has_amounts) target.amount = amount(*form);
      out.targets.push_back(std::move(target));
    }
    if (is_half_tile(out)) half_ = start;
    return out;
  }

  bool is_at_end_of_step() { return text_.at_end() || text_.peek(","); }

  std::int64_t amount(const StepForm& form) {
    const std::size_t start = text_.position();
    if (!text_.at_number()) text_.expected(form.word == "repeat" ? "an axis" : "an amount");
    const std::int64_t value = text_.integer();
    if (value < (form.kind == StepKind::repeat ? 0 : 1))
      text_.fail(start,
                 fmt::format("{}: expected an amount of at least 1, got {}", form.word, value));
    if (value > kMaxAmount)
      text_.fail(start, fmt::format("{}: expected an amount of at most {}, got {}", form.word,
                                    kMaxAmount, value));
    return value;
  }

  static bool is_half_tile(const Step& s) {
    return form_of(s.kind).names == 2 && s.targets.size() == 1;
  }

  [[noreturn]] void refuse_half(const Step& s) {
    text_.fail(half_,
               fmt::format("{}: expected a second loop with an amount, of vectors", to_string(s)));
  }

  /// Appends the step; a tile of one loop is joined to the one before it.
  void add(std::vector<Step>& steps, Step step) {
    if (!steps.empty() && is_half_tile(steps.back())) {
      if (!is_half_tile(step) || step.kind != steps.back().kind) refuse_half(steps.back());
      steps.back().targets.push_back(std::move(step.targets.front()));
      return;
    }
    steps.push_back(std::move(step));
  }

  TextCursor text_;
  std::size_t half_ = 0;  ///< position of the last tile of one loop
};

}  // namespace

std::string to_string(const Step& step) {
  const StepForm& form = form_of(step.kind);
  std::string out(form.word);
  for (const StepTarget& t : step.targets) {
    if (!t.name.empty()) out += " " + t.name;
    if (form.has_amounts) out += fmt::format(" {}", t.amount);
  }
  return out;
}

std::string to_string(std::span<const Step> steps) {
  std::vector<std::string> all;
  for (const Step& s : steps) all.push_back(to_string(s));
  return fmt::format("{}", fmt::join(all, ", "));
}

std::vector<Step> parse_steps(std::string_view text) { return StepParser(text).run(); }

}  // namespace mote
