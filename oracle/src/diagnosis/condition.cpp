// SPDX-License-Identifier: Apache-2.0
// Finds the condition by a greedy cover with predicates that hold for every failing case, then
// tests it on fresh cases on both sides of each predicate, and repeats with these until no case
// refutes it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "case/like.h"
#include "diagnosis/find_condition.h"
#include "generate/random.h"
#include "mote/base/error.h"

namespace mote::diagnosis {
namespace {

constexpr std::size_t kMaxParts = 3;
/// The least number of passing runs that a part excludes: fewer may pass because of their data.
constexpr std::ptrdiff_t kLeastExcluded = 3;
constexpr int kRounds = 6;
constexpr std::uint64_t kBases = 15;  ///< cases whose variations are tried in an iteration
constexpr std::uint64_t kWays = 24;   ///< attempts to change a case so that a part holds
constexpr int kTries = 8;             ///< variations of a base that are examined for each part
constexpr std::uint64_t kDrawnInRound = 40;  ///< unchanged drawn cases in an iteration
constexpr std::uint64_t kFirstDrawn = 2000;
constexpr double kMaxFreshWork = 3e8;  ///< multiply-adds of all iterations together
constexpr double kMaxOfOne = 1e7;
/// The minimum numbers of fresh cases with the condition and without it, and of cases near another
/// one to compare it with.
constexpr std::int64_t kLeastWith = 6, kLeastWithout = 12, kLeastNear = 3;
/// Passing cases without a part show that it matters if the probability that all pass, when they
/// fail as often as cases with it, is below this.
constexpr double kChance = 0.01;
/// "Only where" is said if at least this share of the cases with the condition fails: if a case
/// fails rarely, a few passing cases without the condition prove little.
constexpr double kLeastShare = 1.0 / 3;
/// The minimum difference between the rates of failure with a condition and without it.
constexpr double kTelling = 0.5;

using Parts = std::vector<Predicate>;

bool hold(const Parts& parts, const Sample& s, std::optional<std::size_t> except = std::nullopt) {
  for (std::size_t k = 0; k < parts.size(); ++k)
    if (k != except && !parts[k].holds(s)) return false;
  return true;
}

std::function<bool(const Case&)> holds(const Parts& parts) {
  return [parts](const Case& c) { return hold(parts, {c, {}, false, contents_of(c)}); };
}

std::string text_of(const Parts& parts) {
  std::vector<std::string> texts;
  for (const Predicate& p : parts) texts.push_back(p.text);
  return fmt::format("{}", fmt::join(texts, " and "));
}

/// The samples on both sides; the smallest case is a failing one.
struct Sides {
  Sides(const Sample& smallest, const std::vector<Sample>& all) : failing{&smallest} {
    for (const Sample& s : all) (s.failed() ? failing : passing).push_back(&s);
  }
  std::vector<const Sample*> failing, passing;
};

/// Drops parts that exclude almost no case that the others do not exclude.
void drop_what_others_say(Parts& parts, const std::vector<const Sample*>& passing) {
  for (std::size_t k = 0; k < parts.size();) {
    const auto alone = std::ranges::count_if(
        passing, [&](const Sample* s) { return hold(parts, *s, k) && !parts[k].holds(*s); });
    if (parts.size() > 1 && alone < kLeastExcluded)
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(k));
    else
      ++k;
  }
}

/// Chooses predicates that hold for all failing cases, until no passing case is left or they
/// exclude few.
Parts cover(const Case& smallest, const Sides& sides) {
  Parts usable = predicates(smallest, sides.failing, sides.passing);
  std::ranges::stable_sort(usable, {}, &Predicate::cost);
  std::vector<const Sample*> passing = sides.passing;
  Parts chosen;
  while (!passing.empty() && chosen.size() < kMaxParts) {
    const auto excluded = [&](const Predicate& p) {
      return std::ranges::count_if(passing, [&](const Sample* s) { return !p.holds(*s); });
    };
    const auto best = std::ranges::max_element(usable, {}, excluded);
    if (best == usable.end() || excluded(*best) < kLeastExcluded) break;
    std::erase_if(passing, [&](const Sample* s) { return !best->holds(*s); });
    chosen.push_back(*best);
    if (best->of_data) std::erase_if(usable, [](const Predicate& p) { return p.of_data; });
  }
  drop_what_others_say(chosen, sides.passing);
  return chosen;
}

/// Runs fresh cases around a condition.
class Tester {
 public:
  Tester(const Case& smallest, const Judge& judge, const Deadline& deadline)
      : smallest_(smallest),
        sampler_(judge, kMaxFreshWork, deadline),
        most_of_one_(std::max(kMaxOfOne, 2 * work_of(smallest))) {}

  const std::vector<Sample>& samples() const { return sampler_.all; }
  bool is_spent() const { return sampler_.is_spent(); }

  /// Runs both sides of each part for which the others hold, and some drawn cases.
  void run(const Parts& parts, std::uint64_t round) {
    needs_data_ = std::ranges::any_of(parts, &Predicate::of_data);
    for (std::uint64_t b = 0; b < kBases && !is_spent(); ++b) {
      const std::optional<Case> drawn = base(b, round);
      const std::optional<Case> inside =
          drawn ? forced(*drawn, parts, std::nullopt, b) : std::nullopt;
      if (!inside) continue;
      judge(*inside);
      for (std::size_t k = 0; k < parts.size() && !is_spent(); ++k)
        both_sides(*inside, parts, k, b + kBases * round);
    }
    corners(parts, round);
    for (std::uint64_t k = 0; k < kDrawnInRound && !is_spent(); ++k)
      if (const auto c = draw(round * 100 + 50 + k)) judge(*c);
  }

 private:
  /// The smallest case with other data, a drawn case, or a drawn case with small sizes.
  std::optional<Case> base(std::uint64_t b, std::uint64_t round) {
    if (b % 3 != 0) {
      std::optional<Case> c = draw(round * 100 + b);
      const Domain* domain = c ? &domain_of(c->program) : nullptr;
      for (std::size_t k = 0; c && b % 3 == 2 && k < domain->knobs.size(); ++k) {
        const std::int64_t value = to_draft(*c).at.values[k];
        if (value > 3) c = with_knob(*c, k, 1 + value % 3);
      }
      return c;
    }
    Case c = smallest_;
    if (c.set.empty() && b > 0) c.fill.seed = round * kBases + b;
    return c;
  }

  std::optional<Case> draw(std::uint64_t k) const {
    try {
      return drawn_like(smallest_, kFirstDrawn + k);
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  Sample unjudged(const Case& c) const {
    return {c, {}, false, needs_data_ ? contents_of(c) : std::vector<Contents>()};
  }

  /// A similar case in which all parts hold, except that the part `except` may fail.
  std::optional<Case> forced(Case c, const Parts& parts, std::optional<std::size_t> except,
                             std::uint64_t salt) const {
    for (int pass = 0; pass < 2; ++pass)
      for (std::size_t k = 0; k < parts.size(); ++k) {
        if (k == except || parts[k].holds(unjudged(c))) continue;
        bool found = false;
        for (std::uint64_t way = 0; way < kWays && !found; ++way) {
          std::optional<Case> next = parts[k].vary(c, salt + way);
          if (!next || work_of(*next) > most_of_one_) continue;
          found = parts[k].holds(unjudged(*next));
          if (found) c = *std::move(next);
        }
        if (!found) return std::nullopt;
      }
    if (!hold(parts, unjudged(c), except)) return std::nullopt;
    return c;
  }

  /// Runs cases in which one size is 0 or 1, or one parameter 0.
  void corners(const Parts& parts, std::uint64_t round) {
    const std::optional<Case> drawn = draw(round * 100 + 99);
    for (const Case& from : {smallest_, drawn.value_or(smallest_)}) {
      std::vector<std::optional<Case>> all;
      for (std::size_t k = 0; k < domain_of(from.program).knobs.size(); ++k)
        for (const std::int64_t extent : {0, 1}) all.push_back(with_knob(from, k, extent));
      for (const ParamDecl& p : from.program->params)
        all.push_back(
            with_param(from, p.name, p.is_integer ? Number(std::int64_t{0}) : Number(0.0)));
      for (std::optional<Case>& c : all) {
        if (is_spent()) return;
        if (c && c->set.empty()) c->fill.seed = round;
        if (c) c = forced(*std::move(c), parts, std::nullopt, round);
        if (c) judge(*c);
      }
    }
  }

  void both_sides(const Case& inside, const Parts& parts, std::size_t k, std::uint64_t b) {
    int with = 0, without = 0;
    for (int j = 0; j < kTries && (with < 1 || without < 2); ++j) {
      const std::uint64_t way = 3 * b + static_cast<std::uint64_t>(j);
      std::optional<Case> next = parts[k].vary(inside, way);
      if (next) next = forced(*std::move(next), parts, k, way);
      if (!next || work_of(*next) > most_of_one_) continue;
      int& count = parts[k].holds(unjudged(*next)) ? with : without;
      if (count >= (&count == &with ? 1 : 2)) continue;
      ++count;
      judge(*next);
    }
  }

  void judge(const Case& c) {
    if (work_of(c) <= most_of_one_ && !is_spent()) sampler_.add(c, false);
  }

  const Case& smallest_;
  Sampler sampler_;
  double most_of_one_;
  bool needs_data_ = false;
};

void count(Share& share, const Sample& s) {
  ++share.runs;
  share.failed += s.failed() ? 1 : 0;
}

/// The numbers of fresh cases that fail with a condition, and without it.
struct Tested {
  Share with, without;

  Tested(const Parts& parts, std::span<const Sample> fresh) {
    for (const Sample& s : fresh) count(hold(parts, s) ? with : without, s);
  }
  bool is_enough() const { return with.runs >= kLeastWith && without.runs >= kLeastWithout; }
};

double rate(const Share& s) {
  return s.runs == 0 ? 0 : static_cast<double>(s.failed) / static_cast<double>(s.runs);
}

/// The rate of failure of cases with all parts that are near another case in the quantity of a
/// part: from half of it to twice as much.
double rate_near(const Sample& s, const Predicate& part, const std::vector<const Sample*>& with) {
  if (!part.quantity) {
    Share all;
    for (const Sample* other : with) count(all, *other);
    return rate(all);
  }
  Share near;
  const std::int64_t value = part.quantity(s.of).value_or(0);
  for (const Sample* other : with) {
    const std::int64_t v = part.quantity(other->of).value_or(0);
    if (2 * v >= value && v <= 2 * value) count(near, *other);
  }
  return near.runs < kLeastNear ? 0 : rate(near);
}

/// The parts that are needed: without each, more cases pass than chance explains.
Parts tested_parts(const Parts& parts, std::span<const Sample> fresh) {
  std::vector<const Sample*> with;
  for (const Sample& s : fresh)
    if (hold(parts, s)) with.push_back(&s);
  Parts kept;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    double by_chance = 1;
    for (const Sample& s : fresh)
      if (hold(parts, s, k) && !parts[k].holds(s)) by_chance *= 1 - rate_near(s, parts[k], with);
    if (by_chance < kChance) kept.push_back(parts[k]);
  }
  return kept;
}

class Finder {
 public:
  Finder(const Sample& smallest, std::vector<Sample> all, const Judge& judge,
         const Deadline& deadline)
      : smallest_(smallest), all_(std::move(all)), tester_(smallest.of, judge, deadline) {}

  WhereItFails run() {
    for (std::uint64_t round = 0; round < kRounds && !tester_.is_spent(); ++round) {
      const Sides sides(smallest_, all_);
      if (sides.passing.empty()) return {};
      const Parts parts = cover(smallest_.of, sides);
      if (parts.empty()) break;
      if (text_of(parts) == last_) break;  // the last iteration has not changed it
      last_ = text_of(parts);
      test(parts, round);
      tried_.push_back(parts);
    }
    if (auto found = best_necessary()) return *found;
    return how_often();
  }

 private:
  void test(const Parts& parts, std::uint64_t round) {
    tester_.run(parts, round);
    const std::vector<Sample>& fresh = tester_.samples();
    for (; taken_ < fresh.size(); ++taken_) all_.push_back(fresh[taken_]);
  }

  bool fails_outside(const Parts& parts) const {
    return std::ranges::any_of(all_,
                               [&](const Sample& s) { return s.failed() && !hold(parts, s); });
  }

  /// The latest condition that no case refutes, neither one it was tested on nor a later one.
  std::optional<WhereItFails> best_necessary() const {
    for (std::size_t k = tried_.size(); k-- > 0;) {
      Parts parts = tried_[k];
      for (std::size_t before = 0; before != parts.size();) {
        before = parts.size();
        parts = tested_parts(parts, tester_.samples());
      }
      if (parts.empty() || fails_outside(parts)) continue;
      const Tested tested(parts, tester_.samples());
      if (!tested.is_enough() || tested.with.failed == 0) continue;
      const bool exact = std::ranges::none_of(
          all_, [&](const Sample& s) { return !s.failed() && hold(parts, s); });
      const bool is_said = rate(tested.with) >= kLeastShare;
      return WhereItFails{text_of(parts), is_said,        exact,
                          tested.with,    tested.without, holds(parts)};
    }
    return std::nullopt;
  }

  /// Used if no condition holds for all failing cases: the predicate that best separates failing
  /// from passing ones.
  WhereItFails how_often() {
    Sides sides(smallest_, {});
    sides.passing = Sides(smallest_, all_).passing;
    Parts usable = predicates(smallest_.of, sides.failing, sides.passing);
    std::ranges::stable_sort(usable, {}, &Predicate::cost);
    const auto telling = [&](const Predicate& p) {
      const Tested of({p}, all_);
      return rate(of.with) - rate(of.without);
    };
    const auto best = std::ranges::max_element(usable, {}, telling);
    if (best == usable.end() || telling(*best) < kTelling) return {};
    const Parts parts = {*best};
    const std::size_t before = tester_.samples().size();
    test(parts, kRounds);
    const Tested tested(parts, std::span(tester_.samples()).subspan(before));
    if (!tested.is_enough() || rate(tested.with) - rate(tested.without) < kTelling) return {};
    return {text_of(parts), false, false, tested.with, tested.without, holds(parts)};
  }

  const Sample& smallest_;
  std::vector<Sample> all_;
  Tester tester_;
  std::size_t taken_ = 0;
  std::vector<Parts> tried_;
  std::string last_;
};

}  // namespace

WhereItFails find_condition(const Sample& smallest, std::vector<Sample> all, const Judge& judge,
                            const Deadline& deadline) {
  return Finder(smallest, std::move(all), judge, deadline).run();
}

}  // namespace mote::diagnosis
