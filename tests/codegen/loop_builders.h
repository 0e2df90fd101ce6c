// SPDX-License-Identifier: Apache-2.0
// Short functions that build loop programs by hand in tests, and a few whole programs.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote::test {

inline Symbol variable(const std::string& name) { return Symbol(SymbolKind::loop, name); }
inline Expr var(const std::string& name) { return Expr(variable(name)); }
inline Expr size(const std::string& name) { return Expr::size(name); }

inline Stmt loop(const std::string& name, const Expr& end, Body body,
                 std::vector<Accumulator> accumulators = {}) {
  return {Loop{variable(name), 0, end, 1, std::move(accumulators), std::move(body)}};
}
inline Stmt store(const std::string& tensor, std::vector<Expr> index, Value v) {
  return {Store{tensor, std::move(index), std::move(v)}};
}
inline Stmt fold(const std::string& accumulator, ReduceOp op, Value v, const Expr& position = 0) {
  return {Fold{accumulator, op, std::move(v), position}};
}
inline Stmt let(const std::string& name, Value v) { return {Let{name, std::move(v)}}; }
inline Stmt when(Conditions conditions, Body body) {
  return {If{std::move(conditions), std::move(body)}};
}

inline Condition nonneg(const Expr& e) { return {Condition::Kind::nonneg, e}; }
inline Condition zero(const Expr& e) { return {Condition::Kind::zero, e}; }

inline Value real(double v) { return constant(v, DType::f32); }
inline Value at(const std::string& tensor, std::vector<Expr> index, DType dtype = DType::f32) {
  return load_value(tensor, std::move(index), dtype);
}
inline Value accumulated(const std::string& name) { return accumulated_value(name, DType::f32); }
inline Value op(MapOp op, std::vector<Value> args) {
  const DType dtype = args.back()->dtype;
  std::vector<DType> dtypes;
  for (const Value& v : args) dtypes.push_back(v->dtype);
  return op_value(op, std::move(args), dtype, result_dtype(op, dtypes, dtype));
}

/// Makes a program of the interface's tensors, then the temporaries, with this body.
inline LoopProgram loops_of(ProgramSpec spec, Body body, std::vector<TensorDecl> temporaries = {}) {
  auto source = std::make_shared<const Program>(make_program(std::move(spec)));
  LoopProgram p{source->name, {}, std::move(body), source};
  for (const Uop& u : source->inputs) {
    p.tensors.push_back({std::get<uop::Input>(u.node().kind).name, TensorRole::input, u.dtype(),
                         u.shape(), u.node().axis_names});
  }
  for (const Output& o : source->outputs) {
    p.tensors.push_back(
        {o.name, TensorRole::output, o.value.dtype(), o.value.shape(), o.value.node().axis_names});
  }
  for (TensorDecl& t : temporaries) p.tensors.push_back(std::move(t));
  return p;
}

inline TensorDecl temporary(const std::string& name, std::vector<Expr> shape,
                            DType dtype = DType::f32) {
  std::vector<std::string> names(shape.size());
  return {name, TensorRole::temporary, dtype, std::move(shape), std::move(names)};
}

/// y[r, n] = exp(x[r, n] - max) / sum, one row loop.
inline LoopProgram softmax_rows() {
  const Uop x = input("x", DType::f32, {"R", "N"});
  const Uop e = exp(x - max(x, {1}));
  const Expr r = var("r");
  const auto shifted = [&](const Expr& n) {
    return op(MapOp::exp, {op(MapOp::sub, {at("x", {r, n}), accumulated("m")})});
  };
  const Expr end = size("N");
  Body row = {
      loop("n", end, {fold("m", ReduceOp::max, at("x", {r, var("n")}))},
           {{"m", ReduceOp::max, DType::f32}}),
      loop("n2", end, {fold("s", ReduceOp::sum, shifted(var("n2")))},
           {{"s", ReduceOp::sum, DType::f32}}),
      loop("n3", end,
           {store("y", {r, var("n3")}, op(MapOp::div, {shifted(var("n3")), accumulated("s")}))})};
  return loops_of({"softmax", "", {}, {x}, {{"y", e / sum(e, {1})}}, {}, {}},
                  {loop("r", size("R"), std::move(row))});
}

/// c[m, n] = sum_k a[m, k]*b[k, n], one accumulator.
inline LoopProgram matmul_loops() {
  const Uop a = input("a", DType::f32, {"M", "K"});
  const Uop b = input("b", DType::f32, {"K", "N"});
  const mote::Shape cube = {"M", "N", "K"};
  const Uop c = sum_over(broadcast(a, cube, {0, 2}) * broadcast(b, cube, {2, 1}), {2});
  const Expr m = var("m");
  const Expr n = var("n");
  const Expr k = var("k");
  const Value product = op(MapOp::mul, {at("a", {m, k}), at("b", {k, n})});
  return loops_of({"matmul", "", {}, {a, b}, {{"c", c}}, {}, {}},
                  {loop("m", size("M"),
                        {loop("n", size("N"),
                              {loop("k", size("K"), {fold("s", ReduceOp::sum, product)},
                                    {{"s", ReduceOp::sum, DType::f32}}),
                               store("c", {m, n}, accumulated("s"))})})});
}

/// The smallest program there is, y[n] = x[n] + 1 for each n.
inline ProgramSpec copy_spec(const std::string& name, DType dtype = DType::f32) {
  const Uop x = input("x", dtype, {"N"});
  return {name, "", {}, {x}, {{"y", x + 1}}, {}, {}};
}

}  // namespace mote::test
