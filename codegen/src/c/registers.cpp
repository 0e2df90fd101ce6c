// SPDX-License-Identifier: Apache-2.0
// Writes the unrolled loops over tensors in registers: a variable of a vector type for each vector
// of a row, and a statement for each. A plain array instead would be kept in memory or not at the
// compiler's whim.
#include <fmt/format.h>

#include <algorithm>

#include "c/writer.h"
#include "ir/dependence.h"
#include "mote/base/error.h"
#include "mote/codegen/walk.h"

namespace mote::emit {
namespace {

/// Returns the constant extent of a loop from 0.
std::int64_t extent_of(const Loop& loop) { return *(loop.end - loop.begin).constant(); }

/// Returns the branch that the statements of the unrolled loop stand under; null: they are
/// executed.
const If* guard_of(const Loop& unrolled) { return std::get_if<If>(&unrolled.body.at(0).kind); }

Conditions of_row(Conditions conditions, Symbol variable, std::int64_t row) {
  for (Condition& c : conditions) c.e = c.e.substitute({{variable, row}});
  return conditions;
}

bool has_quotient(const Expr& e) {
  bool found = false;
  (void)e.transform([&](const Atom& a) {
    found = found || a.kind == Atom::Kind::div || a.kind == Atom::Kind::mod;
    return rebuild(a);
  });
  return found;
}

}  // namespace

/// Writes one statement for each row and vector of the loops' iterations.
class RegisterWriter {
 public:
  RegisterWriter(Writer& writer, const Loop& loop, const Facts& facts)
      : w_(writer),
        rows_(loop),
        guard_(writer.has_all_rows_ ? nullptr : guard_of(loop)),
        lanes_(*as_loop(guard_of(loop) != nullptr ? guard_of(loop)->body.at(0) : loop.body.at(0))),
        facts_(facts) {}

  void write() {
    for (const Stmt& s : lanes_.body) for_each_value(s, [&](const Value& v) { load_shared(v); });
    for (std::int64_t row = 0; row < extent_of(rows_); ++row) {
      scalars_.clear();
      if (guard_ != nullptr) open_guard(row);
      for (const Stmt& s : lanes_.body) statement(s, row);
      if (guard_ != nullptr) close_guard();
    }
  }

 private:
  /// Opens the branch that the statements of the row stand under.
  void open_guard(std::int64_t row) {
    const auto ahead = w_.rows_ahead_.find({&rows_, row});
    std::string test = ahead != w_.rows_ahead_.end() ? ahead->second.guard : "";
    Facts inside = facts_;
    if (test.empty())
      test = w_.printer_.conditions(of_row(guard_->conditions, rows_.variable, row), inside).text;
    w_.line(fmt::format("if ({}) {{", test));
    ++w_.indent_;
  }
  void close_guard() {
    --w_.indent_;
    w_.line("}");
  }

  std::int64_t lanes_of(DType dtype) const { return w_.lanes_of(dtype); }

  const TensorDecl& tensor(const std::string& name) const { return *find_tensor(w_.p_, name); }

  /// Loads the vectors that all rows share.
  void load_shared(const Value& v) {
    const auto* load = std::get_if<value::Load>(&v->kind);
    if (load == nullptr || tensor(load->tensor).memory == TensorMemory::registers) return;
    if (!mentions(v, lanes_.variable) || mentions(v, rows_.variable)) return;
    if (is_in_pairs(*load) && load->index.back() != Expr(0)) return;  // the first half loads both
    if (std::ranges::any_of(shared_, [&](const auto& s) { return equal(s.first, v); })) return;
    std::vector<std::string> names;
    for (std::int64_t lane = 0; lane < extent_of(lanes_); lane += lanes_of(v->dtype)) {
      names.push_back(w_.names_.fresh(fmt::format("{}_{}", load->tensor, names.size())));
      w_.line(fmt::format("const {} {} = {};", w_.vector_type(v->dtype), names.back(),
                          memory(*load, 0, lane)));
    }
    shared_.emplace_back(v, std::move(names));
  }

  /// Returns the vector in memory that begins at the lane.
  std::string memory(const value::Load& load, std::int64_t row, std::int64_t lane) const {
    return memory(load.tensor, load.index, row, lane);
  }
  std::string memory(const std::string& name, const std::vector<Expr>& index, std::int64_t row,
                     std::int64_t lane) const {
    const TensorDecl& t = tensor(name);
    const std::size_t lane_axis = t.integer_bits == 16 ? 2 : 1;
    if (t.role != TensorRole::temporary || index.size() < lane_axis ||
        linear_in(index[index.size() - lane_axis], lanes_.variable)->factor != Expr(1))
      throw InternalError(fmt::format("emit_c: the lanes of {} are not adjacent", name));
    std::vector<Expr> here;
    for (const Expr& e : index)
      here.push_back(e.substitute({{rows_.variable, row}, {lanes_.variable, lane}}));
    return fmt::format("*({} *)&{}", w_.vector_type(t.dtype), w_.printer_.element(t, here, facts_));
  }

  std::string variable(const std::string& name, std::int64_t row, std::int64_t lane) const {
    const TensorDecl& t = tensor(name);
    return w_.printer_.read(w_.register_name(name, row, lane / lanes_of(t.dtype)));
  }

  void statement(const Stmt& s, std::int64_t row) {
    const auto* store = std::get_if<Store>(&s.kind);
    const auto* reduce = std::get_if<StoreReduce>(&s.kind);
    if (store == nullptr && (reduce == nullptr || reduce->op != ScatterOp::add))
      throw InternalError("emit_c: registers are stored, or added to");
    const std::string& name = store != nullptr ? store->tensor : reduce->tensor;
    const std::vector<Expr>& index = store != nullptr ? store->index : reduce->index;
    const Value& v = store != nullptr ? store->value : reduce->value;
    const TensorDecl& t = tensor(name);
    if (reduce != nullptr && t.integer_bits == 32) {
      add_pairs(t, v, row);
      return;
    }
    const bool in_registers = t.memory == TensorMemory::registers;
    const Value scalar_parts = with_scalars(v, row);
    for (std::int64_t lane = 0; lane < extent_of(lanes_); lane += lanes_of(t.dtype)) {
      const std::string left =
          in_registers ? variable(name, row, lane) : memory(name, index, row, lane);
      w_.line(fmt::format("{} {}= {};", left, reduce != nullptr ? "+" : "",
                          is_vector(scalar_parts) ? vector(scalar_parts, row, lane).text
                                                  : splat(scalar_parts, t.dtype)));
    }
  }

  /// Returns true for an element of a panel whose last axis has the two factors of a pair.
  bool is_in_pairs(const value::Load& load) const { return tensor(load.tensor).integer_bits == 16; }

  /// Adds two products, `x[…, 0]*y[…, 0] + x[…, 1]*y[…, 1]`, to each sum of the row.
  void add_pairs(const TensorDecl& sums, const Value& v, std::int64_t row) {
    const auto& both = std::get<value::Op>(v->kind);
    const auto& first = std::get<value::Op>(both.args.at(0)->kind);
    const bool is_row_first = !is_vector(first.args.at(0));
    const Value& of_row = first.args.at(is_row_first ? 0 : 1);
    const Value& of_lanes = first.args.at(is_row_first ? 1 : 0);
    const auto& load = std::get<value::Load>(of_row->kind);
    w_.printer_.uses().call("mote_pair");
    const std::string pair = w_.names_.fresh(fmt::format("{}_{}", load.tensor, row));
    const Value here = substitute(of_row, {{rows_.variable, row}});
    w_.line(fmt::format(
        "const int32_t {} = mote_pair(&{});", pair,
        w_.printer_.element(tensor(load.tensor), std::get<value::Load>(here->kind).index, facts_)));
    const std::string function = fmt::format("mote_add_pairs_{}", w_.p_.vector_bytes);
    w_.printer_.uses().call(function);
    for (std::int64_t lane = 0; lane < extent_of(lanes_); lane += lanes_of(sums.dtype)) {
      const std::string sum = variable(sums.name, row, lane);
      w_.line(fmt::format("{} = {}({}, {}, {});", sum, function, sum, pair,
                          vector(of_lanes, row, lane).text));
    }
  }

  bool is_vector(const Value& v) const { return mentions(v, lanes_.variable); }

  /// Returns a vector whose lanes are all x.
  std::string splat(const Value& x, DType dtype) const {
    const std::string zero = fmt::format("({}){{0}}", w_.vector_type(dtype));
    const auto* constant = std::get_if<value::Constant>(&x->kind);
    if (constant != nullptr && constant->number.as_real() == 0) return zero;
    return zero + " + " + within(as_type(w_.printer_.value(x, facts_), dtype), kProduct);
  }

  Text as_type(const Text& x, DType dtype) const { return is_in_float(dtype) ? as_float(x) : x; }

  /// Returns the row's value, whose indices read what is computed ahead.
  Value with_indices_ahead(const Value& v, std::int64_t row) const {
    const Value of_row = substitute(v, {{rows_.variable, row}});
    const auto ahead = w_.rows_ahead_.find({&rows_, row});
    if (ahead == w_.rows_ahead_.end() || ahead->second.indices.empty()) return of_row;
    return rewrite_exprs(of_row, [&](const Expr& e) {
      const auto known = ahead->second.indices.find(e);
      return known == ahead->second.indices.end() ? e : known->second;
    });
  }

  /// Returns the row's element of a panel by the pointer to the row, if there is one.
  std::optional<std::string> element_of_pointer(const Value& of_row, std::int64_t row) const {
    const auto* load = std::get_if<value::Load>(&of_row->kind);
    const auto& all = w_.row_pointers_.of_tensor;
    const auto found = load == nullptr ? all.end() : all.find(load->tensor);
    if (found == all.end()) return std::nullopt;
    std::map<Symbol, Expr> at_first;
    for (const Symbol v : w_.row_pointers_.moving) at_first.emplace(v, 0);
    std::vector<Expr> from_pointer;
    for (const Expr& e : load->index) from_pointer.push_back(e - e.substitute(at_first));
    const TensorDecl& t = tensor(load->tensor);
    const std::string& pointer = found->second.at(static_cast<std::size_t>(row));
    return fmt::format("{}[{}]", w_.printer_.read(pointer),
                       w_.printer_.offset(t, from_pointer, facts_));
  }

  /// Returns the value with a constant for each part that loads but does not change along the
  /// lanes, which is evaluated once for the row.
  Value with_scalars(const Value& v, std::int64_t row) {
    if (!is_vector(v)) {
      if (std::holds_alternative<value::Constant>(v->kind)) return v;
      const auto known =
          std::ranges::find_if(scalars_, [&](const auto& s) { return equal(s.first, v); });
      if (known != scalars_.end()) return known->second;
      const Value of_row = with_indices_ahead(v, row);
      const auto* load = std::get_if<value::Load>(&v->kind);
      const auto pointed = element_of_pointer(of_row, row);
      const Text text =
          pointed ? Text{*pointed} : as_type(w_.printer_.value(of_row, facts_), v->dtype);
      const std::string name =
          w_.names_.fresh(fmt::format("{}_{}", load != nullptr ? load->tensor : "row", row));
      w_.line(fmt::format("const {} {} = {};", local_type(v->dtype, true), name, text.text));
      w_.names_.add_local(name);
      return scalars_.emplace_back(v, named_value(name, v->dtype)).second;
    }
    const auto* op = std::get_if<value::Op>(&v->kind);
    if (op == nullptr) return v;
    std::vector<Value> args;
    for (const Value& a : op->args) args.push_back(with_scalars(a, row));
    return op_value(op->op, std::move(args), op->arg_dtype, v->dtype);
  }

  /// Returns the lanes of the value; a part that is the same for all of them is a scalar.
  Text vector(const Value& v, std::int64_t row, std::int64_t lane) const {
    if (!is_vector(v)) return as_type(w_.printer_.value(v, facts_), v->dtype);
    if (const auto* load = std::get_if<value::Load>(&v->kind)) {
      if (tensor(load->tensor).memory == TensorMemory::registers)
        return {variable(load->tensor, row, lane)};
      const auto known =
          std::ranges::find_if(shared_, [&](const auto& s) { return equal(s.first, v); });
      if (known != shared_.end())
        return {known->second.at(static_cast<std::size_t>(lane / lanes_of(v->dtype)))};
      return {memory(*load, row, lane), kUnary};
    }
    const auto* op = std::get_if<value::Op>(&v->kind);
    if (op == nullptr) throw InternalError("emit_c: a value has no form in vectors");
    std::vector<Text> args;
    for (const Value& a : op->args) args.push_back(vector(a, row, lane));
    if (op->op == MapOp::neg) return {"-" + operand(args.at(0), kUnary), kUnary, CType::i64, '-'};
    const auto& infix = info(op->op).infix;
    if (!infix) throw InternalError("emit_c: an op has no form in vectors");
    const auto next = static_cast<Precedence>(infix->precedence + 1);
    return {fmt::format("{} {} {}", within(args.at(0), infix->precedence), infix->symbol,
                        operand(args.at(1), next)),
            infix->precedence, CType::i64, leading_minus(args.at(0), infix->precedence)};
  }

  Writer& w_;
  const Loop& rows_;
  const If* guard_;  ///< null: the statements of all rows are executed
  const Loop& lanes_;
  const Facts& facts_;
  std::vector<std::pair<Value, std::vector<std::string>>> shared_;  ///< loads, and their vectors
  std::vector<std::pair<Value, Value>> scalars_;                    ///< parts, and their constants
};

/// Returns the test whether all rows of the unrolled loops in the loop's body are executed, as far
/// as that is computed before the loop; empty if the loop has one form.
std::string Writer::test_of_all_rows(const Loop& l) const {
  std::string test;
  for (const Stmt& s : l.body) {
    const Loop* unrolled = as_loop(s);
    if (unrolled == nullptr || unrolled->kind != LoopKind::unrolled) return "";
    for (std::int64_t row = 0; row < extent_of(*unrolled); ++row) {
      const auto ahead = rows_ahead_.find({unrolled, row});
      if (ahead == rows_ahead_.end() || ahead->second.guard.empty()) return "";
      test += (test.empty() ? "" : " && ") + ahead->second.guard;
    }
  }
  return test;
}

/// Computes, before a loop that changes neither, whether the statements of each row of an unrolled
/// loop in it are executed, and the quotients in their indices: the compiler leaves divisions that
/// stand under a branch in the loop.
void Writer::rows_ahead(const Loop& unrolled, const std::set<Symbol>& changing,
                        const Facts& facts) {
  const If* guard = guard_of(unrolled);
  if (guard == nullptr) return;
  const auto is_fixed = [&](const Expr& e) {
    return !e.has_load() &&
           std::ranges::none_of(e.symbols(), [&](Symbol v) { return changing.contains(v); });
  };
  const bool has_guard =
      std::ranges::all_of(guard->conditions, [&](const Condition& c) { return is_fixed(c.e); });
  printer_.set_divides_rarely(true);
  std::set<Expr> quotients;
  for (const Access& a : accesses(guard->body))
    for (const Expr& e : a.index)
      if (e.mentions(unrolled.variable) && is_fixed(e) && has_quotient(e)) quotients.insert(e);
  for (std::int64_t row = 0; row < extent_of(unrolled); ++row) {
    RowAhead& ahead = rows_ahead_[{&unrolled, row}];
    if (has_guard && ahead.guard.empty()) {
      ahead.guard = names_.fresh(fmt::format("is_in_row_{}", row));
      Facts inside = facts;
      const Conditions conditions = of_row(guard->conditions, unrolled.variable, row);
      line(fmt::format("const int64_t {} = {};", ahead.guard,
                       printer_.conditions(conditions, inside).text));
    }
    for (const Expr& e : quotients) {
      const Expr here = e.substitute({{unrolled.variable, row}});
      if (ahead.indices.contains(here)) continue;
      const Symbol name(SymbolKind::loop, names_.fresh(fmt::format("index_{}", row)));
      line(fmt::format("const int64_t {} = {};", name.name(), printer_.expr(here, facts).text));
      names_.add_local(name.name());
      ahead.indices.emplace(here, Expr(name));
    }
  }
  printer_.set_divides_rarely(false);
}

void Writer::register_loops(const Loop& loop, const Facts& facts) {
  line("{");
  ++indent_;
  RegisterWriter(*this, loop, facts).write();
  --indent_;
  line("}");
}

std::int64_t Writer::lanes_of(DType dtype) const { return p_.vector_bytes / native_bytes(dtype); }

const std::string& Writer::vector_type(DType dtype) {
  const bool is_sum_of_integers = is_integer(dtype);
  std::string& type = vector_types_[is_sum_of_integers ? "int32_t" : local_type(dtype, true)];
  if (type.empty())
    type = names_.fresh(is_sum_of_integers   ? "integers"
                        : is_in_float(dtype) ? "floats"
                                             : "doubles");
  return type;
}

std::string Writer::register_name(const std::string& tensor, std::int64_t row,
                                  std::int64_t vector) {
  std::string& name = registers_[{tensor, row, vector}];
  if (name.empty()) name = names_.fresh(fmt::format("{}_{}_{}", tensor, row, vector));
  return name;
}

/// Declares the variables of a tensor in registers, a line for each row. They begin as 0, since gcc
/// does not see that a call without some output neither sets nor reads its sums.
void Writer::declare_registers(const TensorDecl& t) {
  const std::int64_t vectors = *t.shape.at(1).constant() / lanes_of(t.dtype);
  for (std::int64_t row = 0; row < *t.shape.at(0).constant(); ++row) {
    std::string all;
    for (std::int64_t k = 0; k < vectors; ++k)
      all += (k == 0 ? "" : ", ") + register_name(t.name, row, k) + " = {0}";
    line(fmt::format("{} {};", vector_type(t.dtype), all));
  }
}

/// Returns the definitions of the vector types; they may be read at any element's address.
std::string Writer::vector_type_definitions() const {
  std::string out;
  for (const auto& [element, type] : vector_types_)
    out += wrap(fmt::format("  typedef {} {} __attribute__((vector_size({}), aligned(sizeof({})), "
                            "may_alias));",
                            element, type, p_.vector_bytes, element)) +
           "\n";
  return out;
}

}  // namespace mote::emit
