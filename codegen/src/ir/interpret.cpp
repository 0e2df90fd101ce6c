// SPDX-License-Identifier: Apache-2.0
// Runs loop programs on dense arrays: reals in double, integers in wrapping 64-bit, outputs rounded
// to their dtypes as they are stored. In: a program, inputs, parameters; out: the outputs. Every
// index is checked against its tensor's shape, and every read against the stored elements.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <utility>

#include "ir/machine.h"
#include "ir/storage.h"
#include "mote/base/error.h"

namespace mote {
namespace machine {
namespace {

/// Says of an element that it was stored, or that an asynchronous copy of it is under way.
constexpr std::uint8_t kStored = 1, kUnderWay = 2;

struct Folded {
  Number value;
  bool is_position = false;  ///< argmax, argmin: value is the extreme one so far, if any was seen
  bool seen = false;
  std::int64_t position = 0;
};

Number combine(ReduceOp op, const Number& a, const Number& b, DType dtype) {
  const std::array<Number, 2> args = {a, b};
  switch (op) {
    case ReduceOp::sum:
      return apply(MapOp::add, args, dtype, dtype);
    case ReduceOp::prod:
      return apply(MapOp::mul, args, dtype, dtype);
    case ReduceOp::max:
      return apply(MapOp::max, args, dtype, dtype);
    case ReduceOp::min:
      return apply(MapOp::min, args, dtype, dtype);
    case ReduceOp::any:
      return apply(MapOp::logical_or, args, dtype, dtype);
    case ReduceOp::all:
      return apply(MapOp::logical_and, args, dtype, dtype);
    default:
      break;
  }
  throw InternalError(fmt::format("{} needs a position", name(op)));
}

bool is_nan(const Number& n) { return n.is_real() && std::isnan(n.real()); }

class Machine {
 public:
  Machine(const LoopProgram& p, const Binding& binding, const std::vector<Array>& inputs);
  std::vector<Array> run();

 private:
  void execute(const std::vector<StmtCode>& body);
  void execute(const StmtCode& s);
  void reset(const std::vector<AccumulatorCode>& accumulators);
  void loop(const StmtCode& s);
  void store(const StmtCode& s);
  void fold(const StmtCode& s);
  void wait(int pending);

  std::int64_t index(const IndexCode& code);
  std::int64_t limit(const IndexCode& code);
  std::int64_t atom(const AtomCode& code);
  bool holds(const std::vector<ConditionCode>& conditions);
  std::size_t element(int tensor, const std::vector<IndexCode>& code);
  const Number& read(int tensor, const std::vector<IndexCode>& code);
  Number value(const ValueCode& code);
  Number accumulated(const ValueCode& code) const;

  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> what, Args&&... args) const {
    throw InternalError(
        fmt::format("{}: {}", p_.name, fmt::format(what, std::forward<Args>(args)...)));
  }

  const LoopProgram& p_;
  Code code_;
  std::vector<Tensor> tensors_;
  std::vector<std::int64_t> variables_;
  std::vector<Folded> accumulators_;
  std::vector<Number> lets_;
  /// Limits and conditions may divide by a size that is 0 if they enclose no element; the quotient
  /// is 0 then, as in the C text.
  bool in_element_ = true;
  bool is_ahead_ = false;
  /// The elements that loops of kind ahead have stored and that no wait has ended, by the loop.
  std::deque<std::vector<std::pair<int, std::size_t>>> copies_;
};

Machine::Machine(const LoopProgram& p, const Binding& binding, const std::vector<Array>& inputs)
    : p_(p),
      code_(resolve(p, binding)),
      variables_(static_cast<std::size_t>(code_.variables)),
      accumulators_(static_cast<std::size_t>(code_.accumulators)),
      lets_(static_cast<std::size_t>(code_.lets)) {
  std::size_t k = 0;
  for (const TensorDecl& t : p.tensors) {
    if (t.role == TensorRole::input) {
      tensors_.push_back(input_tensor(p, t, binding.inputs[k], inputs[k]));
      ++k;
    } else {
      tensors_.push_back(stored_tensor(p, t, binding));
    }
  }
}

std::vector<Array> Machine::run() {
  execute(code_.body);
  std::vector<Array> out;
  for (Tensor& t : tensors_) {
    if (t.declaration->role != TensorRole::output) continue;
    for (std::size_t k = 0; k < t.stored.size(); ++k) {
      if (t.stored[k] == 0) {
        fail("output {}: element {} of shape [{}] was never stored", t.declaration->name, k,
             fmt::join(t.shape, ", "));
      }
    }
    out.push_back({t.declaration->dtype, std::move(t.shape), std::move(t.values)});
  }
  return out;
}

std::int64_t Machine::index(const IndexCode& code) {
  std::int64_t sum = code.constant;
  bool overflow = false;
  for (const TermCode& t : code.terms) {
    std::int64_t product = t.coefficient;
    for (const AtomCode& a : t.atoms) {
      overflow |= __builtin_mul_overflow(product, atom(a), &product);
    }
    overflow |= __builtin_add_overflow(sum, product, &sum);
  }
  if (overflow) fail("index arithmetic overflows");
  return sum;
}

std::int64_t Machine::atom(const AtomCode& code) {
  switch (code.kind) {
    case AtomCode::Kind::variable:
      return variables_[static_cast<std::size_t>(code.slot)];
    case AtomCode::Kind::let:
      return lets_[static_cast<std::size_t>(code.slot)].integer();
    case AtomCode::Kind::load:
      return read(code.slot, code.args).integer();
    default:
      break;
  }
  const std::int64_t a = index(code.args[0]);
  if (code.kind == AtomCode::Kind::min || code.kind == AtomCode::Kind::max) {
    std::int64_t best = a;
    for (std::size_t k = 1; k < code.args.size(); ++k) {
      const std::int64_t next = index(code.args[k]);
      if (code.kind == AtomCode::Kind::min ? next < best : next > best) best = next;
    }
    return best;
  }
  const std::int64_t b = index(code.args[1]);
  if (b == 0 && in_element_) fail("an index divides by zero");
  if (b == 0) return 0;
  if (b == -1 && code.kind == AtomCode::Kind::mod) return 0;
  if (b == -1 && a == INT64_MIN) fail("index arithmetic overflows");
  const std::int64_t remainder = a % b;
  const bool adjust = remainder != 0 && (remainder < 0) != (b < 0);
  if (code.kind == AtomCode::Kind::div) return a / b - (adjust ? 1 : 0);
  return adjust ? remainder + b : remainder;
}

/// Returns the value of a loop limit or of a side of a condition.
std::int64_t Machine::limit(const IndexCode& code) {
  const bool outside = std::exchange(in_element_, false);
  const std::int64_t value = index(code);
  in_element_ = outside;
  return value;
}

bool Machine::holds(const std::vector<ConditionCode>& conditions) {
  for (const ConditionCode& c : conditions) {
    const std::int64_t more = limit(c.more);
    const std::int64_t less = limit(c.less);
    const bool is_zero = c.kind == Condition::Kind::zero;
    if (!(is_zero ? more == less : c.is_strict ? more > less : more >= less)) return false;
  }
  return true;
}

/// Returns the position of the element in its data; throws InternalError for an index out of range.
std::size_t Machine::element(int tensor, const std::vector<IndexCode>& code) {
  const Tensor& t = tensors_[static_cast<std::size_t>(tensor)];
  std::array<std::int64_t, kMaxRank> at;
  std::int64_t offset = 0;
  bool inside = true;
  for (std::size_t axis = 0; axis < code.size(); ++axis) {
    at[axis] = index(code[axis]);
    inside = inside && at[axis] >= 0 && at[axis] < t.shape[axis];
    if (inside) offset += at[axis] * t.strides[axis];
  }
  if (!inside) {
    fail("{}[{}] is out of range, the shape is [{}]", t.declaration->name,
         fmt::join(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(code.size()), ", "),
         fmt::join(t.shape, ", "));
  }
  return static_cast<std::size_t>(offset);
}

const Number& Machine::read(int tensor, const std::vector<IndexCode>& code) {
  const std::size_t k = element(tensor, code);
  const Tensor& t = tensors_[static_cast<std::size_t>(tensor)];
  if (t.input == nullptr && t.stored[k] == 0) {
    fail("{}: element {} of shape [{}] is read but was never stored", t.declaration->name, k,
         fmt::join(t.shape, ", "));
  }
  if (t.input == nullptr && t.stored[k] == kUnderWay)
    fail("{}: element {} is read while its copy is under way", t.declaration->name, k);
  return t.data()[k];
}

Number Machine::accumulated(const ValueCode& code) const {
  const Folded& a = accumulators_[static_cast<std::size_t>(code.slot)];
  if (!a.is_position) return a.value;
  if (!a.seen) fail("an argmax or argmin of nothing is read");
  return a.position;
}

Number Machine::value(const ValueCode& code) {
  switch (code.kind) {
    case ValueCode::Kind::constant:
      return code.number;
    case ValueCode::Kind::index:
      if (is_real(code.dtype)) return static_cast<double>(index(code.index.front()));
      return index(code.index.front());
    case ValueCode::Kind::load:
      return read(code.slot, code.index);
    case ValueCode::Kind::accumulated:
      return accumulated(code);
    case ValueCode::Kind::let:
      return lets_[static_cast<std::size_t>(code.slot)];
    case ValueCode::Kind::guard:
      return holds(code.conditions) ? value(code.args.front()) : code.number;
    case ValueCode::Kind::op:
      break;
  }
  std::array<Number, 3> args;
  for (std::size_t k = 0; k < code.args.size(); ++k) args[k] = value(code.args[k]);
  return apply(code.op, std::span(args).first(code.args.size()), code.arg_dtype, code.dtype);
}

void Machine::execute(const std::vector<StmtCode>& body) {
  for (const StmtCode& s : body) execute(s);
}

void Machine::execute(const StmtCode& s) {
  switch (s.kind) {
    case StmtCode::Kind::loop:
      return loop(s);
    case StmtCode::Kind::branch:
      if (holds(s.conditions)) {
        execute(s.body);
      } else {
        reset(s.accumulators);
      }
      return;
    case StmtCode::Kind::store:
    case StmtCode::Kind::store_reduce:
      return store(s);
    case StmtCode::Kind::fold:
      return fold(s);
    case StmtCode::Kind::let:
      lets_[static_cast<std::size_t>(s.slot)] = value(s.value);
      return;
    case StmtCode::Kind::barrier:  // one thread runs everything
      return;
    case StmtCode::Kind::wait:
      return wait(s.pending);
    case StmtCode::Kind::prefetch:  // the element must exist
      (void)element(s.slot, s.index);
      return;
  }
}

/// Ends the copies of all loops apart from the last ones.
void Machine::wait(int pending) {
  for (; copies_.size() > static_cast<std::size_t>(pending); copies_.pop_front())
    for (const auto& [tensor, k] : copies_.front())
      tensors_[static_cast<std::size_t>(tensor)].stored[k] = kStored;
}

void Machine::reset(const std::vector<AccumulatorCode>& accumulators) {
  for (const AccumulatorCode& a : accumulators) {
    Folded& slot = accumulators_[static_cast<std::size_t>(a.slot)];
    slot = {};
    slot.is_position = a.op == ReduceOp::argmax || a.op == ReduceOp::argmin;
    if (!slot.is_position) slot.value = neutral(a.op, a.dtype);
  }
}

void Machine::loop(const StmtCode& s) {
  const std::int64_t begin = limit(s.index[0]);
  const std::int64_t end = limit(s.index[1]);
  const std::int64_t step = limit(s.index[2]);
  if (step < 1 && begin < end) fail("a loop has step {}", step);
  reset(s.accumulators);
  const bool was_ahead = std::exchange(is_ahead_, is_ahead_ || s.is_ahead);
  if (s.is_ahead) copies_.emplace_back();
  for (std::int64_t i = begin; i < end; i += step) {
    variables_[static_cast<std::size_t>(s.slot)] = i;
    for (std::size_t k = 0; k < s.digits.size(); ++k)
      variables_[static_cast<std::size_t>(s.digits[k])] = limit(s.index[3 + k]);
    for (const int tensor : s.tensors)
      std::ranges::fill(tensors_[static_cast<std::size_t>(tensor)].stored, 0);
    execute(s.body);
  }
  is_ahead_ = was_ahead;
}

void Machine::store(const StmtCode& s) {
  const std::size_t k = element(s.slot, s.index);
  Number next = value(s.value);
  if (s.kind == StmtCode::Kind::store_reduce) {
    next = apply(s.scatter, read(s.slot, s.index), next, s.dtype);
  }
  Tensor& t = tensors_[static_cast<std::size_t>(s.slot)];
  const int bits = t.declaration->integer_bits;
  if (bits < 64 && next.integer() >> (bits - 1) != next.integer() >> 63)
    fail("{}: {} does not fit {} bits", t.declaration->name, next.integer(), bits);
  t.values[k] = t.declaration->role == TensorRole::output ? store_as(next, s.dtype) : next;
  if (is_ahead_) copies_.back().emplace_back(s.slot, k);
  t.stored[k] = is_ahead_ ? kUnderWay : kStored;
}

/// Folds a value. The first of the greatest (least) values wins, and the first NaN over everything.
void Machine::fold(const StmtCode& s) {
  Folded& a = accumulators_[static_cast<std::size_t>(s.slot)];
  const Number next = value(s.value);
  if (!a.is_position) {
    a.value = combine(s.op, a.value, next, s.dtype);
    return;
  }
  const std::array<Number, 2> args = {next, a.value};
  const MapOp better = s.op == ReduceOp::argmax ? MapOp::gt : MapOp::lt;
  const auto is_better = [&] {
    return apply(better, args, s.dtype, DType::boolean).integer() != 0;
  };
  if (a.seen && (is_nan(a.value) || (!is_nan(next) && !is_better()))) return;
  a = {next, true, true, index(s.index.front())};
}

}  // namespace
}  // namespace machine

bool meets_demands(const LoopProgram& p, const Binding& binding) {
  return std::ranges::all_of(p.demands, [&](const Condition& c) {
    const std::int64_t value = evaluate(c.e, binding.values);
    return c.kind == Condition::Kind::zero ? value == 0 : value >= 0;
  });
}

std::vector<Array> interpret(const LoopProgram& p, const std::vector<Array>& inputs,
                             const std::map<std::string, Number>& params) {
  verify(p);
  std::vector<std::vector<std::int64_t>> shapes;
  for (const Array& a : inputs) shapes.push_back(a.shape);
  Binding binding = mote::bind(*p.source, shapes, params);
  if (!meets_demands(p, binding))
    throw InternalError(fmt::format("{}: {} does not hold", p.name, to_string(p.demands)));
  for (const NamedSize& size : p.source->sizes) {
    binding.values.emplace(Symbol(SymbolKind::size, size.name),
                           evaluate(size.value, binding.values));
  }
  return machine::Machine(p, binding, inputs).run();
}

}  // namespace mote
