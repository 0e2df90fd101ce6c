// SPDX-License-Identifier: Apache-2.0
// What a case runs: an op of the catalogue, whose program depends on dtype and optional inputs, or
// a program file, which is one program.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mote/base/export.h"
#include "mote/base/tensor_mask.h"
#include "mote/macroops/catalogue.h"

namespace MOTE_API mote {

class Target {
 public:
  /// "conv2d", or the path of a program file. Throws Error as resolve_program() does.
  explicit Target(std::string_view text);

  const std::string& text() const { return text_; }  ///< as written in a case
  const std::string& op() const { return op_; }      ///< what a backend calls it
  bool is_file() const { return record_ == nullptr; }
  const OpRecord* record() const { return record_; }  ///< null for a file
  /// In the order in which a call has them.
  const std::vector<InputDecl>& inputs() const { return inputs_; }
  /// Those that random cases are of where none is asked for: of a file its own element type.
  const std::vector<DType>& dtypes() const { return dtypes_; }
  /// Those that cases may be of: of a file, its own first, each that its text can be read with.
  const std::vector<DType>& possible_dtypes() const { return possible_; }
  TensorMask full_mask() const;
  /// Throws Error for a dtype that a file cannot be read with, and why.
  std::shared_ptr<const Program> program(const Instance& instance) const;
  /// Position of an input in inputs(); -1 when there is none.
  int input_position(std::string_view name) const;

 private:
  std::string text_;
  std::string op_;
  const OpRecord* record_ = nullptr;
  std::string program_text_;  ///< of a file
  std::map<DType, std::shared_ptr<const Program>> programs_;
  std::vector<InputDecl> inputs_;
  std::vector<DType> dtypes_;
  std::vector<DType> possible_;
};

/// Targets made before are kept: a program file is read once.
std::shared_ptr<const Target> find_target(std::string_view text);

}  // namespace mote
