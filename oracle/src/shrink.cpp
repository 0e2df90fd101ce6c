// The greedy loop: rounds over all steps until one round keeps nothing.
#include "mote/oracle/shrink.h"

#include "mote/oracle/exactness.h"
#include "shrink_steps.h"

namespace mote {
namespace {

class Shrinker {
 public:
  Shrinker(const Case& start, const std::function<bool(const Case&)>& fails,
           const ShrinkLimits& limits)
      : fails_(fails), limits_(limits), shrunk_{start, 0, 0} {}

  Shrunk run() {
    for (bool changed = true; changed && !exhausted();) {
      changed = false;
      for (const ShrinkStep& step : shrink_steps(shrunk_.smallest)) {
        const Offer offer = [this](const Case& candidate) { return keep(candidate); };
        while (!exhausted() && step.run(shrunk_.smallest, offer)) changed = true;
      }
    }
    return shrunk_;
  }

 private:
  bool exhausted() const { return shrunk_.tries >= limits_.tries || work_ > limits_.multiply_adds; }

  bool keep(const Case& candidate) {
    if (exhausted()) return false;
    ++shrunk_.tries;
    work_ += multiply_adds(*candidate.program, candidate.binding);
    if (!fails_(candidate)) return false;
    shrunk_.smallest = candidate;
    ++shrunk_.steps;
    return true;
  }

  const std::function<bool(const Case&)>& fails_;
  ShrinkLimits limits_;
  Shrunk shrunk_;
  double work_ = 0;
};

}  // namespace

Shrunk shrink(const Case& start, const std::function<bool(const Case&)>& fails,
              const ShrinkLimits& limits) {
  return Shrinker(start, fails, limits).run();
}

}  // namespace mote
