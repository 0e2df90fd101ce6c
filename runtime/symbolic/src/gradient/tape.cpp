// SPDX-License-Identifier: Apache-2.0
#include "gradient/tape.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "check_function.h"
#include "gradient/checkpointed_loop.h"
#include "gradient/tape_parts.h"
#include "gradient/tape_store.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/control.h"

namespace mote {

namespace {

/// Makes the number at least that one.
void raise_to(std::atomic<std::uint64_t>& number, std::uint64_t least) {
  std::uint64_t known = number.load();
  while (known < least && !number.compare_exchange_weak(known, least)) {
  }
}

}  // namespace

Tape::Tape(std::optional<std::uint64_t> number) {
  static std::atomic<std::uint64_t> last{0};
  number_ = number ? *number : ++last;
  raise_to(last, number_);
}

void Tape::count_reader(const std::string& path) {
  if (TrialScope::is_in_one()) return;
  const std::lock_guard lock(mutex_);
  ++readers_[path];
}

int Tape::readers(const std::string& path) {
  const std::lock_guard lock(mutex_);
  return readers_[path];
}

namespace {

using Symbols = std::vector<TensorSymbol>;
using Tensors = std::span<const Tensor>;
using Forms = std::span<const TensorForm>;

// These belong to the gradient that this thread builds, to its trials, and to the graph that gets
// other shapes.
thread_local int gradients_here = 0;
thread_local std::uint64_t gradient_number = 0;
std::atomic<std::uint64_t> last_gradient{0};
thread_local int trials_here = 0;
thread_local std::map<std::uint64_t, std::vector<AxisList>> shapes_here;  // by tape

}  // namespace

std::string name_of(std::string_view function, const Tape& tape, const std::string& path,
                    std::span<const std::uint32_t> values) {
  std::string name = std::string(function) + " " + std::to_string(tape.number());
  if (!path.empty()) name += " " + path;
  for (const std::uint32_t value : values) name += " " + std::to_string(value);
  return name;
}

void expect_token(const TensorForm& got) { expect_number("the token", got, DType::f64); }

void expect_position(Forms inputs) {
  expect_token(inputs[0]);
  expect_number("the position", inputs[1], DType::i64);
}

void note_kept_shapes(const Tape& tape, Forms inputs) {
  std::vector<AxisList>& shapes = shapes_here[tape.number()];
  shapes.clear();
  for (const TensorForm& form : inputs.subspan(1)) shapes.push_back(form.shape);
}

std::span<const AxisList> kept_shapes(const Tape& tape) { return shapes_here[tape.number()]; }

namespace {

/// The path of gradients of what is under this one.
std::string gradient_path(const std::string& path) {
  return path + "." + std::to_string(gradient_number);
}

/// The function that pushes, so that a loop that is differentiated again has the same tape.
struct Push {
  std::shared_ptr<Tape> tape;
  std::vector<KeptIf> rules;

  /// Returns which values are kept; nothing if all are.
  std::vector<bool> kept(std::size_t count, Tensors decisions) const {
    if (rules.empty()) return {};
    std::vector<bool> are_kept(count, true);
    for (const KeptIf& rule : rules) are_kept[rule.value] = false;
    for (const KeptIf& rule : rules)
      if (decisions[rule.decision].reshape({}).integer_at({}) == rule.branch)
        are_kept[rule.value] = true;
    return are_kept;
  }
  void operator()(Tensors inputs, Tensors outputs) const {
    const std::shared_ptr<TapeStore> store = TapeStore::of_run();
    const std::size_t count = pushed_count(rules, inputs.size());
    const double token = store->push(inputs[0].real_at({}), inputs.subspan(1, count),
                                     kept(count, inputs.subspan(1 + count)));
    outputs[0].set({}, token);
    if (outputs.size() > 1) outputs[1].set({}, store->count(token) - 1);
  }
};

TensorSymbol scalar(SymbolicGraph& graph, DType dtype) { return graph.tensor({dtype, {}}); }

/// Reads the gradients of values, which the link says are there.
Symbols read_gradients(SymbolicGraph& graph, const TapePart& part, TensorSymbol token,
                       TensorSymbol position, TensorSymbol link, const Symbols& like) {
  Symbols made;
  for (const TensorSymbol x : like) {
    TensorForm form(graph.form(x).dtype, graph.form(x).shape);
    form.device = graph.form(x).device;
    made.push_back(graph.tensor(form));
  }
  part.tape->count_reader(part.path);
  graph.call(get_function(part), Symbols{token, position, link}, made);
  return made;
}

/// Adds gradients of values, and returns the link.
TensorSymbol add_gradients(SymbolicGraph& graph, const TapePart& part, TensorSymbol token,
                           TensorSymbol position, const Symbols& gradients) {
  Symbols inputs = {token, position};
  inputs.insert(inputs.end(), gradients.begin(), gradients.end());
  const TensorSymbol link = scalar(graph, DType::f64);
  graph.call(add_function(part), inputs, Symbols{link});
  return link;
}

Symbols gradient_of_push(SymbolicGraph& graph, const std::shared_ptr<Tape>& tape,
                         const FunctionCall& call) {
  Symbols gradients(call.inputs.size());
  const TensorSymbol link = call.gradients[0];
  if (!link) return gradients;
  gradients[0] = link;
  if (call.outputs.size() < 2)
    throw StatusError(MOTE_UNSUPPORTED,
                      "tape push: its gradient needs the position, which is its second output");
  TapePart part{tape, gradient_path(kValuesPath), {}};
  Symbols like;
  for (std::size_t k = 1; k < call.inputs.size(); ++k)
    if (is_in(call.wanted, k)) {
      part.values.push_back(static_cast<std::uint32_t>(k - 1));
      like.push_back(call.inputs[k]);
    }
  if (like.empty()) return gradients;
  const Symbols read = read_gradients(graph, part, call.outputs[0], call.outputs[1], link, like);
  for (std::size_t k = 0; k < read.size(); ++k) gradients[part.values[k] + 1] = read[k];
  return gradients;
}

/// The values' gradients go to the entry; the link goes to what says that the values are there.
Symbols gradient_of_get(SymbolicGraph& graph, const TapePart& of, const FunctionCall& call) {
  TapePart part{of.tape, gradient_path(of.path), {}};
  Symbols terms;
  for (std::size_t k = 0; k < call.gradients.size(); ++k)
    if (call.gradients[k]) {
      part.values.push_back(of.values[k]);
      terms.push_back(call.gradients[k]);
    }
  Symbols gradients(call.inputs.size());
  if (!terms.empty())
    gradients[call.inputs.size() > 2 ? 2 : 0] =
        add_gradients(graph, part, call.inputs[0], call.inputs[1], terms);
  return gradients;
}

Symbols gradient_of_add(SymbolicGraph& graph, const TapePart& of, const FunctionCall& call) {
  TapePart part{of.tape, gradient_path(of.path), {}};
  Symbols like;
  std::vector<std::size_t> inputs;
  for (std::size_t k = 2; k < call.inputs.size(); ++k)
    if (is_in(call.wanted, k)) {
      part.values.push_back(of.values[k - 2]);
      like.push_back(call.inputs[k]);
      inputs.push_back(k);
    }
  Symbols gradients(call.inputs.size());
  if (like.empty() || !call.gradients[0]) return gradients;
  const Symbols read =
      read_gradients(graph, part, call.inputs[0], call.inputs[1], call.gradients[0], like);
  for (std::size_t k = 0; k < read.size(); ++k) gradients[inputs[k]] = read[k];
  return gradients;
}

}  // namespace

NamedFunction get_function(const TapePart& part) {
  return {
      .name = name_of(kTapeGet, *part.tape, part.path, part.values),
      .run =
          [part](Tensors inputs, Tensors outputs) {
            TapeStore::of_run()->get(inputs[0].real_at({}), inputs[1].integer_at({}), part.path,
                                     part.tape->readers(part.path), part.values, outputs);
          },
      .gradient = [part](SymbolicGraph& graph,
                         const FunctionCall& call) { return gradient_of_get(graph, part, call); },
      .shapes =
          [part](Forms) {
            const std::span<const AxisList> known = kept_shapes(*part.tape);
            std::vector<AxisList> shapes;
            for (const std::uint32_t value : part.values)
              if (value < known.size()) shapes.push_back(known[value]);
            return shapes;
          },
      .counts = {{{2, 3}, {part.values.size(), part.values.size()}}},
      .check =
          [](Forms inputs, Forms) {
            expect_position(inputs);
            if (inputs.size() > 2) expect_number("the link", inputs[2], DType::f64);
          }};
}

NamedFunction add_function(const TapePart& part) {
  return {
      .name = name_of(kTapeAdd, *part.tape, part.path, part.values),
      .run =
          [part](Tensors inputs, Tensors outputs) {
            TapeStore::of_run()->add(inputs[0].real_at({}), inputs[1].integer_at({}), part.path,
                                     part.values, inputs.subspan(2));
            outputs[0].set({}, 0.0);
          },
      .gradient = [part](SymbolicGraph& graph,
                         const FunctionCall& call) { return gradient_of_add(graph, part, call); },
      .shapes = [](Forms) { return std::vector<AxisList>{AxisList{}}; },
      .counts = {{{2 + part.values.size(), 2 + part.values.size()}, {1, 1}}},
      .check =
          [](Forms inputs, Forms outputs) {
            expect_position(inputs);
            expect_number("the link", outputs[0], DType::f64);
          }};
}

std::shared_ptr<Tape> new_tape() { return std::make_shared<Tape>(); }

std::size_t pushed_count(std::span<const KeptIf> rules, std::size_t inputs) {
  std::size_t decisions = 0, values = 0;
  for (const KeptIf& rule : rules) {
    decisions = std::max<std::size_t>(decisions, rule.decision + 1);
    values = std::max<std::size_t>(values, rule.value + 1);
  }
  if (inputs < 1 + decisions + values)
    throw StatusError(MOTE_INVALID, "tape push: its rules are for " + std::to_string(values) +
                                        " values and " + std::to_string(decisions) +
                                        " decisions, got a token and " +
                                        std::to_string(inputs - std::min<std::size_t>(inputs, 1)) +
                                        " more inputs");
  return inputs - 1 - decisions;
}

namespace {

void check_push(std::span<const KeptIf> rules, Forms inputs, Forms outputs) {
  expect_token(inputs[0]);
  expect_token(outputs[0]);
  if (outputs.size() > 1) expect_number("the position", outputs[1], DType::i64);
  for (const TensorForm& decision : inputs.subspan(1 + pushed_count(rules, inputs.size())))
    if (decision.element_count() != 1 || is_real(decision.dtype) || !decision.is_on_host())
      throw StatusError(MOTE_INVALID,
                        "expected a bool or an integer of one element for a decision, got " +
                            to_string(decision));
}

}  // namespace

NamedFunction tape_push(std::shared_ptr<Tape> tape, std::vector<KeptIf> rules) {
  std::string name = name_of(kTapePush, *tape);
  if (!rules.empty()) name += " " + std::string(kTapeIf);
  for (const KeptIf& rule : rules)
    name += " " + std::to_string(rule.value) + " " + std::to_string(rule.decision) + " " +
            std::to_string(rule.branch);
  return {
      .name = std::move(name),
      .run = Push{tape, rules},
      .gradient = [tape](SymbolicGraph& graph,
                         const FunctionCall& call) { return gradient_of_push(graph, tape, call); },
      .shapes =
          [tape](Forms inputs) {
            note_kept_shapes(*tape, inputs);
            return std::vector<AxisList>{AxisList{}, AxisList{}};
          },
      .counts = {{{1, kAnyCount}, {1, 2}}},
      .check = [rules](Forms inputs, Forms outputs) { check_push(rules, inputs, outputs); }};
}

NamedFunction tape_count(std::shared_ptr<Tape> tape) {
  return {.name = name_of(kTapeCount, *tape),
          .run =
              [](Tensors inputs, Tensors outputs) {
                outputs[0].set({}, TapeStore::of_run()->count(inputs[0].real_at({})));
              },
          .gradient = [](SymbolicGraph&, const FunctionCall&) { return Symbols(); },
          .shapes = [](Forms) { return std::vector<AxisList>{AxisList{}}; },
          .counts = {{{1, 1}, {1, 1}}},
          .check =
              [](Forms inputs, Forms outputs) {
                expect_token(inputs[0]);
                expect_number("the number of entries", outputs[0], DType::i64);
              }};
}

NamedFunction tape_get(std::shared_ptr<Tape> tape, std::vector<std::uint32_t> values) {
  tape->count_reader(kValuesPath);
  return get_function({std::move(tape), kValuesPath, std::move(values)});
}

bool has_token_of_loop(const SymbolicGraph& body, const NodeInfo& node) {
  const std::vector<std::uint32_t> inputs = input_indices(body);
  const std::vector<std::uint32_t>& outputs = body.output_indices();
  if (outputs.size() < 2 || outputs.size() - 2 >= inputs.size()) return false;
  const std::uint32_t token = inputs[outputs.size() - 2];
  if (node.inputs[0] != token || node.outputs[0] != outputs[outputs.size() - 2]) return false;
  const auto is_own = [&](std::uint32_t symbol) {
    return symbol == token || std::ranges::find(node.outputs, symbol) != node.outputs.end();
  };
  if (std::ranges::count_if(outputs, is_own) != 1) return false;
  return std::ranges::all_of(body.nodes(), [&](const NodeInfo& reader) {
    return std::ranges::count_if(reader.inputs, is_own) == (&reader == &node ? 1 : 0);
  });
}

std::optional<std::uint32_t> push_of(const SymbolicGraph& body) { return node_of<Push>(body); }

const std::vector<KeptIf>& rules_of(const NodeInfo& push) {
  return push.function->run.target<Push>()->rules;
}

std::shared_ptr<Tape> tape_of(const NodeInfo& node) {
  if (std::shared_ptr<Tape> tape = tape_of_keep(node)) return tape;
  return node.function->run.target<Push>()->tape;
}

GradientScope::GradientScope() {
  if (gradients_here++ == 0) gradient_number = ++last_gradient;
}
GradientScope::~GradientScope() {
  if (--gradients_here == 0) forget_kept_values();
}

TrialScope::TrialScope() { ++trials_here; }
TrialScope::~TrialScope() { --trials_here; }
bool TrialScope::is_in_one() { return trials_here > 0; }

void keep_gradient_number(std::uint64_t number) { raise_to(last_gradient, number); }

void forget_tape_shapes() { shapes_here.clear(); }

}  // namespace mote
