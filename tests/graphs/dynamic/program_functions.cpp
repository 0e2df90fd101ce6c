// SPDX-License-Identifier: Apache-2.0
#include "program_functions.h"

#include <utility>
#include <vector>

#include "mote/symbolic/control.h"

namespace mote::test {
namespace {

AxisList twos(int rank) {
  AxisList shape;
  for (int axis = 0; axis < rank; ++axis) shape.push_back(2);
  return shape;
}

}  // namespace

std::shared_ptr<const NamedFunction> square_function() {
  static const std::shared_ptr<const NamedFunction> function = [] {
    auto made = std::make_shared<NamedFunction>();
    made->name = "square";
    made->run = [](std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
      copy(compute(Command("mul"), {&inputs[0], &inputs[0]})[0], outputs[0]);
    };
    made->gradient = [](SymbolicGraph& graph, const FunctionCall& call) {
      const TensorSymbol half = graph.add("mul", {call.inputs[0], call.gradients[0]});
      return std::vector{graph.add("add", {half, half})};
    };
    return made;
  }();
  return function;
}

StaticFunction static_function(DType dtype, int rank) {
  SymbolicGraph graph("square_and_x");
  const TensorSymbol x = graph.input("x", {dtype, twos(rank)});
  graph.set_outputs({graph.add("add", {graph.add("mul", {x, x}), x})});
  return StaticFunction(std::move(graph));
}

StaticFunction product_function(DType dtype, int rank) {
  SymbolicGraph graph("product");
  const TensorSymbol x = graph.input("x", {dtype, twos(rank)});
  graph.set_outputs({graph.add("mul", {graph.add("mul", {x, x}), graph.add("add", {x, x})})});
  return StaticFunction(std::move(graph));
}

StaticFunction loop_function(DType dtype, int rank) {
  SymbolicGraph body("times_x");
  const TensorSymbol y = body.input("y", {dtype, twos(rank)});
  const TensorSymbol x = body.input("x", {dtype, twos(rank)});
  const TensorSymbol counter = body.input("counter", {DType::i64, {}});
  Tensor two(DType::i64, {});
  fill(two, 2);
  const TensorSymbol next = body.add("mul", {y, x});
  body.set_outputs({next, body.add("less", {counter, body.constant("two", two)})});
  SymbolicGraph graph("cube");
  const TensorSymbol in = graph.input("in", {dtype, twos(rank)});
  // A loop carries one form; the input may be a view.
  const TensorSymbol own = graph.tensor({dtype, twos(rank)});
  graph.copy(in, own);
  const NodeSymbol loop = graph.add_while(std::move(body), {own, own}, {.has_counter = true});
  graph.set_outputs({graph.output(loop, 0)});
  return StaticFunction(std::move(graph));
}

StaticFunction nested_function(Context& context, DType dtype, int rank) {
  SymbolicGraph graph("nested");
  const TensorSymbol x = graph.input("x", {dtype, twos(rank)});
  const TensorSymbol y = graph.tensor({dtype, twos(rank)});
  const NamedFunction function = dynamic_function(
      "square and x", context, [](DynamicGraph&, std::span<const Variable> inputs) {
        return std::vector{inputs[0] * inputs[0] + inputs[0]};
      });
  graph.call(function, std::vector{x}, std::vector{y});
  graph.set_outputs({y});
  return StaticFunction(std::move(graph));
}

}  // namespace mote::test
