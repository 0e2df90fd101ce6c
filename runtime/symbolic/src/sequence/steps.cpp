// SPDX-License-Identifier: Apache-2.0
#include "sequence/steps.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include "check_function.h"
#include "fail.h"
#include "mote/runtime/command.h"
#include "mote/runtime/tensor.h"
#include "sequence/plain_copy.h"

namespace mote {
namespace {

using Symbols = std::vector<TensorSymbol>;
using Tensors = std::span<const Tensor>;
using Forms = std::span<const TensorForm>;

constexpr const char* kCount = "step count";
constexpr const char* kZeroState = "step zero state";
constexpr const char* kZeros = "step zeros";
constexpr const char* kTake = "step take";
constexpr const char* kPut = "step put";
constexpr const char* kAdd = "step add";
constexpr const char* kAlone = "step alone";

TensorForm step_form(const TensorForm& sequence) {
  AxisList shape;
  for (int axis = 1; axis < sequence.shape.size(); ++axis) shape.push_back(sequence.shape[axis]);
  TensorForm form(sequence.dtype, shape);
  form.device = sequence.device;
  return form;
}

TensorForm row_major(const TensorForm& of) {
  TensorForm form(of.dtype, of.shape);
  form.device = of.device;
  return form;
}

/// So many inputs, and one output.
FunctionCounts counts_of(std::size_t inputs) { return {{inputs, inputs}, {1, 1}}; }

void expect_sequence(const TensorForm& got) {
  if (got.rank() < 1)
    throw StatusError(MOTE_INVALID,
                      "expected a sequence, which has an axis of steps, got " + to_string(got));
}

/// Throws StatusError unless that is the dtype and the shape of `what`.
void expect_form(const std::string& what, const TensorForm& expected, const TensorForm& got) {
  if (got.dtype != expected.dtype || got.shape != expected.shape)
    throw StatusError(MOTE_INVALID, "expected " + to_string(expected) + " for " + what + ", got " +
                                        to_string(got));
}

/// Checks a sequence, a step of it, and the step's number.
void expect_steps(const TensorForm& sequence, const TensorForm& step, const TensorForm& t) {
  expect_sequence(sequence);
  expect_number("the number of the step", t, DType::i64);
  expect_form("a step of " + to_string(sequence), step_form(sequence), step);
}

/// Returns the number of a step of the sequence.
std::int64_t checked_step(const char* what, const Tensor& sequence, const Tensor& number) {
  const std::int64_t t = *reinterpret_cast<const std::int64_t*>(first_byte(number.dl()));
  const std::int64_t count = sequence.dl().shape[0];
  if (t < 0 || t >= count)
    fail_graph(std::string(what) + " of " + describe(sequence) + ": expected a step of 0 to " +
               std::to_string(count - 1) + ", got " + std::to_string(t));
  return t;
}

/// The memory of a step, if it and another tensor are row-major and on the host.
std::byte* plain_step(const Tensor& sequence, std::int64_t t, const Tensor& other) {
  const std::int64_t all = plain_bytes(sequence.dl());
  const std::int64_t bytes = plain_bytes(other.dl());
  if (all < 0 || bytes <= 0 || !has_same_dtype(sequence.dl(), other.dl()) ||
      bytes * sequence.dl().shape[0] != all)
    return nullptr;
  return first_byte(sequence.dl()) + t * bytes;
}

/// Copies a step of a sequence.
void copy_from_step(const Tensor& sequence, std::int64_t t, const Tensor& to) {
  const std::byte* from = plain_step(sequence, t, to);
  if (from == nullptr) return copy(sequence.select(0, t), to);
  std::memcpy(first_byte(to.dl()), from, static_cast<std::size_t>(plain_bytes(to.dl())));
}

/// Copies to a step of a sequence.
void copy_to_step(const Tensor& from, const Tensor& sequence, std::int64_t t) {
  std::byte* to = plain_step(sequence, t, from);
  if (to == nullptr) return copy(from, sequence.select(0, t));
  std::memcpy(to, first_byte(from.dl()), static_cast<std::size_t>(plain_bytes(from.dl())));
}

template <typename T>
void add_elements(const Tensor& terms, std::byte* sums) {
  auto* sum = reinterpret_cast<T*>(sums);
  const auto* term = reinterpret_cast<const T*>(first_byte(terms.dl()));
  const std::int64_t count = plain_bytes(terms.dl()) / static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t k = 0; k < count; ++k) sum[k] += term[k];
}

/// Adds to a step of a sequence, as the op add does.
void add_to_step(const Tensor& terms, const Tensor& sequence, std::int64_t t) {
  std::byte* const sums = plain_step(sequence, t, terms);
  if (sums != nullptr && terms.dtype() == DType::f32) return add_elements<float>(terms, sums);
  if (sums != nullptr && terms.dtype() == DType::f64) return add_elements<double>(terms, sums);
  static const Command add("add");
  Tensor step = sequence.select(0, t);
  run(add, {&step, &terms}, {&step});
}

/// Copies the sequence unless both are one memory.
void keep(const Tensor& from, const Tensor& to) {
  if (from.data() != to.data()) copy_plainly(from, to);
}

TensorSymbol call(SymbolicGraph& graph, const char* name, const Symbols& inputs,
                  const TensorForm& form) {
  const TensorSymbol y = graph.tensor(form);
  try {
    graph.call(*step_function(name), inputs, Symbols{y});
  } catch (...) {  // no output stays without its node
    graph.remove(y);
    throw;
  }
  return y;
}

/// v alone, at step t of a sequence of that form that is 0 elsewhere. `like` is read for its form.
TensorSymbol alone(SymbolicGraph& graph, TensorSymbol v, TensorSymbol t, TensorSymbol like) {
  return call(graph, kAlone, {v, t, like}, row_major(graph.form(like)));
}

NamedFunction count_function() {
  return {.name = kCount,
          .run = [](Tensors in, Tensors out) { out[0].set({}, in[0].shape()[0]); },
          .gradient = [](SymbolicGraph&, const FunctionCall&) { return Symbols(); },
          .shapes = [](Forms) { return std::vector<AxisList>{AxisList{}}; },
          .reads_shapes_alone = true,
          .counts = counts_of(1),
          .check =
              [](Forms in, Forms out) {
                expect_sequence(in[0]);
                expect_number("the number of steps", out[0], DType::i64);
              }};
}

/// Returns the shape [N, H], or with steps [T, N, H], from the forms of x and b.
AxisList zero_shape(Forms in, bool with_steps) {
  if (in[0].rank() < 2 || in[1].rank() < 1)
    throw StatusError(MOTE_INVALID, "expected x of 2 axes or more and b of 1 or more, got " +
                                        to_string(in[0]) + " and " + to_string(in[1]));
  AxisList shape;
  for (int axis = with_steps ? 0 : 1; axis < 2; ++axis) shape.push_back(in[0].shape[axis]);
  shape.push_back(in[1].shape[in[1].shape.size() - 1]);
  return shape;
}

NamedFunction zeros_function(bool with_steps) {
  return {.name = with_steps ? kZeros : kZeroState,
          .run = [](Tensors, Tensors out) { fill(out[0], 0); },
          .gradient = [](SymbolicGraph&, const FunctionCall&) { return Symbols(); },
          .shapes = [with_steps](Forms in) { return std::vector{zero_shape(in, with_steps)}; },
          .reads_shapes_alone = true,
          .counts = counts_of(2),
          .check =
              [with_steps](Forms in, Forms out) {
                expect_form("zeros for " + to_string(in[0]) + " and " + to_string(in[1]),
                            {in[0].dtype, zero_shape(in, with_steps)}, out[0]);
              }};
}

NamedFunction take_function() {
  return {
      .name = kTake,
      .run = [](Tensors in,
                Tensors out) { copy_from_step(in[0], checked_step(kTake, in[0], in[1]), out[0]); },
      .gradient =
          [](SymbolicGraph& graph, const FunctionCall& call) {
            return Symbols{alone(graph, call.gradients[0], call.inputs[1], call.inputs[0])};
          },
      .shapes = [](Forms in) { return std::vector<AxisList>{step_form(in[0]).shape}; },
      .counts = counts_of(2),
      .check = [](Forms in, Forms out) { expect_steps(in[0], out[0], in[1]); }};
}

/// Checks a sequence of which a step is changed.
void check_changed(Forms in, Forms out) {
  expect_steps(in[0], in[1], in[2]);
  expect_form("the sequence", in[0], out[0]);
}

struct Put {
  void operator()(Tensors in, Tensors out) const {
    const std::int64_t t = checked_step(kPut, out[0], in[2]);
    keep(in[0], out[0]);
    copy_to_step(in[1], out[0], t);
  }
};

NamedFunction put_function() {
  return {.name = kPut,
          .run = Put{},
          .gradient =
              [](SymbolicGraph& graph, const FunctionCall& call) {
                const TensorSymbol g = call.gradients[0];
                Symbols of(3);
                if ((call.wanted & 2U) != 0) of[1] = take_step(graph, g, call.inputs[2]);
                if ((call.wanted & 1U) == 0) return of;
                of[0] = put_step(graph, g, graph.zeros(step_form(graph.form(g))), call.inputs[2]);
                // The step is read before another takes its place.
                if (of[1]) graph.order(graph.producer(of[1]), graph.producer(of[0]));
                return of;
              },
          .shapes = [](Forms in) { return std::vector<AxisList>{in[0].shape}; },
          .is_in_place = true,
          .counts = counts_of(3),
          .check = check_changed};
}

NamedFunction add_function() {
  return {.name = kAdd,
          .run =
              [](Tensors in, Tensors out) {
                const std::int64_t t = checked_step(kAdd, out[0], in[2]);
                keep(in[0], out[0]);
                add_to_step(in[1], out[0], t);
              },
          .gradient =
              [](SymbolicGraph& graph, const FunctionCall& call) {
                const TensorSymbol g = call.gradients[0];
                Symbols of(3);
                of[0] = g;
                if ((call.wanted & 2U) != 0) of[1] = take_step(graph, g, call.inputs[2]);
                return of;
              },
          .shapes = [](Forms in) { return std::vector<AxisList>{in[0].shape}; },
          .is_in_place = true,
          .counts = counts_of(3),
          .check = check_changed};
}

NamedFunction alone_function() {
  return {.name = kAlone,
          .run =
              [](Tensors in, Tensors out) {
                const std::int64_t t = checked_step(kAlone, out[0], in[1]);
                fill(out[0], 0);
                copy_to_step(in[0], out[0], t);
              },
          .gradient =
              [](SymbolicGraph& graph, const FunctionCall& call) {
                return Symbols{take_step(graph, call.gradients[0], call.inputs[1])};
              },
          .shapes = [](Forms in) { return std::vector<AxisList>{in[2].shape}; },
          .counts = counts_of(3),
          .check =
              [](Forms in, Forms out) {
                expect_steps(in[2], in[0], in[1]);
                expect_form("the sequence", in[2], out[0]);
              }};
}

/// True if all but some steps of y, which functions have put there, are 0.
bool is_of_steps(const SymbolicGraph& graph, TensorSymbol y) {
  const NodeSymbol producer = graph.producer(y);
  if (!producer) return false;
  const NodeInfo& node = graph.info(producer);
  if (node.kind == NodeKind::function)  // a caller's may have that name
    return node.function->name == kAlone && node.inputs.size() == 3;
  return node.kind == NodeKind::command &&
         std::string_view(node.command->definition().name) == "add" &&
         std::ranges::all_of(node.inputs, [&](std::uint32_t input) {
           return input != kNoIndex && is_of_steps(graph, graph.at(input));
         });
}

/// Throws StatusError if one is left out.
void check_given(const SymbolicGraph& graph, std::initializer_list<TensorSymbol> symbols) {
  for (const TensorSymbol symbol : symbols) graph.info(symbol);
}

}  // namespace

TensorSymbol count_steps(SymbolicGraph& graph, TensorSymbol x) {
  check_given(graph, {x});
  return call(graph, kCount, {x}, {DType::i64, {}});
}

namespace {

TensorSymbol zeros_for(SymbolicGraph& graph, TensorSymbol x, TensorSymbol b, bool with_steps) {
  const std::array<TensorForm, 2> forms = {graph.form(x), graph.form(b)};
  TensorForm form(forms[0].dtype, zero_shape(forms, with_steps));
  form.device = forms[0].device;
  return call(graph, with_steps ? kZeros : kZeroState, {x, b}, form);
}

}  // namespace

TensorSymbol zero_state(SymbolicGraph& graph, TensorSymbol x, TensorSymbol b) {
  return zeros_for(graph, x, b, false);
}

TensorSymbol zero_steps(SymbolicGraph& graph, TensorSymbol x, TensorSymbol b) {
  return zeros_for(graph, x, b, true);
}

TensorSymbol take_step(SymbolicGraph& graph, TensorSymbol x, TensorSymbol t) {
  check_given(graph, {x, t});
  return call(graph, kTake, {x, t}, step_form(graph.form(x)));
}

TensorSymbol put_step(SymbolicGraph& graph, TensorSymbol y, TensorSymbol v, TensorSymbol t) {
  check_given(graph, {y, v, t});
  return call(graph, kPut, {y, v, t}, row_major(graph.form(y)));
}

TensorSymbol add_step(SymbolicGraph& graph, TensorSymbol y, TensorSymbol v, TensorSymbol t) {
  check_given(graph, {y, v, t});
  return call(graph, kAdd, {y, v, t}, row_major(graph.form(y)));
}

TensorSymbol add_steps_of(SymbolicGraph& graph, TensorSymbol sum, TensorSymbol y) {
  if (!is_of_steps(graph, y)) return {};
  const NodeInfo node = graph.info(graph.producer(y));
  const TensorSymbol first = graph.at(node.inputs[0]);
  const TensorSymbol second = graph.at(node.inputs[1]);
  if (node.kind == NodeKind::function) return add_step(graph, sum, first, second);
  return add_steps_of(graph, add_steps_of(graph, sum, first), second);
}

std::optional<StepOf> step_alone(const SymbolicGraph& graph, TensorSymbol y) {
  if (!is_of_steps(graph, y)) return std::nullopt;
  const NodeInfo& node = graph.info(graph.producer(y));
  if (node.kind != NodeKind::function) return std::nullopt;
  return StepOf{graph.at(node.inputs[0]), graph.at(node.inputs[1])};
}

bool puts_step(const NamedFunction& function) { return function.run.target<Put>() != nullptr; }

bool takes_step(const NamedFunction& function) {
  return function.name == kTake || function.name == kCount;
}

std::optional<NamedFunction> step_function(std::string_view name) {
  if (name == kCount) return count_function();
  if (name == kZeroState || name == kZeros) return zeros_function(name == kZeros);
  if (name == kTake) return take_function();
  if (name == kPut) return put_function();
  if (name == kAdd) return add_function();
  if (name == kAlone) return alone_function();
  return std::nullopt;
}

}  // namespace mote
