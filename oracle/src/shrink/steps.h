// SPDX-License-Identifier: Apache-2.0
// The steps that the shrinker tries: each gives simpler neighbours of a case, the boldest first.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mote/oracle/case.h"

namespace mote {

/// Gets a neighbour; returns whether it was kept, which ends the step that offered it.
using Offer = std::function<bool(const Case&)>;

/// A way to make a case simpler. It offers neighbours until one is kept; true when one was.
struct ShrinkStep {
  std::string name;
  std::function<bool(const Case&, const Offer&)> run;
};

/// quick: of a size a few smaller values; thorough: all that are small too, so that the least is
/// found.
enum class Search : std::uint8_t { quick, thorough };

/// The steps for a case, in the order in which they are tried.
std::vector<ShrinkStep> shrink_steps(const Case& c, Search search);
/// Adds the steps over elements that a case sets.
void add_element_steps(std::vector<ShrinkStep>& steps);

/// The same data as fill=zeros and a list of what is not 0, of an axis that repeats the first;
/// nullopt where the inputs cannot be filled.
std::optional<Case> with_elements_listed(const Case& c);

}  // namespace mote
