// SPDX-License-Identifier: Apache-2.0
#include "two_leg.h"

#include "compile_leg.h"
#include "mote/symbolic/compile.h"

namespace mote::test {
namespace {

/// A compiled graph that copies its inputs, which are tensors of other graphs.
class Reader {
 public:
  explicit Reader(const std::vector<Tensor>& read) : graph_("reader") {
    for (std::size_t k = 0; k < read.size(); ++k) {
      inputs_.push_back(graph_.input("x" + std::to_string(k), read[k].form()));
      copies_.push_back(graph_.tensor({read[k].dtype(), read[k].shape()}));
      graph_.copy(inputs_.back(), copies_.back());
    }
    // Their memory is the program's, so that no pass makes them the inputs.
    executable_.emplace(compile(graph_, {.outputs = copies_, .bound = copies_}, shared_context()));
    for (std::size_t k = 0; k < read.size(); ++k) {
      executable_->bind(inputs_[k], read[k]);
      executable_->bind(copies_[k], Tensor(read[k].dtype(), read[k].shape()));
    }
  }
  std::vector<Tensor> run() {
    executable_->run();
    std::vector<Tensor> values;
    for (const TensorSymbol copy : copies_) values.push_back(executable_->output(copy));
    return values;
  }

 private:
  SymbolicGraph graph_;
  std::vector<TensorSymbol> inputs_, copies_;
  std::optional<Executable> executable_;
};

}  // namespace

std::string some_two_leg(Rng& rng) { return "two " + some_compile_settings(rng); }

std::optional<std::string> check_two(const GraphSubject& subject,
                                     const std::map<std::string, std::string>& settings,
                                     Counts& counts) {
  const SymbolicGraph& graph = subject.graph();
  const CompileOptions options = options_of(graph, settings);
  const GraphData other{subject.data().fill, subject.data().seed + 1};
  Executable first = compiled(graph, options, shared_context());
  Executable second = compiled(graph, options, shared_context());
  first.run(subject.bindings_by_index(graph));
  const std::vector<Tensor> held = outputs_of(graph, first);
  second.run(inputs_of(graph, graph, other));
  if (auto found = subject.difference(held)) return "after another graph has run, " + *found;
  Reader reader(held);
  if (auto found = subject.difference(reader.run())) return "read by another graph, " + *found;
  first.run(inputs_of(graph, graph, other));
  const std::vector<Tensor> now = outputs_of(graph, first);
  const std::vector<Tensor> again = Reader(now).run();
  second.run(subject.bindings_by_index(graph));
  for (std::size_t k = 0; k < now.size(); ++k)
    if (auto found = bit_difference(again[k], now[k]))
      return "after another graph has run, " + graph.text(graph.outputs()[k]) + *found;
  ++counts["read by another graph"];
  if (first.report().arena_bytes > 0) ++counts["two graphs with memory of their own"];
  return std::nullopt;
}

std::vector<std::string> counted_by_two_leg() {
  return {"read by another graph", "two graphs with memory of their own"};
}

}  // namespace mote::test
