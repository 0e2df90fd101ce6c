// SPDX-License-Identifier: Apache-2.0
// Implements symbols and the basics of index expressions: interning, comparison, hashing, access,
// substitution. canonical.cpp folds.
#include "mote/uops/expr.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <unordered_map>

#include "expr/node.h"
#include "mote/base/characters.h"
#include "mote/base/error.h"

namespace mote {
namespace {

std::string_view digits_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  return text.substr(at, end - at);
}

// Returns a text whose order, byte by byte, is that of the names with runs of digits as numbers: a
// number becomes '0', its length and its digits. Names that differ only by leading zeros follow in
// the order of their characters.
std::string order_key(std::string_view name) {
  std::string key;
  for (std::size_t i = 0; i < name.size();) {
    const std::string_view run = digits_at(name, i);
    if (run.empty()) {
      key += name[i++];
      continue;
    }
    const std::string_view number = run.substr(std::min(run.find_first_not_of('0'), run.size()));
    key += '0';
    for (int shift = 24; shift >= 0; shift -= 8)
      key += static_cast<char>((number.size() >> shift) & 0xff);
    key += number;
    i += run.size();
  }
  return key + '\0' + std::string(name);
}

struct SymbolEntry {
  SymbolKind kind{};
  std::string name;
  std::string key;  // order_key(name)
};

// The table of symbols, append-only. Reading an entry takes no lock: entries live in blocks that
// never move, and a Symbol exists only after its entry was written.
class SymbolTable {
 public:
  static SymbolTable& instance() {
    static auto* table = new SymbolTable;  // never destroyed: symbols may outlive main
    return *table;
  }

  std::uint32_t intern(SymbolKind kind, std::string_view name) {
    std::string key(1, static_cast<char>('0' + static_cast<int>(kind)));
    key += name;
    const std::lock_guard lock(mutex_);
    if (const auto found = ids_.find(key); found != ids_.end()) return found->second;
    const auto id = static_cast<std::uint32_t>(ids_.size());
    if (id / kBlock >= kBlocks) throw Error("index expression: too many different symbols");
    std::atomic<SymbolEntry*>& block = blocks_[id / kBlock];
    if (block.load(std::memory_order_relaxed) == nullptr) block.store(new SymbolEntry[kBlock]);
    block.load()[id % kBlock] = {kind, std::string(name), order_key(name)};
    ids_.emplace(std::move(key), id);
    return id;
  }

  const SymbolEntry& at(std::uint32_t id) const {
    return blocks_[id / kBlock].load(std::memory_order_acquire)[id % kBlock];
  }

 private:
  static constexpr std::uint32_t kBlock = 1024;
  static constexpr std::uint32_t kBlocks = 4096;
  std::mutex mutex_;
  std::unordered_map<std::string, std::uint32_t> ids_;
  std::array<std::atomic<SymbolEntry*>, kBlocks> blocks_{};
};

bool is_loop_name(std::string_view name) {
  return name.size() > 1 && name[0] == 'i' && digits_at(name, 1).size() == name.size() - 1;
}

}  // namespace

Symbol::Symbol(SymbolKind kind, std::string_view name) {
  if (name.empty()) throw Error("index expression: a symbol needs a name");
  if (kind == SymbolKind::size && is_loop_name(name)) {
    throw Error(fmt::format(
        "index expression: a size may not be called '{}', the name of a loop variable", name));
  }
  id_ = SymbolTable::instance().intern(kind, name);
}
SymbolKind Symbol::kind() const { return SymbolTable::instance().at(id_).kind; }
const std::string& Symbol::name() const { return SymbolTable::instance().at(id_).name; }
std::string Symbol::to_string() const {
  return kind() == SymbolKind::param ? "$" + name() : name();
}
// A friend that only its class declares is exported by its definition.
MOTE_API std::strong_ordering operator<=>(Symbol a, Symbol b) {
  if (a == b) return std::strong_ordering::equal;
  const SymbolEntry& x = SymbolTable::instance().at(a.id_);
  const SymbolEntry& y = SymbolTable::instance().at(b.id_);
  if (x.kind != y.kind) return x.kind <=> y.kind;
  return x.key <=> y.key;
}

MOTE_API bool operator==(const Atom& a, const Atom& b) {
  return a.kind == b.kind && a.symbol == b.symbol && a.args == b.args && a.tensor == b.tensor;
}
MOTE_API std::strong_ordering operator<=>(const Atom& a, const Atom& b) {
  if (a.kind != b.kind) return a.kind <=> b.kind;
  if (a.kind == Atom::Kind::symbol) return *a.symbol <=> *b.symbol;
  if (const auto order = a.tensor <=> b.tensor; order != 0) return order;
  return std::lexicographical_compare_three_way(a.args.begin(), a.args.end(), b.args.begin(),
                                                b.args.end());
}
MOTE_API bool operator==(const Term& a, const Term& b) {
  return a.coefficient == b.coefficient && a.atoms == b.atoms;
}

std::strong_ordering compare_monomials(const std::vector<Atom>& a, const std::vector<Atom>& b) {
  if (a.size() != b.size()) return b.size() <=> a.size();
  return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end());
}

Expr::Expr() = default;
Expr::Expr(std::shared_ptr<const Node> node) : node_(std::move(node)) {}

namespace {

Terms only(std::int64_t coefficient) {
  Terms terms(1);
  terms[0].coefficient = coefficient;
  return terms;
}

}  // namespace

// Passes ask for a few numbers and symbols again and again, so each thread keeps those it has made.
Expr::Expr(std::int64_t value) {
  constexpr std::int64_t kLeast = -8;
  thread_local std::array<Expr, 64> made;
  if (value == 0) return;
  const auto at = static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(kLeast);
  if (at >= made.size()) {
    *this = ExprBuilder::wrap(only(value));
    return;
  }
  if (!made[at].node_) made[at] = ExprBuilder::wrap(only(value));
  node_ = made[at].node_;
}
Expr::Expr(Symbol symbol) {
  thread_local std::vector<Expr> made;  // by the symbol's number
  if (symbol.id() >= made.size()) made.resize(symbol.id() + 1);
  Expr& e = made[symbol.id()];
  if (!e.node_) {
    Terms terms = only(1);
    terms[0].atoms.push_back(Atom{Atom::Kind::symbol, symbol, {}, {}});
    e = ExprBuilder::wrap(std::move(terms));
  }
  node_ = e.node_;
}
Expr Expr::loop(int axis) { return Symbol(SymbolKind::loop, fmt::format("i{}", axis)); }
Expr Expr::size(std::string_view name) { return Symbol(SymbolKind::size, name); }
Expr Expr::param(std::string_view name) { return Symbol(SymbolKind::param, name); }
Expr Expr::from_atom(Atom atom) {
  const bool is_symbol = atom.kind == Atom::Kind::symbol;
  const bool is_load = atom.kind == Atom::Kind::load;
  const bool is_binary = atom.kind == Atom::Kind::div || atom.kind == Atom::Kind::mod;
  if (is_symbol != atom.symbol.has_value() || (is_symbol && !atom.args.empty()) ||
      (is_binary && atom.args.size() != 2) || (!is_symbol && !is_load && atom.args.size() < 2)) {
    throw InternalError("index expression: an atom without its operands");
  }
  Terms terms(1);
  terms[0].coefficient = 1;
  terms[0].atoms.push_back(std::move(atom));
  return ExprBuilder::wrap(std::move(terms));
}

std::span<const Term> Expr::terms() const {
  return node_ ? std::span<const Term>(node_->terms) : std::span<const Term>();
}
std::optional<std::int64_t> Expr::constant() const {
  if (!node_) return 0;
  const Terms& terms = node_->terms;
  if (terms.size() == 1 && terms[0].atoms.empty()) return terms[0].coefficient;
  return std::nullopt;
}
const Atom* Expr::as_atom() const {
  if (!node_ || node_->terms.size() != 1) return nullptr;
  const Term& term = node_->terms[0];
  return term.coefficient == 1 && term.atoms.size() == 1 ? term.atoms.data() : nullptr;
}
std::optional<Symbol> Expr::as_symbol() const {
  const Atom* atom = as_atom();
  return atom ? atom->symbol : std::nullopt;
}
const std::set<Symbol>& Expr::symbols() const {
  static const std::set<Symbol> none;
  if (!node_) return none;
  std::call_once(node_->symbols_once, [this] {
    for (const Term& term : node_->terms) {
      for (const Atom& atom : term.atoms) {
        if (atom.symbol) node_->symbols.insert(*atom.symbol);
        for (const Expr& arg : atom.args)
          node_->symbols.insert(arg.symbols().begin(), arg.symbols().end());
      }
    }
  });
  return node_->symbols;
}
bool Expr::mentions(Symbol symbol) const {
  return node_ && (node_->symbol_mask & symbol_bit(symbol)) != 0 && symbols().contains(symbol);
}
bool Expr::has_load() const { return node_ && node_->has_load; }
std::size_t Expr::hash() const { return node_ ? node_->hash : 0; }

MOTE_API bool operator==(const Expr& a, const Expr& b) {
  if (a.node_ == b.node_) return true;
  if (!a.node_ || !b.node_ || a.node_->hash != b.node_->hash) return false;
  return a.node_->terms == b.node_->terms;
}
MOTE_API std::strong_ordering operator<=>(const Expr& a, const Expr& b) {
  if (a.node_ == b.node_) return std::strong_ordering::equal;
  const auto x = a.terms(), y = b.terms();
  for (std::size_t i = 0; i < x.size() && i < y.size(); ++i) {
    if (const auto order = compare_monomials(x[i].atoms, y[i].atoms); order != 0) return order;
    if (x[i].coefficient != y[i].coefficient) return x[i].coefficient <=> y[i].coefficient;
  }
  return x.size() <=> y.size();
}

namespace {

// Returns Σ coefficient · Π image(atom), gathered raw and made canonical once.
template <class Image>
Expr map_atoms(const Expr& e, const Image& image) {
  TermGatherer total;
  for (const Term& term : e.terms()) {
    Terms product{Term{term.coefficient, {}}};
    for (const Atom& atom : term.atoms) product = multiply_terms(product, image(atom).terms());
    total.add(std::move(product));
  }
  return total.take();
}

Expr substitute_masked(const Expr& e, const std::map<Symbol, Expr>& env, std::uint64_t mask) {
  const auto* node = ExprBuilder::node(e);
  if (node == nullptr || (node->symbol_mask & mask) == 0) return e;
  const auto image = [&](const Atom& atom) -> Expr {
    if (atom.symbol) {
      const auto found = env.find(*atom.symbol);
      return found == env.end() ? Expr(*atom.symbol) : found->second;
    }
    Atom copy = atom;
    bool changed = false;
    for (Expr& arg : copy.args) {
      Expr replaced = substitute_masked(arg, env, mask);
      changed = changed || replaced != arg;
      arg = std::move(replaced);
    }
    return changed ? rebuild(copy) : Expr::from_atom(std::move(copy));
  };
  return map_atoms(e, image);
}

}  // namespace

Expr Expr::substitute(const std::map<Symbol, Expr>& env) const {
  std::uint64_t mask = 0;
  for (const auto& [symbol, value] : env) mask |= symbol_bit(symbol);
  return substitute_masked(*this, env, mask);
}

Expr Expr::transform(const std::function<Expr(const Atom&)>& f) const {
  return map_atoms(*this, [&f](const Atom& atom) {
    if (atom.args.empty()) return f(atom);
    Atom copy = atom;
    for (Expr& arg : copy.args) arg = arg.transform(f);
    return f(copy);
  });
}

std::optional<Linear> linear_in(const Expr& e, Symbol v) {
  if (!e.mentions(v)) return Linear{0, e};
  Terms factor, rest;
  for (const Term& term : e.terms()) {
    Term without{term.coefficient, {}};
    std::size_t count = 0;
    for (const Atom& atom : term.atoms) {
      if (atom.symbol == v) {
        ++count;
        continue;
      }
      for (const Expr& arg : atom.args) {
        if (arg.mentions(v)) return std::nullopt;
      }
      without.atoms.push_back(atom);
    }
    if (count > 1) return std::nullopt;
    (count == 1 ? factor : rest).push_back(std::move(without));
  }
  return Linear{ExprBuilder::sum(std::move(factor)), ExprBuilder::wrap(std::move(rest))};
}

}  // namespace mote
