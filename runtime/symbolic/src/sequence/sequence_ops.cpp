// SPDX-License-Identifier: Apache-2.0
#include "sequence/sequence_ops.h"

#include <array>
#include <cstdint>
#include <deque>
#include <string>

#include "mote/runtime/catalogue.h"
#include "mote/runtime/infer.h"
#include "mote/runtime/registry.h"

namespace mote {
namespace {

using Axes = std::vector<const char*>;
using Extent = std::array<mote_size_step, 2>;

constexpr mote_op_param kBackwards = {
    "backwards", "1: the way backwards, from a row's last step to its first", 1, 1, 0, 0, 1};

/// One cell, as its ops of sequences have it.
struct CellOps {
  const char* cell;
  const char* op;
  const char* gradient;
  bool has_c;
  Axes w, r, b;

  std::size_t states() const { return has_c ? 2 : 1; }
};

const std::array<CellOps, 3>& cells() {
  static const std::array<CellOps, 3> all = {
      {{"rnn_cell", "rnn_sequence", "rnn_sequence.grad", false, {"H", "I"}, {"H", "H"}, {"H"}},
       {"lstm_cell",
        "lstm_sequence",
        "lstm_sequence.grad",
        true,
        {"4", "H", "I"},
        {"4", "H", "H"},
        {"4", "H"}},
       {"gru_cell",
        "gru_sequence",
        "gru_sequence.grad",
        false,
        {"3", "H", "I"},
        {"3", "H", "H"},
        {"4", "H"}}}};
  return all;
}

/// The tables of one op. What they point to stays where it is.
class OpTable {
 public:
  void add_input(const char* name, const Axes& axes, bool is_optional = false,
                 const char* dtype = "T") {
    inputs_.push_back(tensor(name, axes, is_optional, dtype));
  }
  void add_output(const char* name, const Axes& axes, bool is_optional = false) {
    outputs_.push_back(tensor(name, axes, is_optional, "T"));
  }
  /// Returns the definition, which is complete; nothing may be added any more.
  const mote_op_definition& define(const char* name, const char* equation, const char* policy) {
    definition_.name = name;
    definition_.family = "recurrent";
    definition_.equation = equation;
    definition_.policy = policy;
    definition_.source = "sequence.h";
    definition_.input_count = static_cast<std::int32_t>(inputs_.size());
    definition_.output_count = static_cast<std::int32_t>(outputs_.size());
    definition_.param_count = 1;
    definition_.params = &kBackwards;
    definition_.inputs = inputs_.data();
    definition_.outputs = outputs_.data();
    return definition_;
  }

 private:
  mote_op_tensor tensor(const char* name, const Axes& axes, bool is_optional, const char* dtype) {
    axes_.push_back(axes);
    programs_.emplace_back();
    for (const char* axis : axes) {
      const bool is_number = axis[0] >= '0' && axis[0] <= '9';
      if (is_number)
        extents_.push_back(
            {{{MOTE_SIZE_NUMBER, nullptr, axis[0] - '0'}, {MOTE_SIZE_END, nullptr, 0}}});
      programs_.back().push_back(is_number ? extents_.back().data() : nullptr);
    }
    return {.name = name,
            .dtype = dtype,
            .optional = is_optional ? 1 : 0,
            .rank = static_cast<std::int32_t>(axes.size()),
            .axes = axes_.back().data(),
            .broadcast = 0,
            .batch = 0,
            .programs = programs_.back().data()};
  }

  mote_op_definition definition_{};
  std::vector<mote_op_tensor> inputs_, outputs_;
  std::deque<Axes> axes_;
  std::deque<Extent> extents_;
  std::deque<std::vector<const mote_size_step*>> programs_;
};

constexpr const char* kSequences = "the cell's equation for each step of a row, in turn";
constexpr const char* kLengths =
    "behind a row's length y is 0 and the states stay; no lengths: each row has all steps";

/// The op and its gradient.
struct Tables {
  OpTable op, gradient;
  mote_op_gradient row{};
};

/// Adds what the op takes, with the names of its inputs.
void add_inputs(OpTable& table, const CellOps& cell) {
  table.add_input("x", {"S", "N", "I"});
  table.add_input("h", {"N", "H"});
  if (cell.has_c) table.add_input("c", {"N", "H"});
  table.add_input("w", cell.w);
  table.add_input("r", cell.r);
  table.add_input("b", cell.b);
  table.add_input("lengths", {"N"}, true, "i64");
}

void register_ops(const CellOps& cell, Tables& tables, Registry& registry) {
  if (registry.find(cell.op)) return;
  add_inputs(tables.op, cell);
  tables.op.add_output("y", {"S", "N", "H"});
  tables.op.add_output("h_next", {"N", "H"});
  if (cell.has_c) tables.op.add_output("c_next", {"N", "H"});
  tables.gradient.add_input("gy", {"S", "N", "H"}, true);
  tables.gradient.add_input("gh_next", {"N", "H"}, true);
  if (cell.has_c) tables.gradient.add_input("gc_next", {"N", "H"}, true);
  add_inputs(tables.gradient, cell);
  tables.gradient.add_output("gx", {"S", "N", "I"}, true);
  tables.gradient.add_output("gh", {"N", "H"}, true);
  if (cell.has_c) tables.gradient.add_output("gc", {"N", "H"}, true);
  tables.gradient.add_output("gw", cell.w, true);
  tables.gradient.add_output("gr", cell.r, true);
  tables.gradient.add_output("gb", cell.b, true);

  const std::size_t outputs = 1 + cell.states(), inputs = 5 + cell.states();
  const auto lowest = [](std::size_t count) { return (std::uint64_t{1} << count) - 1; };
  tables.row = {.op = cell.op,
                .gradient = cell.gradient,
                .from = lowest(outputs),
                .inputs = lowest(inputs),
                .outputs = 0,
                .reads = lowest(outputs + inputs),
                .to = lowest(inputs - 1)};
  const mote_op_definition& op = tables.op.define(cell.op, kSequences, kLengths);
  const mote_op_definition& gradient = tables.gradient.define(
      cell.gradient, "the gradient with respect to the states and the weights", kLengths);
  register_op(cell.op, registry)
      .set(kDefinition, &op)
      .set(kInfer, infer_by_definition(op))
      .set(kGradient, &tables.row);
  register_op(cell.gradient, registry)
      .include(kGradients)
      .set(kDefinition, &gradient)
      .set(kInfer, infer_by_definition(gradient))
      .set(kGradientOf, &tables.row);
}

/// The text of an input with extents that are no 1, by which nothing is compared.
std::string input(const std::string& name, const Axes& axes) {
  std::string text = name + " f32[";
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const char axis = axes[k][0];
    const char* extent = axis == 'S'   ? "6"
                         : axis == 'N' ? "5"
                         : axis == 'H' ? "8"
                         : axis == 'I' ? "7"
                                       : axes[k];
    text += std::string(k == 0 ? "" : ",") + extent;
  }
  return text + "]";
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

/// The texts of a loop: its condition by the number of steps that are left, or by a comparison.
struct RowMaker {
  const CellOps& cell;
  bool has_lengths, is_backwards, compares;

  std::vector<std::string> states() const {
    return cell.has_c ? std::vector<std::string>{"h", "c"} : std::vector<std::string>{"h"};
  }
  std::vector<std::string> inputs(bool of_loop) const {
    std::vector<std::string> all;
    for (const std::string& state : states()) all.push_back(input(state, {"N", "H"}));
    all.push_back(input("y", {"S", "N", "H"}));
    all.push_back(input("x", {"S", "N", "I"}));
    all.push_back(input("w", cell.w));
    all.push_back(input("r", cell.r));
    all.push_back(input("b", cell.b));
    if (of_loop) all.emplace_back("steps i64[]");
    if (has_lengths) all.emplace_back("lengths i64[5]");
    if (of_loop) all.emplace_back("t i64[]");
    return all;
  }
  std::string names(const char* suffix, const char* y) const {
    std::vector<std::string> all = {y};
    for (const std::string& state : states()) all.push_back(state + suffix);
    return joined(all);
  }

  /// The body computes each state k as k_new, and what stays of it as k_end.
  std::string body() const {
    std::vector<std::string> results;
    for (const std::string& state : states())
      results.push_back(state + (has_lengths ? "_end" : "_new"));
    results.insert(results.end(), {"y_end", "goes_on"});
    std::vector<std::string> made;
    for (const std::string& state : states()) made.push_back(state + "_new");
    std::string text =
        "    graph step(" + joined(inputs(true)) + ") -> (" + joined(results) + ")\n";
    text += compares ? "      goes_on = less(t, steps)\n" : "      goes_on = sub(steps, t)\n";
    if (is_backwards) text += "      one = constant i64[] [1]\n";
    if (is_backwards && compares) text += "      most = sub(steps, one)\n      k = sub(most, t)\n";
    if (is_backwards && !compares) text += "      k = sub(goes_on, one)\n";
    const std::string step = is_backwards ? "k" : "t";
    text +=
        "      x_step = tensor f32[5,7]\n      x_step <- function \"step take\"(x, " + step + ")\n";
    text += "      " + joined(made) + " = " + cell.cell + "(x_step, " + joined(states()) +
            ", w, r, b)\n";
    if (has_lengths) {
      text += "      is_in = less(" + step + ", lengths)\n      is_there = is_in.reshape(5, 1)\n";
      text += "      zero = constant f32[] [0]\n      y_step = where(is_there, h_new, zero)\n";
      for (const std::string& state : states())
        text += "      " + state + "_end = where(is_there, " + state + "_new, " + state + ")\n";
    }
    text += "      y_end = tensor f32[6,5,8]\n      y_end <- function \"step put\"(y, " +
            std::string(has_lengths ? "y_step" : "h_new") + ", " + step + ")\n";
    return text;
  }

  Replacement row() const {
    const std::string lengths = has_lengths ? ", lengths" : "";
    const std::string outputs = names("_next", "y_next");
    std::string given = joined(states());
    std::vector<std::string> nexts;
    for (const std::string& state : states()) nexts.push_back(state + "_next");
    const std::string pattern =
        "graph loop(" + joined(inputs(false)) + ") -> (" + outputs + ")\n" +
        "  steps = tensor i64[]\n  steps <- function \"step count\"(x)\n  " + joined(nexts) +
        ", y_next = while (" + given + ", y, x, w, r, b, steps" + lengths + ") counter {\n" +
        body() + "  }\n";
    const std::string by = "graph by(" + joined(inputs(false)) + ") -> (" + outputs + ")\n  " +
                           outputs + " = " + cell.op + "(x, " + given + ", w, r, b" + lengths +
                           (is_backwards ? ", backwards=1)\n" : ")\n");
    return {.name = std::string(cell.op) + (is_backwards ? " backwards" : "") +
                    (has_lengths ? " with lengths" : "") + (compares ? ", compared" : ""),
            .pattern = pattern,
            .by = by,
            .is_exact = false,
            .reason = "a backend computes all steps in its own way"};
  }
};

}  // namespace

void register_sequence_ops() {
  static std::array<Tables, 3>* const tables = [] {
    auto* made = new std::array<Tables, 3>();  // the registry keeps what they point to
    for (std::size_t k = 0; k < made->size(); ++k)
      register_ops(cells()[k], (*made)[k], Registry::global());
    return made;
  }();
  static_cast<void>(tables);
}

std::vector<Replacement> sequence_rows() {
  std::vector<Replacement> rows;
  for (const CellOps& cell : cells())
    for (const bool has_lengths : {false, true})
      for (const bool is_backwards : {false, true})
        for (const bool compares : {false, true})
          rows.push_back(RowMaker{cell, has_lengths, is_backwards, compares}.row());
  return rows;
}

}  // namespace mote
