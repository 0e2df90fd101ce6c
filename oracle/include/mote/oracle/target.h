// SPDX-License-Identifier: Apache-2.0
// The target of a case: an op of the catalogue, whose program depends on dtype and optional inputs,
// or a program file, which is one program.
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
  /// Takes "conv2d", or the path of a program file. Throws Error as resolve_program() does.
  explicit Target(std::string_view text);

  const std::string& text() const { return text_; }  ///< the text in a case
  const std::string& op() const { return op_; }      ///< the name of the op for backends
  bool is_file() const { return record_ == nullptr; }
  const OpRecord* record() const { return record_; }  ///< null for a file
  /// The inputs in the order of the call.
  const std::vector<InputDecl>& inputs() const { return inputs_; }
  /// The default dtypes of random cases; for a file its own element type.
  const std::vector<DType>& dtypes() const { return dtypes_; }
  /// All dtypes that cases may have; for a file its own first, then each that its program accepts.
  const std::vector<DType>& possible_dtypes() const { return possible_; }
  TensorMask full_mask() const;
  /// Throws Error for a dtype that the file's program does not accept, and says why.
  std::shared_ptr<const Program> program(const Instance& instance) const;
  /// The position of an input in inputs(); -1 when there is none.
  int input_position(std::string_view name) const;

 private:
  std::string text_;
  std::string op_;
  const OpRecord* record_ = nullptr;
  std::string program_text_;  ///< the text of a file
  std::map<DType, std::shared_ptr<const Program>> programs_;
  std::vector<InputDecl> inputs_;
  std::vector<DType> dtypes_;
  std::vector<DType> possible_;
};

/// Finds or makes a target. Targets are cached: a program file is read once.
std::shared_ptr<const Target> find_target(std::string_view text);

}  // namespace mote
