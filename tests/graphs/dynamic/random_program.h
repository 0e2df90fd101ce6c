// SPDX-License-Identifier: Apache-2.0
// Random programs on a dynamic graph: commands, views, writes, frees, gradients of gradients,
// looks. Each is done on a model too (model.h), and what is seen must be equal. A program is a pure
// function of its seed. It is run a few times on one dynamic graph, each time with other numbers,
// and some times with other shapes, parts of views, axes and dtypes, as steps of a training are.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mote::test {

using ProgramCounts = std::map<std::string, std::int64_t>;

/// Returns the first difference, behind what the program did; none if all agrees.
std::optional<std::string> program_difference(std::uint64_t seed, ProgramCounts& counts);
/// Returns the same of the program without the steps that the difference does not need.
std::string shrunk_program(std::uint64_t seed);
/// The names of what is counted.
std::vector<std::string> counted_by_programs();

}  // namespace mote::test
