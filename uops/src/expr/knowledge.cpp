// SPDX-License-Identifier: Apache-2.0
// Derives from the facts the tables that the prover uses: inequalities, nesting, sample points. A
// sample refutes: an expression that is negative at a point where all facts hold cannot be proved
// >= 0, so the prover need not search. Samples depend only on names, so that results are the same
// in each run.
#include "expr/knowledge.h"

#include <algorithm>
#include <array>

#include "expr/node.h"

namespace mote {
namespace {

constexpr int kCandidates = 64;
constexpr int kMaxOuter = 64;  // ranges that mention the variables of ranges

std::uint64_t hash_text(std::string_view text, std::uint64_t seed) {
  std::uint64_t hash = 0xcbf29ce484222325ULL ^ (seed * 0x9e3779b97f4a7c15ULL);
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return (hash ^ (hash >> 29)) * 0xbf58476d1ce4e5b9ULL >> 20;
}

template <std::size_t N>
std::int64_t pick(const std::array<std::int64_t, N>& table, std::uint64_t hash) {
  return table[hash % N];
}

}  // namespace

void Inequalities::add_lower(Symbol symbol, std::int64_t bound) {
  const auto [at, fresh] = lower.emplace(symbol.id(), bound);
  if (!fresh) at->second = std::max(at->second, bound);
}

void Inequalities::add_nonneg(const Expr& e) {
  const auto terms = e.terms();
  const bool has_constant = terms.size() == 2 && terms[1].atoms.empty();
  if (terms.empty() || e.constant()) return;
  const Term& first = terms[0];
  const bool single = (terms.size() == 1 || has_constant) && first.atoms.size() == 1 &&
                      first.atoms[0].symbol && first.coefficient > 0;
  if (!single) {
    nonneg.push_back(e);
    return;
  }
  const std::int64_t constant = has_constant ? terms[1].coefficient : 0;
  add_lower(*first.atoms[0].symbol, checked_mul(-1, floor_div(constant, first.coefficient)));
}

void Inequalities::add_divisor(const Expr& d) {
  if (d.constant()) return;
  // If a product of factors >= 0 is >= 1, each factor is >= 1.
  if (d.terms().size() == 1 && d.terms()[0].coefficient > 0) {
    const auto& atoms = d.terms()[0].atoms;
    const bool sizes = std::all_of(atoms.begin(), atoms.end(), [&](const Atom& atom) {
      if (!atom.symbol) return false;
      if (atoms.size() == 1 || atom.symbol->kind() == SymbolKind::size) return true;
      const auto known = lower.find(atom.symbol->id());
      return known != lower.end() && known->second >= 0;
    });
    if (sizes) {
      for (const Atom& atom : atoms) add_lower(*atom.symbol, 1);
      return;
    }
  }
  add_nonneg(d - 1);
}

void collect_divisors(const Expr& e, std::vector<Expr>& into) {
  const auto* node = ExprBuilder::node(e);
  if (node == nullptr || node->depth == 0) return;
  for (const Term& term : e.terms()) {
    for (const Atom& atom : term.atoms) {
      if (atom.kind == Atom::Kind::div || atom.kind == Atom::Kind::mod) {
        const Expr& divisor = atom.args[1];
        if (!divisor.constant() && std::find(into.begin(), into.end(), divisor) == into.end()) {
          into.push_back(divisor);
        }
      }
      for (const Expr& arg : atom.args) collect_divisors(arg, into);
    }
  }
}

Knowledge::Knowledge(FactBase facts, std::size_t max_samples)
    : base(std::move(facts)), max_samples_(max_samples) {
  for (const auto& [variable, range] : base.ranges) ranges_.emplace_back(variable.id(), &range);
  derive_inequalities();
  derive_divisible();
  for (const auto& [variable, range] : base.ranges) {
    ranks_[variable.id()] = compute_rank(variable, 0);
  }
}

void Knowledge::derive_inequalities() {
  std::vector<Expr> divisors;
  for (const auto& [symbol, bound] : base.lower) given.add_lower(symbol, bound);
  for (const Expr& e : base.nonneg) {
    given.add_nonneg(e);
    collect_divisors(e, divisors);
  }
  for (const Expr& e : base.zero) {
    collect_divisors(e, divisors);
    const Atom* atom = e.as_atom();
    if (atom != nullptr && atom->kind == Atom::Kind::mod) continue;
    given.add_nonneg(e);
    given.add_nonneg(-e);
  }
  for (const auto& [variable, range] : base.ranges) {
    given.add_nonneg(range.end - range.begin - 1);
    collect_divisors(range.begin, divisors);
    collect_divisors(range.end, divisors);
  }
  for (const Expr& divisor : divisors) given.add_divisor(divisor);
}

void Knowledge::derive_divisible() {
  for (const Expr& e : base.zero) {
    const Atom* atom = e.as_atom();
    if (atom == nullptr || atom->kind != Atom::Kind::mod) continue;
    divisible.emplace_back(atom->args[0], atom->args[1]);
    const Expr negated = (-atom->args[0]) % atom->args[1];
    const Atom* other = negated.as_atom();
    if (other == nullptr || other->kind != Atom::Kind::mod) continue;
    if (other->args[0] != atom->args[0]) divisible.emplace_back(other->args[0], other->args[1]);
  }
}

const Range* Knowledge::range(Symbol symbol) const {
  for (const auto& [id, range] : ranges_)
    if (id == symbol.id()) return range;
  return nullptr;
}

std::optional<std::int64_t> Knowledge::lower(Symbol symbol) const {
  const auto found = given.lower.find(symbol.id());
  const bool is_size = symbol.kind() == SymbolKind::size;
  if (found == given.lower.end()) return is_size ? std::optional<std::int64_t>(0) : std::nullopt;
  // A size is >= 0 whatever a weaker assumption says, unless set_lower said otherwise.
  if (is_size && !base.lower.contains(symbol)) return std::max<std::int64_t>(found->second, 0);
  return found->second;
}

int Knowledge::rank(Symbol variable) const {
  const auto found = ranks_.find(variable.id());
  return found == ranks_.end() ? 0 : found->second;
}

int Knowledge::compute_rank(Symbol variable, int depth) const {
  const Range* limits = range(variable);
  if (limits == nullptr || depth > kMaxOuter) return 0;
  if (const auto known = ranks_.find(variable.id()); known != ranks_.end()) return known->second;
  int rank = 1;
  for (const Expr* limit : {&limits->begin, &limits->end}) {
    for (const Symbol outer : limit->symbols()) {
      if (outer != variable) rank = std::max(rank, 1 + compute_rank(outer, depth + 1));
    }
  }
  return rank;
}

std::int64_t Knowledge::choose(Symbol symbol, const SamplePoint& point) const {
  static constexpr std::array<std::int64_t, 16> kAbove = {0, 1, 1,  2,  2,  3,  4,   5,
                                                          7, 8, 12, 16, 31, 64, 100, 1000};
  static constexpr std::array<std::int64_t, 12> kAny = {-1000, -9, -3, -2, -1, 0,
                                                        1,     2,  3,  5,  50, 1000};
  const auto bound = lower(symbol);
  const std::uint64_t hash = hash_text(symbol.name(), point.seed);
  if (!bound) return pick(kAny, hash);
  const std::int64_t above =
      point.seed < 3 ? static_cast<std::int64_t>(point.seed) : pick(kAbove, hash);
  std::int64_t chosen = 0;
  return __builtin_add_overflow(*bound, above, &chosen) ? *bound : chosen;
}

bool Knowledge::assign(Symbol variable, SamplePoint& point, int depth) const {
  const Range* limits = range(variable);
  if (limits == nullptr || point.find(variable) != nullptr) return true;
  if (depth > kMaxOuter) return false;
  for (const Expr* limit : {&limits->begin, &limits->end}) {
    for (const Symbol outer : limit->symbols()) {
      if (!assign(outer, point, depth + 1)) return false;
    }
  }
  const auto begin = value(limits->begin, point), end = value(limits->end, point);
  if (!begin || !end || *begin >= *end) return false;
  const std::uint64_t hash = hash_text(variable.name(), point.seed);
  const std::uint64_t extent =
      static_cast<std::uint64_t>(*end) - static_cast<std::uint64_t>(*begin);
  const std::uint64_t offset = hash % 3 == 0   ? 0
                               : hash % 3 == 1 ? extent - 1
                                               : (hash >> 8) % extent;
  point.values.emplace_back(variable.id(), *begin + static_cast<std::int64_t>(offset));
  return true;
}

bool Knowledge::facts_hold(const SamplePoint& point) const {
  for (const auto& [symbol, bound] : base.lower) {
    const auto at = value(symbol, point);
    if (!at || *at < bound) return false;
  }
  for (const Expr& e : base.nonneg) {
    const auto at = value(e, point);
    if (!at || *at < 0) return false;
  }
  return std::all_of(base.zero.begin(), base.zero.end(),
                     [&](const Expr& e) { return value(e, point) == 0; });
}

const SamplePoint* Knowledge::sample(std::size_t number) const {
  while (samples_.size() <= number && samples_.size() < max_samples_ && candidates_ < kCandidates) {
    SamplePoint point;
    point.seed = static_cast<std::uint64_t>(candidates_++);
    const bool ranged = std::all_of(base.ranges.begin(), base.ranges.end(), [&](const auto& entry) {
      return assign(entry.first, point, 0);
    });
    if (ranged && facts_hold(point)) samples_.push_back(std::move(point));
  }
  return number < samples_.size() ? &samples_[number] : nullptr;
}

// Evaluates at a sample; records an undefined value instead of throwing.
struct SampleValue {
  const Knowledge& knowledge;
  const SamplePoint& point;
  bool defined = true;

  std::int64_t of(const Expr& e) {
    std::int64_t total = 0;
    for (const Term& term : e.terms()) {
      std::int64_t product = term.coefficient;
      for (const Atom& atom : term.atoms) {
        const std::int64_t factor = of(atom);
        if (!defined || __builtin_mul_overflow(product, factor, &product)) return undefined();
      }
      if (__builtin_add_overflow(total, product, &total)) return undefined();
    }
    return total;
  }

  std::int64_t of_symbol(Symbol symbol) const {
    if (const std::int64_t* known = point.find(symbol)) return *known;
    return point.values.emplace_back(symbol.id(), knowledge.choose(symbol, point)).second;
  }

  std::int64_t of(const Atom& atom) {
    if (atom.symbol) return of_symbol(*atom.symbol);
    if (atom.kind == Atom::Kind::load) return of_load(atom);
    std::int64_t result = of(atom.args[0]);
    for (std::size_t i = 1; i < atom.args.size() && defined; ++i) {
      const std::int64_t next = of(atom.args[i]);
      if (!defined) break;
      switch (atom.kind) {
        case Atom::Kind::min:
          result = std::min(result, next);
          break;
        case Atom::Kind::max:
          result = std::max(result, next);
          break;
        default:
          if (next < 1) return undefined();
          result = atom.kind == Atom::Kind::div ? floor_div(result, next) : floor_mod(result, next);
      }
    }
    return result;
  }

  // Returns a hash of tensor and index: any function of them will do.
  std::int64_t of_load(const Atom& atom) {
    std::uint64_t hash = hash_text(atom.tensor, point.seed);
    for (const Expr& index : atom.args) {
      hash = hash_text(atom.tensor, hash ^ static_cast<std::uint64_t>(of(index)));
    }
    return static_cast<std::int64_t>(hash % 12) - 3;
  }

  std::int64_t undefined() {
    defined = false;
    return 0;
  }
};

std::optional<std::int64_t> Knowledge::value(const Expr& e, const SamplePoint& point) const {
  SampleValue sample{*this, point};
  const std::int64_t result = sample.of(e);
  return sample.defined ? std::optional(result) : std::nullopt;
}

}  // namespace mote
