// SPDX-License-Identifier: Apache-2.0
// The parts that the families share: one function for each family that returns its records, and
// helpers for records and definitions. A definition returns its program without name, equation and
// parameters: instantiate() takes those from the record.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mote/macroops/catalogue.h"

namespace mote {

std::vector<OpRecord> linear_ops();
std::vector<OpRecord> convolution_ops();
/// Returns the forms winograd_f2 and winograd_f4 of conv2d.
std::vector<Form> winograd_forms();
std::vector<OpRecord> attention_ops();
std::vector<OpRecord> elementwise_ops();
std::vector<OpRecord> activation_ops();
std::vector<OpRecord> choice_ops();
std::vector<OpRecord> normalise_ops();
std::vector<OpRecord> batch_norm_ops();
std::vector<OpRecord> reduce_ops();
std::vector<OpRecord> spatial_ops();
std::vector<OpRecord> index_ops();
std::vector<OpRecord> move_ops();
std::vector<OpRecord> scatter_ops();
std::vector<OpRecord> random_ops();
std::vector<OpRecord> loss_ops();
std::vector<OpRecord> optimiser_ops();
std::vector<OpRecord> quantised_ops();
std::vector<OpRecord> recurrent_ops();
std::vector<OpRecord> resize_ops();

namespace dtypes {
using enum DType;
inline const std::vector<DType> kReal = {f32, f64, f16, bf16};
inline const std::vector<DType> kInteger = {i32, i64, i8, u8};
inline const std::vector<DType> kBool = {boolean};
/// The dtypes of results that exceed 8 bits: powers, sums of products.
inline const std::vector<DType> kWide = {f32, f64, f16, bf16, i32, i64};
inline const std::vector<DType> kSigned = {f32, f64, f16, bf16, i32, i64, i8};
inline const std::vector<DType> kNumber = {f32, f64, f16, bf16, i32, i64, i8, u8};
inline const std::vector<DType> kAll = {f32, f64, f16, bf16, i32, i64, i8, u8, boolean};
}  // namespace dtypes

/// Returns optional input k of the record: an empty handle if the instance leaves it out.
Uop optional_input(const Instance& instance, int k, std::string_view name, const Shape& shape);

/// The gradient of an op with one real output, its first, from that output's gradient.
using OneGradient = std::function<ProgramSpec(const Instance& instance, const Uop& gy)>;
/// Returns an empty function if `gradient` is empty.
WrittenGradient written(const OneGradient& gradient);

/// Returns 1/(1 + exp(-x)).
Uop sigmoid(const Uop& x);
/// Returns the sigmoid as e/(1 + e), e = exp(-|x|), or 1 minus that if x > 0.
Uop sigmoid_of_exp(const Uop& x);
/// Returns the form "of_exp" of an op that computes a sigmoid.
Form of_exp(std::function<ProgramSpec(const Instance&)> define);

/// The method for a variance: from the squares of x minus the mean, or from the squares of x.
enum class Passes : std::uint8_t { two, one };
/// Returns the form "one_pass" of an op that computes a variance.
Form one_pass(std::function<ProgramSpec(const Instance&)> define);

/// Makes a program with one output, y.
ProgramSpec spec(std::vector<Uop> inputs, const Uop& y, std::vector<NamedSize> sizes = {});

/// Makes a program with named outputs.
ProgramSpec spec(std::vector<Uop> inputs, std::vector<Output> outputs,
                 std::vector<NamedSize> sizes = {});

/// Returns an index expression as a value of dtype, exact if that is real.
Uop index_as(const IndexText& index, const Shape& shape, DType dtype);

/// Replaces a negative index, which counts from the end of an axis of that extent.
Uop from_end(const Uop& index, const IndexText& extent);

/// Makes a named size whose value is index text.
NamedSize named_size(std::string name, std::string_view value);

/// Declares an integer >= least; it is required if it has no default.
ParamDecl integer_param(std::string name, std::int64_t least, std::optional<double> default_value,
                        std::string meaning);
/// Declares a parameter that is 0 or 1.
ParamDecl flag_param(std::string name, int default_value, std::string meaning);
/// Declares a parameter that is any integer.
ParamDecl offset_param(std::string name, std::optional<double> default_value, std::string meaning);
/// Declares a parameter of the instance's dtype: in an instance over integers it is an integer.
ParamDecl value_param(std::string name, double default_value, std::string meaning);

/// True where 0 <= index < extent.
Uop inside(const IndexText& index, const IndexText& extent, const Shape& shape);

/// Returns the input x[N, C, H, W].
Uop image(DType dtype);

/// Returns the letter of a spatial axis: the last `axes` (1 to 3) of D, H, W.
std::string spatial_letter(int axes, int axis);
/// Returns the index along that axis that tap `tap` of the window at `window` (loop variables)
/// reads.
std::string window_index(int axis, int window, int tap);
/// Declares stride and dilation for each spatial axis, then pads0, … in ONNX's order, all begins,
/// then all ends. Both convolution and pooling use them.
std::vector<ParamDecl> window_params(int axes);
/// Returns the sizes OD, OH, OW for a window of that many taps (index text) that slides over D, H,
/// W.
std::vector<NamedSize> window_sizes(const std::vector<std::string>& taps);

/// The loops of a convolution over `axes` spatial axes: taps[N, co, O…, ci, K…].
struct ConvolutionTaps {
  Shape image;                   ///< x: N, groups*CG, then (D,) (H,) W
  Shape kernel;                  ///< w: groups*CO, CG, then (KD,) (KH,) KW
  Shape taps;                    ///< the axes of all products
  std::vector<IndexText> from;   ///< the index in x that a tap reads
  std::vector<int> kernel_axes;  ///< w's axes among those of taps
  Axes summed;                   ///< the axes of taps that a window runs over
  Uop in_image;                  ///< true where a tap is inside x; empty if there is no spatial
                                 ///< axis
  std::vector<NamedSize> sizes;
};
ConvolutionTaps convolution_taps(int axes);
/// Declares the parameters of window_params() and groups.
std::vector<ParamDecl> convolution_params(int axes);

}  // namespace mote
