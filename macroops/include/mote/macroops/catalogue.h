// SPDX-License-Identifier: Apache-2.0
// The catalogue of ops: each is a record whose body is a few lines of uops. Everything else about
// an op (kernels, cases, registry entry, documentation) is derived from its record.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mote/base/export.h"
#include "mote/base/tensor_mask.h"
#include "mote/uops/program.h"

namespace MOTE_API mote {

/// The maximum number of optional inputs if every choice of them is an instance; an op with more
/// lists its choices in OpRecord::masks.
inline constexpr int kMaxFreeInputs = 10;

/// An input of an op; its shape is in the program. Optional inputs may be absent.
struct InputDecl {
  std::string name;
  bool optional = false;
};

/// One instance of a record: the element type of its real (or main) tensors, and which inputs are
/// present.
struct Instance {
  DType dtype;
  TensorMask input_mask;  ///< the inputs that are present
};

/// A gradient written by hand: it maps the gradient of each output of the op's program (empty if
/// none is given) to outputs g<input>, one for each of its real inputs. Its inputs are those
/// gradients and any of the program's inputs and outputs, under their names.
using WrittenGradient =
    std::function<ProgramSpec(const Instance& instance, std::span<const Uop> gradients)>;

/// Another formula for an op, equal to its definition in exact arithmetic, that some kernels
/// compute and name in their contract: their rounding errors are those of this program, so that its
/// bound judges them. Inputs, outputs and parameters are the op's; its constraints say for which
/// sizes and parameters it holds.
struct Form {
  std::string name;     ///< the name in mote_contract.form
  std::string meaning;  ///< one line
  std::string source;
  std::function<ProgramSpec(const Instance&)> define;
  /// The form's gradient is a form of the op's gradient, under the same name. It reads no tensor
  /// that the gradient does not read.
  bool differentiated = false;
  WrittenGradient gradient = {};  ///< that gradient; empty: the derived one
};
/// The form that is the definition itself.
inline constexpr std::string_view kDirect = "direct";
/// The form in which terms outside of a tensor are products with 0.
inline constexpr std::string_view kPaddingMultiplied = "padding_multiplied";

struct OpRecord {
  std::string name;
  std::string family;    ///< "linear", "elementwise", …
  std::string equation;  ///< one line
  std::vector<InputDecl> inputs;
  std::vector<DType> dtypes;
  std::vector<ParamDecl> params;
  std::vector<std::pair<int, int>> in_place;  ///< (input, output) pairs that may share memory
  std::string policy;  ///< the conventions: ties, NaN, β = 0, … ; may be empty
  std::string source;  ///< the source of the definition
  /// Returns the definition. Inputs that the instance leaves out are empty handles.
  std::function<ProgramSpec(const Instance&)> define;
  /// A gradient that factors better than the derived one; empty: the derived one.
  WrittenGradient gradient = {};
  /// The gradient has instances in 16-bit reals too: networks are trained in them, by kernels made
  /// for that.
  bool narrow_gradient = false;
  /// The choices of inputs; empty: every choice of the optional inputs, of which there are then at
  /// most kMaxFreeInputs.
  std::vector<TensorMask> masks = {};
  std::vector<Form> forms = {};  ///< other than the definition
  /// Outputs that a call may leave out, though not all outputs at once.
  std::vector<std::string> optional_outputs = {};
  /// The inputs of a gradient that are outputs of its op, rounded to their dtype.
  std::vector<std::string> given_outputs = {};
};

/// Returns all ops, sorted by name.
std::span<const OpRecord> catalogue();
/// Adds ops to the catalogue; from then on everything derived from it (kernels, gradients, cases,
/// the tool) has them like its own. It must be called before the first use of the catalogue, whose
/// records never move. Throws Error if it is called later, and for a name that is taken or is no
/// name of an op.
void extend_catalogue(std::vector<OpRecord> records);
/// True if extend_catalogue() added the op, or the op that it is the gradient of.
bool is_added(const OpRecord& record);
/// Returns an op of the catalogue, or a gradient: "NAME.grad", "NAME.grad.grad", … Throws Error
/// that names near matches and says how to list all, and for the gradient of an op that has none.
const OpRecord& find_op(std::string_view name);

/// Returns the record of the op's gradient, |gy|x|y| -> |gx|, under the name "NAME.grad": the same
/// object each time. Returns nullptr if no gradient flows from the outputs to the inputs.
/// - Inputs: the gradients of the op's real outputs, the op's inputs, and those of its outputs that
///   save work; of all these, the ones that some instance needs. An optional input of the op is
///   always among them: its presence says whether its gradient is wanted.
/// - Outputs: g<input> for each real input that the op reads; if there are several, a call may
///   leave any of them out.
/// - Instances: those of the op, in f32 and f64, with narrow_gradient in all its reals; if the op
///   has several real outputs, with the gradients of all of them or of the first alone (the others
///   count as 0). The gradient of a gradient has instances in f32, with all of them.
const OpRecord* gradient_of(const OpRecord& record);
/// Returns how many times the op's kernels are differentiated at build time: 0 if it has no
/// gradient, 2 for smooth ops, else 1.
int gradient_orders(const OpRecord& record);
/// Returns the records that have generated kernels: the catalogue, and the gradients to those
/// orders. They are sorted by name.
std::span<const OpRecord* const> generated_ops();
/// Returns the generated ops that were added; empty if there are none.
std::vector<const OpRecord*> added_ops();
/// Returns 0 for an op of the catalogue, 1 for its gradient, 2 for the gradient of that.
int gradient_order(const OpRecord& record);

/// Returns all instances: dtypes × choices of inputs. Throws Error if there are more than
/// kMaxMasked inputs, or too many choices.
std::vector<Instance> instances(const OpRecord& record);
/// Returns the checked program of an instance (cached). Errors begin with "op NAME: …".
std::shared_ptr<const Program> instantiate(const OpRecord& record, const Instance& instance);
/// Returns the program of an instance's form (cached), "OP.FORM"; kDirect is the instance's own.
/// Throws Error that lists the op's forms.
std::shared_ptr<const Program> instantiate(const OpRecord& record, const Instance& instance,
                                           std::string_view form);
/// Returns kDirect and the names of the other forms.
std::vector<std::string> form_names(const OpRecord& record);
bool has_form(const OpRecord& record, std::string_view name);
/// Returns true if a kernel may compute every term outside of a tensor as a product with 0: the op
/// has the form kPaddingMultiplied, and is no gradient, whose form has such terms for x alone.
bool may_multiply_padding(const OpRecord& record);
bool has_instance(const OpRecord& record, const Instance& instance);
/// Returns the inputs of the record whose data the instance reads. It needs only the shape of the
/// others that are present.
TensorMask read_mask(const OpRecord& record, const Instance& instance);
/// Returns the same for a call that requests only these outputs of the instance.
TensorMask read_mask(const OpRecord& record, const Instance& instance, TensorMask outputs);
bool is_optional_output(const OpRecord& record, std::string_view output);
/// Returns a name for functions and files: "gemm_f32", "gemm_a_b_f32" if inputs are left out,
/// "gemm_grad_f32".
std::string instance_name(const OpRecord& record, const Instance& instance);
/// Returns the mask of all inputs.
TensorMask full_mask(const OpRecord& record);

}  // namespace mote
