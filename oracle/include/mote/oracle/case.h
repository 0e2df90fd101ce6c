// SPDX-License-Identifier: Apache-2.0
// A case is one execution of one op, as a line of text that is complete and can be replayed:
//   conv2d x=f32[2,4,7,9]:nhwc w=f32[6,4,3,3] stride=2,1 pads=1,0,1,2 fill=onehot:9f21
// Parameters whose names differ by a trailing number (stride0, stride1) are one list. Parameters at
// their default, absent optional inputs and row-major outputs are left out. An output that the call
// does not ask for is written gw=none; one that takes the memory of an input is y=@x.
// fill=integer:5,valid and fill=integer:5,not_negative (or both) restrict inputs that are indices
// to such values (mote_indices). Elements that differ from the fill are listed:
// set=x[0,1]=2;w[3]=0.5. A plug-in's path with blanks is quoted, as in plugin="/a b/x.so"; within
// quotes \" and \\ stand for " and \ themselves.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mote/base/export.h"
#include "mote/oracle/fill.h"
#include "mote/oracle/layout.h"
#include "mote/oracle/target.h"

namespace MOTE_API mote {

struct CaseTensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  CaseLayout layout;
  bool left_out = false;  ///< an output that the call does not ask for
  /// The input whose memory and layout an output takes; empty: none.
  std::string in_place = {};
};

/// An element of an input that differs from the fill; along an axis that repeats, all elements.
struct SetElement {
  std::string tensor;
  std::vector<std::int64_t> index;
  Number value;
};

struct Case {
  std::shared_ptr<const Target> target;
  Instance instance{DType::f32, 0};
  std::shared_ptr<const Program> program;  ///< the program of the instance
  std::vector<CaseTensor> inputs;          ///< those of the program, in its order
  std::vector<CaseTensor> outputs;         ///< likewise, with the inferred shapes
  std::map<std::string, Number> params;    ///< every parameter of the program
  Binding binding;                         ///< the result of bind() on shapes and parameters
  Fill fill;
  int indices = 0;  ///< mote_indices: the fill respects it; elements in `set` need not
  std::vector<SetElement> set = {};
  std::string backend;  ///< empty: not stated
  std::string plugin;   ///< the library that offers it; empty: not stated
};

/// Throws Error "OP: …" that lists the known names, and as bind() does.
Case parse_case(std::string_view text);
/// The text that parse_case() reads back to an equal case.
std::string to_string(const Case& c);

/// Fills in program, outputs' shapes and binding from target, instance, inputs and params; existing
/// outputs keep their layouts. Throws Error as bind() does.
void complete(Case& c);

/// The elements that `from` sets, in the inputs that `to` has too; an index beyond an axis's end
/// becomes its last.
std::vector<SetElement> moved_elements(const Case& to, const Case& from);

/// The input whose memory the output takes; nullopt: none.
std::optional<std::size_t> shared_input(const Case& c, const CaseTensor& output);
/// True if the op allows it, both have the same shape and dtype, and no axis repeats.
bool may_share(const Case& c, std::size_t input, std::size_t output);

/// A family of parameters that case text writes as one list: stride0, stride1 become stride.
struct ParamList {
  std::string name;
  std::vector<std::string> members;  ///< one: the parameter itself
};
std::vector<ParamList> param_lists(const Program& program);

/// The cases of a file, one a line; comments (#) and empty lines are skipped. `accept` may throw
/// Error for a case. Throws Error "PATH: line 4: …" for a line that is not a case, "PATH: …" when
/// the file cannot be read or holds no case.
std::vector<Case> read_cases(const std::string& path,
                             const std::function<void(const Case&)>& accept = {});

}  // namespace mote
