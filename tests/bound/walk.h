// SPDX-License-Identifier: Apache-2.0
// Evaluates a program node by node over values of any kind. Moving, gathering and grouping are the
// same for all; `Rules` define the values and their operations by these members:
//
//   Value input(std::size_t position, std::size_t element)
//   Value constant(const Number&, DType)
//   Value parameter(const std::string& name, DType)
//   Value position(std::int64_t, DType)
//   Value element(const Uop&, const uop::Map&, const std::vector<Value>& arguments)
//   Value reduced(const Uop&, const uop::Reduce&, const std::vector<Value>& terms)
//   Value arrived(const Uop&, ScatterOp, const std::vector<Value>&)    the previous value is first
//   std::int64_t index(const Value&)
#pragma once

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "mote/base/error.h"
#include "mote/uops/program.h"

namespace mote::test {

/// Returns the op that a reduction applies to each term; argmax and argmin have no such op.
inline MapOp step_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return MapOp::add;
    case ReduceOp::prod:
      return MapOp::mul;
    case ReduceOp::max:
      return MapOp::max;
    case ReduceOp::min:
      return MapOp::min;
    case ReduceOp::any:
      return MapOp::logical_or;
    case ReduceOp::all:
      return MapOp::logical_and;
    default:
      throw InternalError("no step for argmax and argmin");
  }
}

template <typename Value>
struct Values {
  std::vector<std::int64_t> shape;
  std::vector<Value> elements;  ///< row-major
};

template <typename Value, typename Rules>
class Walk {
 public:
  /// `shapes` are those of the given inputs, where a broadcast axis may be 1.
  Walk(const Program& p, const Binding& binding, std::vector<std::vector<std::int64_t>> shapes,
       Rules& rules)
      : program_(p), binding_(binding), shapes_(std::move(shapes)), rules_(rules) {
    for (int k = 0; k < kMaxRank; ++k) loops_.push_back(*Expr::loop(k).as_symbol());
  }

  /// Computes every output.
  std::vector<Values<Value>> run() {
    const std::vector<Uop> wanted = roots(program_);
    for (const Uop& u : topological(wanted)) {
      Values<Value> y;
      for (const Expr& e : u.shape()) y.shape.push_back(evaluate(e, binding_.values));
      std::visit([&](const auto& kind) { fill(u, kind, y); }, u.node().kind);
      done_.emplace(u.id(), std::move(y));
    }
    std::vector<Values<Value>> results;
    for (const Uop& u : wanted) results.push_back(done_.at(u.id()));
    return results;
  }

 private:
  using Index = std::vector<std::int64_t>;

  static std::int64_t volume(const Index& shape) {
    std::int64_t n = 1;
    for (const auto e : shape) n *= e;
    return n;
  }
  static Index index_of(std::int64_t linear, const Index& shape) {
    Index i(shape.size());
    for (std::size_t k = shape.size(); k-- > 0;) {
      i[k] = linear % shape[k];
      linear /= shape[k];
    }
    return i;
  }
  static std::size_t row_major(const Index& i, const Index& shape) {
    std::int64_t at = 0;
    for (std::size_t k = 0; k < i.size(); ++k) at = at * shape[k] + i[k];
    return static_cast<std::size_t>(at);
  }
  static bool inside(const Index& i, const Index& shape) {
    for (std::size_t k = 0; k < i.size(); ++k)
      if (i[k] < 0 || i[k] >= shape[k]) return false;
    return true;
  }
  std::int64_t index_value(const Expr& e, const Index& i) const {
    const auto symbol = [&](Symbol s) -> std::int64_t {
      for (std::size_t k = 0; k < i.size(); ++k)
        if (loops_[k] == s) return i[k];
      return binding_.values.at(s);
    };
    return evaluate(e, Environment{symbol, nullptr});
  }
  Index mapped(const std::vector<Expr>& from, const Index& i) const {
    Index j;
    for (const Expr& e : from) j.push_back(index_value(e, i));
    return j;
  }
  const Values<Value>& values(const Uop& x) const { return done_.at(x.id()); }
  const Value& at(const Uop& x, const Index& i) const {
    const Values<Value>& a = values(x);
    return a.elements[a.shape.empty() ? 0 : row_major(i, a.shape)];
  }

  void fill(const Uop&, const uop::Input& k, Values<Value>& y) {
    const auto position = static_cast<std::size_t>(*find_input(program_, k.name));
    const Index& given = shapes_[position];
    for (std::int64_t n = 0; n < volume(y.shape); ++n) {
      Index i = index_of(n, y.shape);
      i.erase(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(i.size() - given.size()));
      for (std::size_t d = 0; d < i.size(); ++d)
        if (given[d] == 1) i[d] = 0;
      y.elements.push_back(rules_.input(position, row_major(i, given)));
    }
  }
  void fill(const Uop& u, const uop::Scalar& k, Values<Value>& y) {
    y.elements.push_back(rules_.constant(k.value, u.dtype()));
  }
  void fill(const Uop& u, const uop::Param& k, Values<Value>& y) {
    y.elements.push_back(rules_.parameter(k.name, u.dtype()));
  }
  void fill(const Uop& u, const uop::Iota& k, Values<Value>& y) {
    for (std::int64_t n = 0; n < volume(y.shape); ++n)
      y.elements.push_back(rules_.position(index_value(k.value, index_of(n, y.shape)), u.dtype()));
  }
  void fill(const Uop& u, const uop::Reindex& k, Values<Value>& y) {
    const Values<Value>& x = values(k.x);
    const Value outside = rules_.constant(k.fill, u.dtype());
    for (std::int64_t n = 0; n < volume(y.shape); ++n) {
      const Index j = mapped(k.from, index_of(n, y.shape));
      y.elements.push_back(inside(j, x.shape) ? x.elements[row_major(j, x.shape)] : outside);
    }
  }
  void fill(const Uop&, const uop::StopGradient& k, Values<Value>& y) {
    y.elements = values(k.x).elements;
  }
  void fill(const Uop& u, const uop::Map& k, Values<Value>& y) {
    std::vector<Value> args;
    for (std::int64_t n = 0; n < volume(y.shape); ++n) {
      // An argument of a Map has the Map's shape or rank 0.
      args.clear();
      for (const Uop& a : k.args) {
        const Values<Value>& v = values(a);
        args.push_back(v.elements[v.shape.empty() ? 0 : static_cast<std::size_t>(n)]);
      }
      y.elements.push_back(rules_.element(u, k, args));
    }
  }
  void fill(const Uop& u, const uop::Reduce& k, Values<Value>& y) {
    const Values<Value>& x = values(k.x);
    std::vector<std::vector<Value>> terms(static_cast<std::size_t>(volume(y.shape)));
    for (std::int64_t n = 0; n < volume(x.shape); ++n) {
      const Index i = index_of(n, x.shape);
      Index j;
      for (std::size_t d = 0; d < i.size(); ++d)
        if (std::ranges::find(k.axes, static_cast<int>(d)) == k.axes.end()) j.push_back(i[d]);
      terms[row_major(j, y.shape)].push_back(x.elements[static_cast<std::size_t>(n)]);
    }
    for (const auto& t : terms) y.elements.push_back(rules_.reduced(u, k, t));
  }
  void fill(const Uop& u, const uop::Select& k, Values<Value>& y) {
    const Values<Value>& x = values(k.x);
    const Value outside = rules_.constant(k.fill, u.dtype());
    for (std::int64_t n = 0; n < volume(y.shape); ++n) {
      Index i = index_of(n, y.shape);
      i[static_cast<std::size_t>(k.axis)] = rules_.index(at(k.index, i));
      y.elements.push_back(inside(i, x.shape) ? x.elements[row_major(i, x.shape)] : outside);
    }
  }

  /// Combines all writes to an element with its previous value, which comes first.
  void arrive(const Uop& u, ScatterOp op, const Uop& base, const Uop& from, Values<Value>& y,
              const auto& target) {
    y.elements = values(base).elements;
    const Values<Value>& x = values(from);
    std::map<std::size_t, std::vector<Value>> lists;
    for (std::int64_t n = 0; n < volume(x.shape); ++n) {
      const Index j = target(index_of(n, x.shape));
      if (!inside(j, y.shape)) continue;
      const std::size_t to = row_major(j, y.shape);
      auto& list = lists[to];
      if (list.empty()) list.push_back(y.elements[to]);
      list.push_back(x.elements[static_cast<std::size_t>(n)]);
    }
    for (const auto& [to, list] : lists) y.elements[to] = rules_.arrived(u, op, list);
  }
  void fill(const Uop& u, const uop::Scatter& k, Values<Value>& y) {
    arrive(u, k.op, k.base, k.x, y, [&](const Index& i) { return mapped(k.to, i); });
  }
  void fill(const Uop& u, const uop::SelectScatter& k, Values<Value>& y) {
    arrive(u, k.op, k.base, k.x, y, [&](Index i) {
      i[static_cast<std::size_t>(k.axis)] = rules_.index(at(k.index, i));
      return i;
    });
  }

  const Program& program_;
  const Binding& binding_;
  std::vector<std::vector<std::int64_t>> shapes_;
  Rules& rules_;
  std::vector<Symbol> loops_;
  std::unordered_map<const UopNode*, Values<Value>> done_;
};

}  // namespace mote::test
