// SPDX-License-Identifier: Apache-2.0
// Targets from op names and program files.
#include "mote/oracle/target.h"

#include <map>
#include <mutex>

#include "mote/base/error.h"
#include "mote/oracle/resolve.h"

namespace mote {

Target::Target(std::string_view text) : text_(text) {
  if (!is_program_file(text)) {
    record_ = &find_op(text);
    op_ = record_->name;
    inputs_ = record_->inputs;
    dtypes_ = record_->dtypes;
    return;
  }
  file_ = resolve_program(text).program;
  op_ = file_->name;
  for (const Uop& input : file_->inputs) {
    inputs_.push_back({std::get<uop::Input>(input.node().kind).name, false});
  }
  if (std::ssize(file_->inputs) > kMaxMasked)
    throw Error(text_ + ": has " + std::to_string(file_->inputs.size()) +
                " inputs, expected at most " + std::to_string(kMaxMasked));
  dtypes_ = {file_->inputs.empty() ? file_->outputs.at(0).value.dtype()
                                   : file_->inputs.front().dtype()};
}

TensorMask Target::full_mask() const { return first_masked(inputs_.size()); }

std::shared_ptr<const Program> Target::program(const Instance& instance) const {
  return record_ != nullptr ? instantiate(*record_, instance) : file_;
}

int Target::input_position(std::string_view name) const {
  for (std::size_t k = 0; k < inputs_.size(); ++k) {
    if (inputs_[k].name == name) return static_cast<int>(k);
  }
  return -1;
}

std::shared_ptr<const Target> find_target(std::string_view text) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const Target>, std::less<>> known;
  const std::lock_guard lock(mutex);
  const auto at = known.find(text);
  if (at != known.end()) return at->second;
  return known.emplace(std::string(text), std::make_shared<const Target>(text)).first->second;
}

}  // namespace mote
