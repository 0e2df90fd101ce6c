// SPDX-License-Identifier: Apache-2.0
#include "gradient/tape.h"

#include <atomic>
#include <charconv>
#include <mutex>
#include <utility>

#include "gradient/tape_store.h"

namespace mote {

namespace {

/// Makes the number at least that one.
void raise_to(std::atomic<std::uint64_t>& number, std::uint64_t least) {
  std::uint64_t known = number.load();
  while (known < least && !number.compare_exchange_weak(known, least)) {
  }
}

}  // namespace

class Tape {
 public:
  /// A number of no other tape, or the given one, which later tapes do not get.
  explicit Tape(std::optional<std::uint64_t> number = std::nullopt) {
    static std::atomic<std::uint64_t> last{0};
    number_ = number ? *number : ++last;
    raise_to(last, number_);
  }
  std::uint64_t number() const { return number_; }

  void count_reader(const std::string& path) {
    if (TrialScope::is_in_one()) return;
    const std::lock_guard lock(mutex_);
    ++readers_[path];
  }
  int readers(const std::string& path) {
    const std::lock_guard lock(mutex_);
    return readers_[path];
  }

 private:
  std::uint64_t number_;
  std::mutex mutex_;
  std::map<std::string, int> readers_;
};

namespace {

using Symbols = std::vector<TensorSymbol>;
using Tensors = std::span<const Tensor>;
using Forms = std::span<const TensorForm>;
using Numbers = std::vector<std::uint32_t>;

constexpr std::string_view kPush = "tape push";
constexpr std::string_view kCount = "tape count";
constexpr std::string_view kGet = "tape get";
constexpr std::string_view kAdd = "tape add";
constexpr std::string_view kKeep = "tape keep";
constexpr std::string_view kTake = "tape take";
constexpr std::string_view kSquareRoot = "sqrt";

// These belong to the gradient that this thread builds, to its trials, and to the graph that gets
// other shapes.
thread_local int gradients_here = 0;
thread_local std::uint64_t gradient_number = 0;
std::atomic<std::uint64_t> last_gradient{0};
thread_local int trials_here = 0;
thread_local std::map<std::uint64_t, std::vector<AxisList>> shapes_here;

/// The path of gradients of what is under this one.
std::string gradient_path(const std::string& path) {
  return path + "." + std::to_string(gradient_number);
}

std::string name_of(std::string_view function, const Tape& tape, const std::string& path = "",
                    const Numbers& values = {}) {
  std::string name = std::string(function) + " " + std::to_string(tape.number());
  if (!path.empty()) name += " " + path;
  for (const std::uint32_t value : values) name += " " + std::to_string(value);
  return name;
}

/// A function reads or adds the values of these numbers under the path.
struct Part {
  std::shared_ptr<Tape> tape;
  std::string path;
  Numbers values;
};

NamedFunction get_function(const Part& part);
NamedFunction add_function(const Part& part);

/// The function that pushes, so that a loop that is differentiated again has the same tape.
struct Push {
  std::shared_ptr<Tape> tape;
  void operator()(Tensors inputs, Tensors outputs) const {
    const std::shared_ptr<TapeStore> store = TapeStore::of_run();
    const double token = store->push(inputs[0].real_at({}), inputs.subspan(1));
    outputs[0].set({}, token);
    if (outputs.size() > 1) outputs[1].set({}, store->count(token) - 1);
  }
};

/// The function that keeps values now and then.
struct Keep {
  std::shared_ptr<Tape> tape;
  std::int64_t checkpoints;
  void operator()(Tensors inputs, Tensors outputs) const {
    outputs[0].set(
        {}, TapeStore::of_run()->keep(inputs[0].real_at({}), checkpoints, inputs.subspan(1)));
  }
};

/// Notes the shapes of what is kept, behind the token.
void note_shapes(const Tape& tape, Forms inputs) {
  std::vector<AxisList>& shapes = shapes_here[tape.number()];
  shapes.clear();
  for (const TensorForm& form : inputs.subspan(1)) shapes.push_back(form.shape);
}

/// Returns the node whose function is of that type.
template <typename Function>
std::optional<std::uint32_t> node_of(const SymbolicGraph& body) {
  for (std::uint32_t k = 0; k < body.node_count(); ++k) {
    const NodeInfo& node = body.nodes()[k];
    if (!node.removed && node.kind == NodeKind::function &&
        node.function->run.target<Function>() != nullptr)
      return k;
  }
  return std::nullopt;
}

TensorSymbol scalar(SymbolicGraph& graph, DType dtype) { return graph.tensor({dtype, {}}); }

/// Reads the gradients of values, which the link says are there.
Symbols read_gradients(SymbolicGraph& graph, const Part& part, TensorSymbol token,
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
TensorSymbol add_gradients(SymbolicGraph& graph, const Part& part, TensorSymbol token,
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
  Part part{tape, gradient_path(kValuesPath), {}};
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
Symbols gradient_of_get(SymbolicGraph& graph, const Part& of, const FunctionCall& call) {
  Part part{of.tape, gradient_path(of.path), {}};
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

Symbols gradient_of_add(SymbolicGraph& graph, const Part& of, const FunctionCall& call) {
  Part part{of.tape, gradient_path(of.path), {}};
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

NamedFunction get_function(const Part& part) {
  return {
      .name = name_of(kGet, *part.tape, part.path, part.values),
      .run =
          [part](Tensors inputs, Tensors outputs) {
            TapeStore::of_run()->get(inputs[0].real_at({}), inputs[1].integer_at({}), part.path,
                                     part.tape->readers(part.path), part.values, outputs);
          },
      .gradient = [part](SymbolicGraph& graph,
                         const FunctionCall& call) { return gradient_of_get(graph, part, call); },
      .shapes =
          [part](Forms) {
            const auto known = shapes_here.find(part.tape->number());
            std::vector<AxisList> shapes;
            if (known == shapes_here.end()) return shapes;
            for (const std::uint32_t value : part.values)
              if (value < known->second.size()) shapes.push_back(known->second[value]);
            return shapes;
          }};
}

NamedFunction add_function(const Part& part) {
  return {
      .name = name_of(kAdd, *part.tape, part.path, part.values),
      .run =
          [part](Tensors inputs, Tensors outputs) {
            TapeStore::of_run()->add(inputs[0].real_at({}), inputs[1].integer_at({}), part.path,
                                     part.values, inputs.subspan(2));
            outputs[0].set({}, 0.0);
          },
      .gradient = [part](SymbolicGraph& graph,
                         const FunctionCall& call) { return gradient_of_add(graph, part, call); },
      .shapes = [](Forms) { return std::vector<AxisList>{AxisList{}}; }};
}

/// Splits a text at blanks.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::optional<std::uint64_t> number_of(const std::string& word) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  if (word.size() > 1 && word.front() == '0') return std::nullopt;
  return number;
}

/// True for "v", "v.3", "v.3.14"; later gradients do not get these numbers.
bool is_path(const std::string& word) {
  if (!word.starts_with(kValuesPath)) return false;
  for (std::size_t at = std::string_view(kValuesPath).size(); at < word.size();) {
    const std::size_t end = std::min(word.find('.', at + 1), word.size());
    const std::optional<std::uint64_t> number = number_of(word.substr(at + 1, end - at - 1));
    if (word[at] != '.' || !number) return false;
    raise_to(last_gradient, *number);
    at = end;
  }
  return true;
}

/// Reads the path and the numbers of values.
std::optional<Part> read_part(const std::shared_ptr<Tape>& tape,
                              std::span<const std::string> words) {
  if (words.empty() || !is_path(words[0])) return std::nullopt;
  Part part{tape, words[0], {}};
  for (const std::string& word : words.subspan(1)) {
    const std::optional<std::uint64_t> value = number_of(word);
    if (!value || *value > 0xFFFF) return std::nullopt;
    part.values.push_back(static_cast<std::uint32_t>(*value));
  }
  return part;
}

}  // namespace

std::shared_ptr<Tape> new_tape() { return std::make_shared<Tape>(); }

NamedFunction tape_push(std::shared_ptr<Tape> tape) {
  return {
      .name = name_of(kPush, *tape),
      .run = Push{tape},
      .gradient = [tape](SymbolicGraph& graph,
                         const FunctionCall& call) { return gradient_of_push(graph, tape, call); },
      .shapes =
          [tape](Forms inputs) {
            note_shapes(*tape, inputs);
            return std::vector<AxisList>{AxisList{}, AxisList{}};
          }};
}

NamedFunction tape_count(std::shared_ptr<Tape> tape) {
  return {.name = name_of(kCount, *tape),
          .run =
              [](Tensors inputs, Tensors outputs) {
                outputs[0].set({}, TapeStore::of_run()->count(inputs[0].real_at({})));
              },
          .gradient = [](SymbolicGraph&, const FunctionCall&) { return Symbols(); },
          .shapes = [](Forms) { return std::vector<AxisList>{AxisList{}}; }};
}

NamedFunction tape_get(std::shared_ptr<Tape> tape, std::vector<std::uint32_t> values) {
  tape->count_reader(kValuesPath);
  return get_function({std::move(tape), kValuesPath, std::move(values)});
}

NamedFunction tape_keep(std::shared_ptr<Tape> tape, std::int64_t checkpoints) {
  return {.name = name_of(kKeep, *tape) + " " +
                  (checkpoints == kKeepSquareRoot ? std::string(kSquareRoot)
                                                  : std::to_string(checkpoints)),
          .run = Keep{tape, checkpoints},
          .shapes = [tape](Forms inputs) {
            note_shapes(*tape, inputs);
            return std::vector<AxisList>{AxisList{}};
          }};
}

NamedFunction tape_take(std::shared_ptr<Tape> tape) {
  tape->count_reader(kValuesPath);
  return {.name = name_of(kTake, *tape),
          .run =
              [tape](Tensors inputs, Tensors outputs) {
                const std::int64_t start =
                    TapeStore::of_run()->take(inputs[0].real_at({}), inputs[1].integer_at({}),
                                              tape->readers(kValuesPath), outputs.subspan(1));
                outputs[0].set({}, start);
              },
          .shapes =
              [tape](Forms) {
                std::vector<AxisList> shapes = {AxisList{}};
                const std::vector<AxisList>& kept = shapes_here[tape->number()];
                shapes.insert(shapes.end(), kept.begin(), kept.end());
                return shapes;
              }};
}

std::optional<std::uint32_t> keep_of(const SymbolicGraph& body) { return node_of<Keep>(body); }
std::optional<std::uint32_t> push_of(const SymbolicGraph& body) { return node_of<Push>(body); }

std::shared_ptr<Tape> tape_of(const NodeInfo& node) {
  if (const Keep* keep = node.function->run.target<Keep>()) return keep->tape;
  return node.function->run.target<Push>()->tape;
}

GradientScope::GradientScope() {
  if (gradients_here++ == 0) gradient_number = ++last_gradient;
}
GradientScope::~GradientScope() { --gradients_here; }

TrialScope::TrialScope() { ++trials_here; }
TrialScope::~TrialScope() { --trials_here; }
bool TrialScope::is_in_one() { return trials_here > 0; }

void forget_tape_shapes() { shapes_here.clear(); }

std::optional<NamedFunction> tape_function(std::string_view name, Tapes& tapes) {
  for (const std::string_view function : {kPush, kCount, kGet, kAdd, kKeep, kTake}) {
    if (!name.starts_with(std::string(function) + " ")) continue;
    const std::vector<std::string> words = words_of(name.substr(function.size() + 1));
    const std::optional<std::uint64_t> number = words.empty() ? std::nullopt : number_of(words[0]);
    if (!number || *number == 0) return std::nullopt;
    std::shared_ptr<Tape>& tape = tapes[*number];
    if (tape == nullptr) tape = std::make_shared<Tape>(*number);
    const bool is_alone = words.size() == 1;
    if (function == kTake) return is_alone ? std::optional(tape_take(tape)) : std::nullopt;
    if (function == kKeep) {
      if (words.size() != 2) return std::nullopt;
      if (words[1] == kSquareRoot) return tape_keep(tape, kKeepSquareRoot);
      const std::optional<std::uint64_t> most = number_of(words[1]);
      if (!most || *most == 0 || *most > 0x7FFFFFFF) return std::nullopt;
      return tape_keep(tape, static_cast<std::int64_t>(*most));
    }
    if (function == kPush) return is_alone ? std::optional(tape_push(tape)) : std::nullopt;
    if (function == kCount) return is_alone ? std::optional(tape_count(tape)) : std::nullopt;
    const std::optional<Part> part = read_part(tape, std::span(words).subspan(1));
    if (!part) return std::nullopt;
    if (function == kAdd) return add_function(*part);
    tape->count_reader(part->path);
    return get_function(*part);
  }
  return std::nullopt;
}

}  // namespace mote
