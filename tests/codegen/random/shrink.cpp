// SPDX-License-Identifier: Apache-2.0
// Shrinks greedily: every edit that still fails, at any stage, is kept, until no edit does.
#include "shrink.h"

#include <algorithm>

#include "mote/base/error.h"
#include "simpler.h"

namespace mote::test {
namespace {

/// Returns the trial with the program's sizes and parameters; a missing size counts as 2.
Trial fitted(const Program& p, Trial t) {
  std::map<std::string, std::int64_t> sizes;
  for (const SizeRule& rule : p.size_rules) {
    const auto found = t.sizes.find(rule.size.name());
    sizes[rule.size.name()] = found == t.sizes.end() ? 2 : found->second;
  }
  std::map<std::string, Number> params;
  for (const ParamDecl& param : p.params) {
    const auto found = t.params.find(param.name);
    if (found != t.params.end()) params[param.name] = found->second;
  }
  t.sizes = std::move(sizes);
  t.params = std::move(params);
  return t;
}

/// Returns trials with one size smaller, or plainer data.
std::vector<Trial> simpler_trials(const Trial& t) {
  std::vector<Trial> all;
  for (const auto& [name, size] : t.sizes)
    for (std::int64_t smaller = 0; smaller < size; ++smaller) {
      all.push_back(t);
      all.back().sizes[name] = smaller;
    }
  if (t.fill == Fill::integers) return all;
  all.push_back(t);
  all.back().fill = Fill::integers;
  return all;
}

/// Each check compiles C, which takes a tenth of a second.
constexpr int kMaxCompilations = 600;

class Shrinker {
 public:
  Shrinker(Failure failure, CheckOptions options, int most)
      : now_(std::move(failure)), options_(std::move(options)), left_(most) {
    const std::string& stage = now_.mismatch.stage;
    options_.run_c = stage == "c" || stage.starts_with("gen");
    options_.interpret = !options_.run_c;
    if (options_.run_c) left_ = std::min(left_, kMaxCompilations);
  }

  Failure run() {
    if (now_.mismatch.trial) check(now_.program, {Trial(*now_.mismatch.trial)});
    while (left_ > 0) {
      const bool smaller = exhaust(smaller_graphs);
      const bool plainer = exhaust(plainer_nodes);
      const bool less = less_data();
      if (!smaller && !plainer && !less) break;
    }
    return std::move(now_);
  }

 private:
  using Edits = std::vector<Edit> (*)(const std::shared_ptr<const Program>&);

  // Takes every edit that still fails, repeatedly until none does.
  bool exhaust(Edits list) {
    bool progress = false;
    std::vector<Edit> edits = list(std::make_shared<const Program>(now_.program));
    std::size_t at = 0;
    for (std::size_t since = 0; since < edits.size() && left_ > 0; ++since, ++at) {
      const std::optional<Program> p = edits[at % edits.size()]();
      if (!p || equal(*p, now_.program) || !check(*p, now_.trials)) continue;
      progress = true;
      edits = list(std::make_shared<const Program>(now_.program));
      since = 0;
      if (edits.empty()) break;
    }
    return progress;
  }

  bool less_data() {
    bool progress = false;
    for (bool again = true; again && now_.trials.size() == 1;) {
      again = false;
      for (const Trial& t : simpler_trials(now_.trials[0])) {
        again = check(now_.program, {t});
        if (again) break;
      }
      progress = progress || again;
    }
    return progress;
  }

  // Keeps the program if it fails.
  bool check(const Program& p, const std::vector<Trial>& trials) {
    if (left_-- <= 0) return false;
    std::vector<Trial> fit;
    for (const Trial& t : trials) fit.push_back(fitted(p, t));
    try {
      std::optional<Mismatch> m = check_program(p, fit, options_);
      if (!m) return false;
      now_ = {p, std::move(fit), std::move(*m)};
      return true;
    } catch (const std::exception&) {  // the edited program is not legal on this trial
      return false;
    }
  }

  Failure now_;
  CheckOptions options_;
  int left_;
};

}  // namespace

Failure shrink(Failure failure, const CheckOptions& options, int most) {
  return Shrinker(std::move(failure), options, most).run();
}

}  // namespace mote::test
