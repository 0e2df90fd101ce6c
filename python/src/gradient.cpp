// SPDX-License-Identifier: Apache-2.0
// The gradient of an op as the text of a program |gy|x| -> |gx|, which reads no output of the op:
// autograd computes it from the inputs.
#include "mote/uops/gradient.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "../../runtime/core/src/c/guard.h"
#include "../../uops/src/graph/node.h"
#include "mote/oracle/resolve.h"
#include "mote/uops/facts.h"
#include "mote/uops/invert.h"
#include "mote_python.h"
#include "text.h"

namespace {

using namespace mote;  // NOLINT: names of uops

/// Finds out whether what is equal at a kink of a program (the arguments of a max, min or
/// comparison) stays equal when the same is added to all real inputs. The sum of all gradients is
/// then the same, whichever of the equal arguments gets the gradient.
class KeptTies {
 public:
  explicit KeptTies(const Program& p) {
    for (const Uop& u : topological(inputs_and_roots(p.inputs, p.outputs)))
      slopes_.emplace(u.id(), slope(u));
  }
  bool all() const { return all_; }

 private:
  /// By how much each element of a node grows when 1 is added to all real inputs; nullopt where
  /// this is not the same for all elements and values, or is not known.
  using Slope = std::optional<double>;

  Slope of(const Uop& u) const { return slopes_.at(u.id()); }

  Slope slope(const Uop& u) {
    return std::visit(
        Overloaded{[&](const uop::Input&) -> Slope { return is_real(u.dtype()) ? 1 : 0; },
                   [&](const uop::Map& k) { return of_map(u, k); },
                   [&](const uop::Reduce& k) { return of_reduce(k); },
                   [&](const uop::Reindex& k) {
                     return reads_in_range(u, k) ? of(k.x) : beside_fill(of(k.x), k.fill);
                   },
                   [&](const uop::Select& k) { return beside_fill(of(k.x), k.fill); },
                   [&](const auto&) { return constant_if_all_are(operands(u)); }},
        u.node().kind);
  }

  static bool reads_in_range(const Uop& u, const uop::Reindex& view) {
    Facts facts;
    for (int k = 0; k < u.rank(); ++k)
      facts.set_range(*Expr::loop(k).as_symbol(), 0, u.shape()[static_cast<std::size_t>(k)]);
    for (std::size_t k = 0; k < view.from.size(); ++k) {
      const Expr& i = view.from[k];
      if (!facts.prove_nonneg(i) || !facts.prove_positive(view.x.shape()[k] - i)) return false;
    }
    return true;
  }

  /// An infinite fill is equal to no finite element.
  static Slope beside_fill(Slope x, const Number& fill) {
    const bool is_infinite = fill.is_real() && std::isinf(fill.real());
    return x == 0.0 || is_infinite ? x : std::nullopt;
  }

  Slope constant_if_all_are(const std::vector<Uop>& x) const {
    const bool all = std::ranges::all_of(x, [&](const Uop& a) { return of(a) == 0.0; });
    return all ? Slope(0) : std::nullopt;
  }

  Slope of_reduce(const uop::Reduce& k) {
    const Slope x = of(k.x);
    const bool is_extremum = k.op == ReduceOp::max || k.op == ReduceOp::min;
    if (is_extremum && !x) all_ = false;
    return is_extremum ? x : constant_if_all_are({k.x});
  }

  /// The slope of several arguments of which one is chosen.
  Slope of_choice(const Uop& a, const Uop& b) const {
    return of(a) == of(b) ? of(a) : std::nullopt;
  }

  Slope of_map(const Uop& u, const uop::Map& k) {
    const std::vector<Uop>& x = k.args;
    switch (k.op) {
      case MapOp::max:
      case MapOp::min:
        if (is_real(u.dtype()) && !of_choice(x[0], x[1])) all_ = false;
        return of_choice(x[0], x[1]);
      case MapOp::lt:
      case MapOp::le:
      case MapOp::gt:
      case MapOp::ge:
        if (is_real(x[0].dtype()) && !of_choice(x[0], x[1])) all_ = false;
        return 0;
      case MapOp::abs:
        if (is_real(u.dtype()) && of(x[0]) != 0.0) all_ = false;
        return constant_if_all_are(x);
      case MapOp::where:
        return of_choice(x[1], x[2]);
      case MapOp::cast:
        return is_real(u.dtype()) ? of(x[0]) : constant_if_all_are(x);
      case MapOp::neg:
        return of(x[0]) ? Slope(-*of(x[0])) : std::nullopt;
      case MapOp::add:
        return of(x[0]) && of(x[1]) ? Slope(*of(x[0]) + *of(x[1])) : std::nullopt;
      case MapOp::sub:
        return of(x[0]) && of(x[1]) ? Slope(*of(x[0]) - *of(x[1])) : std::nullopt;
      default:
        return constant_if_all_are(x);
    }
  }

  std::unordered_map<const UopNode*, Slope> slopes_;
  bool all_ = true;
};

AtKinks at_kinks_of(int32_t value) {
  switch (value) {
    case MOTE_PY_USUAL:
      return AtKinks::usual;
    case MOTE_PY_LEAST:
      return AtKinks::least;
    case MOTE_PY_GREATEST:
      return AtKinks::greatest;
    default:
      throw StatusError(MOTE_INVALID, "at_kinks: expected MOTE_PY_USUAL, _LEAST or _GREATEST");
  }
}

}  // namespace

extern "C" mote_status mote_py_gradient(const char* op, const char* without, int32_t at_kinks,
                                        char** text, int32_t* ties_kept) {
  return mote::c::guarded("mote_py_gradient", [&] {
    std::vector<std::string> left_out;
    std::istringstream names(&mote::c::given(without, "without"));
    for (std::string name; std::getline(names, name, ',');) left_out.push_back(name);
    const mote::Resolved of =
        mote::resolve_without(&mote::c::given(op, "op"), std::nullopt, left_out);
    mote::GradientRequest request;
    request.at_kinks = at_kinks_of(at_kinks);
    *text = mote::python::copy_of(
        mote::to_string(mote::invert(mote::gradient(*of.program, request).program)));
    *ties_kept = KeptTies(*of.program).all() ? 1 : 0;
  });
}
