// SPDX-License-Identifier: Apache-2.0
// The steps of the shrinker: each gives simpler neighbours of a case, the boldest first.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mote/oracle/case.h"

namespace mote {

/// Takes a neighbour; returns true if it was kept, which ends the step that offered it.
using Offer = std::function<bool(const Case&)>;

/// A step that makes a case simpler. It offers neighbours until one is kept; returns true when one
/// was.
struct ShrinkStep {
  std::string name;
  std::function<bool(const Case&, const Offer&)> run;
};

/// quick: a few smaller values of a size; thorough: all small values too, so that the least is
/// found.
enum class Search : std::uint8_t { quick, thorough };

/// The steps for a case, in the order of trying.
std::vector<ShrinkStep> shrink_steps(const Case& c, Search search);
/// Adds the steps over elements that a case sets.
void add_element_steps(std::vector<ShrinkStep>& steps);

/// The same data as fill=zeros and a list of nonzero elements (only the first along a repeating
/// axis); nullopt if the inputs cannot be filled.
std::optional<Case> with_elements_listed(const Case& c);

}  // namespace mote
