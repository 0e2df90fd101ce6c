// SPDX-License-Identifier: Apache-2.0
// Makes targets from op names and program files.
#include "mote/oracle/target.h"

#include <map>
#include <mutex>

#include "mote/base/error.h"
#include "mote/oracle/resolve.h"
#include "mote/uops/element_type.h"

namespace mote {

Target::Target(std::string_view text) : text_(text) {
  if (!is_program_file(text)) {
    record_ = &find_op(text);
    op_ = record_->name;
    inputs_ = record_->inputs;
    dtypes_ = possible_ = record_->dtypes;
    return;
  }
  program_text_ = read_program_text(text);
  const auto own = program_of_file(text, program_text_);
  op_ = own->name;
  for (const Uop& input : own->inputs) {
    inputs_.push_back({std::get<uop::Input>(input.node().kind).name, false});
  }
  if (std::ssize(own->inputs) > kMaxMasked)
    throw Error(text_ + ": has " + std::to_string(own->inputs.size()) +
                " inputs, expected at most " + std::to_string(kMaxMasked));
  dtypes_ = possible_ = {element_type(*own)};
  programs_[dtypes_.front()] = own;
  for (const DType dtype : all_dtypes()) {
    if (dtype == DType::boolean || dtype == dtypes_.front()) continue;
    try {
      programs_[dtype] = program_of_file(text, program_text_, dtype);
      possible_.push_back(dtype);
    } catch (const Error&) {  // an operation does not accept the dtype
    }
  }
}

TensorMask Target::full_mask() const { return first_masked(inputs_.size()); }

std::shared_ptr<const Program> Target::program(const Instance& instance) const {
  if (record_ != nullptr) return instantiate(*record_, instance);
  const auto at = programs_.find(instance.dtype);
  return at != programs_.end() ? at->second : program_of_file(text_, program_text_, instance.dtype);
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
