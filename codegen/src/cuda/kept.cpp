// Values read from tensors in place of names and accumulators.
#include "kept.h"

#include "mote/codegen/walk.h"

namespace mote::cuda {

DType dtype_of(const Accumulator& a) {
  const bool is_arg = a.op == ReduceOp::argmax || a.op == ReduceOp::argmin;
  return is_arg ? DType::i64 : a.dtype;
}

void read_from_tensor(Body& body, const std::string& name, const std::string& tensor,
                      const std::vector<Expr>& index) {
  rewrite_values(body, [&](const Value& v) {
    const auto* bound = std::get_if<value::Bound>(&v->kind);
    const auto* accumulated = std::get_if<value::Accumulated>(&v->kind);
    const bool is_read = (bound != nullptr && bound->name == name) ||
                         (accumulated != nullptr && accumulated->name == name);
    return is_read ? load_value(tensor, index, v->dtype) : v;
  });
  rewrite_exprs(body, [&](const Expr& e) {
    if (!e.has_load()) return e;
    return e.transform([&](const Atom& a) {
      return a.kind == Atom::Kind::load && a.tensor == name ? load(tensor, index) : rebuild(a);
    });
  });
}

}  // namespace mote::cuda
