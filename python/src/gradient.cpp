// SPDX-License-Identifier: Apache-2.0
// The gradient of an op as the text of a program |gy|x| -> |gx|, which reads no output of the op:
// autograd computes it from the inputs.
#include "mote/uops/gradient.h"

#include <cstdlib>
#include <cstring>
#include <sstream>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "../../runtime/core/src/c/guard.h"
#include "../../uops/src/graph/node.h"
#include "mote/oracle/resolve.h"
#include "mote/uops/invert.h"
#include "mote_python.h"

namespace {

using namespace mote;  // NOLINT: names of uops

bool is_half(const Uop& u) {
  const auto* s = std::get_if<uop::Scalar>(&u.node().kind);
  return s != nullptr && s->value.is_real() && s->value.real() == 0.5;
}

/// Returns g of where(a == b, g*0.5, g), which max and min give to each side of a tie; else an
/// empty handle.
Uop shared_at_tie(const Uop& u) {
  const auto* choice = std::get_if<uop::Map>(&u.node().kind);
  if (choice == nullptr || choice->op != MapOp::where) return {};
  const auto* condition = std::get_if<uop::Map>(&choice->args[0].node().kind);
  const auto* half = std::get_if<uop::Map>(&choice->args[1].node().kind);
  const Uop& g = choice->args[2];
  const bool is_tie = condition != nullptr && condition->op == MapOp::eq && half != nullptr &&
                      half->op == MapOp::mul && half->args[0].id() == g.id() &&
                      is_half(half->args[1]);
  return is_tie ? g : Uop();
}

const Uop& behind_views(const Uop& u) {
  const auto* view = std::get_if<uop::Reindex>(&u.node().kind);
  return view == nullptr ? u : behind_views(view->x);
}

/// True for g/n, which a reduction by max or min gives to each of n elements that equal its result.
bool is_shared_by_count(const Uop& u) {
  const auto* quotient = std::get_if<uop::Map>(&u.node().kind);
  if (quotient == nullptr || quotient->op != MapOp::div) return false;
  const auto* count = std::get_if<uop::Reduce>(&behind_views(quotient->args[1]).node().kind);
  if (count == nullptr || count->op != ReduceOp::sum) return false;
  const auto* one = std::get_if<uop::Map>(&count->x.node().kind);
  if (one == nullptr || one->op != MapOp::cast) return false;
  const auto* hit = std::get_if<uop::Map>(&one->args[0].node().kind);
  if (hit == nullptr || hit->op != MapOp::eq) return false;
  const auto* greatest = std::get_if<uop::Reduce>(&behind_views(hit->args[1]).node().kind);
  return greatest != nullptr && (greatest->op == ReduceOp::max || greatest->op == ReduceOp::min);
}

/// Returns a comparison of reals that decides the other way where both are equal; else an empty
/// handle.
Uop decided_otherwise(const Uop& u, const std::vector<Uop>& args) {
  const auto* m = std::get_if<uop::Map>(&u.node().kind);
  if (m == nullptr || args.size() != 2 || !is_real(args[0].dtype())) return {};
  if (m->op == MapOp::lt) return args[0] <= args[1];
  if (m->op == MapOp::le) return args[0] < args[1];
  if (m->op == MapOp::gt) return args[0] >= args[1];
  if (m->op == MapOp::ge) return args[0] > args[1];
  return {};
}

/// The program in which each side of a tie gets the share 0 or 1 of the gradient; with 0
/// comparisons decide the other way too.
Program with_share(const Program& p, double share) {
  std::vector<Uop> roots = p.inputs;
  for (const Output& y : p.outputs) roots.push_back(y.value);
  std::unordered_map<const UopNode*, Uop> made;
  for (const Uop& u : topological(roots)) {
    std::vector<Uop> args;
    bool is_changed = false;
    for (const Uop& x : operands(u)) {
      args.push_back(made.at(x.id()));
      is_changed = is_changed || args.back().id() != x.id();
    }
    Uop y = is_changed ? rebuild(u, args, {}) : u;
    if (shared_at_tie(u)) y = share == 1 ? args[2] : where(args[0], 0, args[2]);
    if (is_shared_by_count(u)) y = share == 1 ? args[0] : where(args[1] > 1, 0, y);
    if (Uop other = share == 0 ? decided_otherwise(u, args) : Uop()) y = other;
    made.emplace(u.id(), y);
  }
  ProgramSpec spec{p.name, p.equation, p.params, p.inputs, {}, p.sizes, p.constraints};
  for (const Output& o : p.outputs) spec.outputs.push_back({o.name, made.at(o.value.id())});
  return make_program(std::move(spec));
}

}  // namespace

extern "C" mote_status mote_py_gradient(const char* op, const char* without, double tie_share,
                                        char** text) {
  return mote::c::guarded("mote_py_gradient", [&] {
    std::vector<std::string> left_out;
    std::istringstream names(&mote::c::given(without, "without"));
    for (std::string name; std::getline(names, name, ',');) left_out.push_back(name);
    const mote::Resolved of =
        mote::resolve_without(&mote::c::given(op, "op"), std::nullopt, left_out);
    mote::Program gradient = mote::gradient(*of.program).program;
    if (tie_share != 0.5) gradient = with_share(gradient, tie_share);
    const std::string all = mote::to_string(mote::invert(gradient));
    *text = static_cast<char*>(std::malloc(all.size() + 1));
    if (*text == nullptr) throw std::bad_alloc();
    std::memcpy(*text, all.c_str(), all.size() + 1);
  });
}
