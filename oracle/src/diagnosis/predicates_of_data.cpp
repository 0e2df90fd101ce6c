// SPDX-License-Identifier: Apache-2.0
// Predicates of the data of a case: NaN, infinities, signs, repeats, large numbers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "diagnosis/find_condition.h"
#include "generate/random.h"
#include "shrink/steps.h"

namespace mote::diagnosis {
namespace {

using Predicates = std::vector<Predicate>;

/// A property of an input's elements.
struct Word {
  std::string text;
  std::function<bool(const Contents&)> holds;
  double value = 0;                         ///< an element that makes it hold
  std::function<bool(double)> is_one = {};  ///< true for an element that makes it hold
  /// A similar value for which it does not hold; k chooses among several.
  std::function<double(double, std::uint64_t k)> other = {};
  int cost = 2;
};

constexpr double kGreat = 32;             ///< smaller magnitudes of reals are not mentioned
constexpr std::int64_t kMaxListed = 512;  ///< elements of inputs that are changed one by one

Number number(const CaseTensor& t, double value) {
  return is_real(t.dtype) ? Number(value) : Number(static_cast<std::int64_t>(value));
}

SetElement anywhere(const CaseTensor& t, double value, Random& random) {
  SetElement e{t.name, {}, number(t, value)};
  for (const std::int64_t extent : t.shape) e.index.push_back(random.below(extent));
  return e;
}

/// The same data, except that the elements that make the word hold are changed, or one is added.
std::optional<Case> with_edited_data(const Case& from, const CaseTensor& t, const Word& word,
                                     std::uint64_t k, Random& random) {
  const bool holds = k % 4 == 0;
  std::int64_t elements = 0;
  for (const CaseTensor& input : from.inputs) elements += volume(input.shape);
  if (elements > kMaxListed || !word.is_one) return std::nullopt;
  std::optional<Case> next = with_elements_listed(from);
  if (!next) return std::nullopt;
  for (SetElement& e : next->set)
    if (!holds && e.tensor == t.name && word.is_one(e.value.as_real()))
      e.value = number(t, word.other(e.value.as_real(), k / 4));
  if (!holds) return next;
  const SetElement added = anywhere(t, word.value, random);
  std::erase_if(next->set, [&](const SetElement& e) {
    return e.tensor == added.tensor && e.index == added.index;
  });
  next->set.push_back(added);
  return next;
}

/// The same data with the word changed for half of the k, otherwise another fill.
std::optional<Case> with_data(const Case& from, const std::string& tensor, const Word& word,
                              std::uint64_t k) {
  using enum FillKind;
  constexpr FillKind kKinds[] = {uniform, integer, index, special, negative, extreme, tiny, mean};
  Case next = from;
  Random random(mix(k + 17));
  const auto t = std::ranges::find(next.inputs, tensor, &CaseTensor::name);
  if (t == next.inputs.end() || volume(t->shape) == 0) return std::nullopt;
  if (from.indices != 0 && !is_real(t->dtype)) return std::nullopt;
  if (k % 2 == 0)
    if (auto edited = with_edited_data(from, *t, word, k, random)) return edited;
  next.set.clear();
  next.fill = {kKinds[k / 2 % std::size(kKinds)],
               static_cast<std::uint64_t>(random.below(0x10000))};
  if (k % 3 == 0) next.set.push_back(anywhere(*t, word.value, random));
  return next;
}

const Contents* contents(const Sample& s, const std::string& tensor) {
  const auto at = std::ranges::find(s.contents, tensor, &Contents::tensor);
  return at == s.contents.end() ? nullptr : &*at;
}

/// The greatest power of two that the greatest element reaches in all failing cases; 0: none.
double common_magnitude(const std::string& tensor, const std::vector<const Sample*>& failing) {
  double least = std::numeric_limits<double>::infinity();
  for (const Sample* s : failing)
    if (const Contents* of = contents(*s, tensor)) least = std::min(least, of->greatest);
  return std::isfinite(least) && least >= 2 ? std::exp2(std::floor(std::log2(least))) : 0;
}

std::vector<Word> words(const CaseTensor& t, const std::vector<const Sample*>& failing) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto one = [](double, std::uint64_t) { return 1.0; };
  std::vector<Word> all = {{"a negative number", [](const Contents& x) { return x.negative; }, -3,
                            [](double v) { return v < 0; },
                            [](double v, std::uint64_t) { return std::isfinite(v) ? -v : v; }},
                           {"a 0", [](const Contents& x) { return x.zero; }, 0}};
  const double least = is_real(t.dtype) ? kGreat : t.dtype == DType::i64 ? 0x1p31 : kInfinity;
  if (const double limit = common_magnitude(t.name, failing); limit >= least)
    all.push_back({fmt::format("a number of {} or more in magnitude", limit),
                   [limit](const Contents& x) { return x.greatest >= limit; }, limit,
                   [limit](double v) { return std::isfinite(v) && std::abs(v) >= limit; },
                   [limit](double v, std::uint64_t k) {  // keeps the fraction or bits
                     if (k % 2 == 0) return std::fmod(v, limit);
                     while (std::abs(v) >= limit) v /= 2;
                     return v;
                   },
                   3});
  if (!is_real(t.dtype)) {
    if (t.dtype == DType::i64)
      all.push_back({"a number twice", [](const Contents& x) { return x.twice; }, 1});
    return all;
  }
  const auto add = [&](const char* text, double value, int cost, auto of_contents, auto is_one) {
    all.push_back({text, of_contents, value, is_one, one, cost});
  };
  add(
      "NaN", std::nan(""), 2, [](const Contents& x) { return x.nan; },
      [](double v) { return std::isnan(v); });
  add(
      "an infinity", kInfinity, 2, [](const Contents& x) { return x.infinity || x.minus_infinity; },
      [](double v) { return std::isinf(v); });
  add(
      "inf", kInfinity, 3, [](const Contents& x) { return x.infinity; },
      [](double v) { return v == kInfinity; });
  add(
      "-inf", -kInfinity, 3, [](const Contents& x) { return x.minus_infinity; },
      [](double v) { return v == -kInfinity; });
  add(
      "NaN or an infinity", kInfinity, 3,
      [](const Contents& x) { return x.nan || x.infinity || x.minus_infinity; },
      [](double v) { return !std::isfinite(v); });
  add(
      "-0", -0.0, 3, [](const Contents& x) { return x.minus_zero; },
      [](double v) { return v == 0 && std::signbit(v); });
  return all;
}

/// Adds the words that hold for an input.
void add_contents(Predicates& all, const Case& smallest,
                  const std::vector<const Sample*>& failing) {
  for (const CaseTensor& t : smallest.inputs) {
    if (t.dtype == DType::boolean) continue;
    for (const Word& word : words(t, failing))
      all.push_back({fmt::format("{} holds {}", t.name, word.text),
                     [name = t.name, word](const Sample& s) {
                       const Contents* of = contents(s, name);
                       return of != nullptr && word.holds(*of);
                     },
                     [name = t.name, word](const Case& from, std::uint64_t k) {
                       return with_data(from, name, word, k);
                     },
                     word.cost, true});
  }
}

/// Adds the words that hold for any input.
void add_contents_of_any(Predicates& all, const Case& smallest) {
  if (smallest.inputs.size() < 2) return;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto add = [&](const char* text, double value, auto holds, auto is_one) {
    const Word word{text, holds, value, is_one, [](double, std::uint64_t) { return 1.0; }, 3};
    all.push_back({fmt::format("an input holds {}", text),
                   [word](const Sample& s) { return std::ranges::any_of(s.contents, word.holds); },
                   [word](const Case& from, std::uint64_t k) -> std::optional<Case> {
                     std::optional<Case> next = from;
                     for (std::size_t input = 0; next && input < from.inputs.size(); ++input)
                       if (is_real(from.inputs[input].dtype))
                         next = with_data(*next, from.inputs[input].name, word, k);
                     return next;
                   },
                   word.cost, true});
  };
  add(
      "NaN", std::nan(""), [](const Contents& x) { return x.nan; },
      [](double v) { return std::isnan(v); });
  add(
      "an infinity", kInfinity, [](const Contents& x) { return x.infinity || x.minus_infinity; },
      [](double v) { return std::isinf(v); });
  add(
      "NaN or an infinity", kInfinity,
      [](const Contents& x) { return x.nan || x.infinity || x.minus_infinity; },
      [](double v) { return !std::isfinite(v); });
}

}  // namespace

void add_data_predicates(std::vector<Predicate>& all, const Case& smallest,
                         const std::vector<const Sample*>& failing) {
  add_contents(all, smallest, failing);
  add_contents_of_any(all, smallest);
}

}  // namespace mote::diagnosis
