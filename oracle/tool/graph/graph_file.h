// SPDX-License-Identifier: Apache-2.0
// A graph as a command of `mote graph` takes it: its file, with a gradient if one is asked for, and
// the tensors of its inputs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mote/symbolic/binding.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote::tool {

/// Returns what a file holds; "-" is standard input. Throws Error "FILE: cannot be read".
std::string read_text(const std::string& path);

/// Reads a .graph file; "-" is standard input. Throws Error "FILE: …".
SymbolicGraph read_graph(const std::string& path);

/// Gives inputs whose shape the text leaves open, f32[?], the shape of the tensor of their name in
/// the .npz file. Throws Error for a tensor of another form, and for one that no input has the name
/// of.
void give_shapes(SymbolicGraph& graph, const std::string& file);

/// Throws Error if the shape of an input is still open.
void check_shapes(const SymbolicGraph& graph);

/// Adds the gradient that `wanted` states, "loss" or "loss:w,b", and makes it an output under the
/// names "loss/w". Without names it is the gradient with respect to all real inputs.
void add_gradient(SymbolicGraph& graph, const std::string& wanted);

struct GraphInputs {
  std::vector<TensorBinding> tensors;
  bool some_are_random = false;
};

/// Returns the tensors of the graph's inputs: those of the .npz file by their names, others drawn
/// from the seed, uniform in [-1, 1); integers are 0 or 1. Throws Error for a tensor of another
/// form.
GraphInputs graph_inputs(const SymbolicGraph& graph, const std::string& file, std::uint64_t seed);

/// Writes a file. Throws Error "FILE: …".
void write_text(const std::string& path, const std::string& text);

}  // namespace mote::tool
