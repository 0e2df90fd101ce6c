// SPDX-License-Identifier: Apache-2.0
/* A plug-in that brings ops of its own, for f32 and f64, written against public headers: cube, its
 * gradient and the gradient of that as a library for register_library(); fold_pairs and its
 * gradient as definitions, whose kernels are those of a backend. */
#include "mote/base/kernel.h"
#include "mote/base/registry.h"

enum { kMaxTensors = 5, kMaxRank = 2 };

typedef struct {
  char* data;
  int64_t extents[kMaxRank];
  int64_t strides[kMaxRank];
} view;

/* Reads a tensor of `rank` axes, the missing leading ones of which have extent 1. */
static int open_view(const DLTensor* t, int rank, int bits, view* v) {
  int64_t dense = 1;
  if (t == NULL || t->ndim < 0 || t->ndim > rank || t->device.device_type != kDLCPU) return 0;
  if (t->dtype.code != kDLFloat || t->dtype.bits != bits || t->dtype.lanes != 1) return 0;
  for (int axis = rank - 1, own = t->ndim - 1; axis >= 0; --axis, --own) {
    v->extents[axis] = own < 0 ? 1 : t->shape[own];
    v->strides[axis] = own < 0 ? 0 : t->strides != NULL ? t->strides[own] : dense;
    dense *= v->extents[axis];
  }
  v->data = t->data == NULL ? NULL : (char*)t->data + t->byte_offset;
  return 1;
}

/* Reads the inputs, then the outputs, all of the first output's dtype. */
static mote_status open_call(const mote_call* call, int inputs, int outputs, int rank, view* all) {
  if (call->input_count != inputs || call->output_count != outputs) return MOTE_INVALID;
  const int bits = call->outputs[0] != NULL ? call->outputs[0]->dtype.bits : 0;
  if (bits != 32 && bits != 64) return MOTE_UNSUPPORTED;
  for (int k = 0; k < inputs + outputs; ++k) {
    const DLTensor* t = k < inputs ? call->inputs[k] : call->outputs[k - inputs];
    if (!open_view(t, rank, bits, &all[k])) return MOTE_UNSUPPORTED;
  }
  return MOTE_OK;
}

static mote_status open_pointwise(const mote_call* call, int inputs, int outputs, view* all) {
  const mote_status status = open_call(call, inputs, outputs, 1, all);
  for (int k = 1; k < inputs + outputs && status == MOTE_OK; ++k)
    if (all[k].extents[0] != all[0].extents[0]) return MOTE_INVALID;
  return status;
}

/* y[i] = x[2i] + weight*x[2i + 1] in each row; `wide` has twice the columns of `narrow`. */
static mote_status open_pairs(const mote_call* call, int wide, view* all) {
  const mote_status status = open_call(call, 1, 1, 2, all);
  if (status != MOTE_OK) return status;
  const view* narrow = &all[1 - wide];
  const int fits =
      all[0].extents[0] == all[1].extents[0] && all[wide].extents[1] == 2 * narrow->extents[1];
  return fits ? MOTE_OK : MOTE_INVALID;
}

static double weight_of(const mote_call* call) {
  for (int32_t k = 0; k < call->param_count; ++k)
    if (call->params[k].name[0] == 'w')
      return call->params[k].is_real ? call->params[k].real : (double)call->params[k].integer;
  return 1;
}

#define AT(T, v, i) (((T*)(void*)(v).data)[(i) * (v).strides[0]])
#define AT2(T, v, i, j) (((T*)(void*)(v).data)[(i) * (v).strides[0] + (j) * (v).strides[1]])

#define DEFINE_KERNELS(T)                                                                  \
  static void cube_##T(const view* v) {                                                    \
    for (int64_t i = 0; i < v[0].extents[0]; ++i) {                                        \
      const T x = AT(T, v[0], i);                                                          \
      AT(T, v[1], i) = x * x * x;                                                          \
    }                                                                                      \
  }                                                                                        \
  static void cube_grad_##T(const view* v) { /* gy, x -> gx */                             \
    for (int64_t i = 0; i < v[0].extents[0]; ++i) {                                        \
      const T x = AT(T, v[1], i);                                                          \
      AT(T, v[2], i) = AT(T, v[0], i) * (3 * x * x);                                       \
    }                                                                                      \
  }                                                                                        \
  static void cube_grad_grad_##T(const view* v) { /* g, gy, x -> those of gy and x */      \
    for (int64_t i = 0; i < v[0].extents[0]; ++i) {                                        \
      const T g = AT(T, v[0], i), gy = AT(T, v[1], i), x = AT(T, v[2], i);                 \
      AT(T, v[3], i) = g * (3 * x * x);                                                    \
      AT(T, v[4], i) = g * gy * (6 * x);                                                   \
    }                                                                                      \
  }                                                                                        \
  static void fold_pairs_##T(const view* v, T weight) {                                    \
    for (int64_t i = 0; i < v[1].extents[0]; ++i)                                          \
      for (int64_t j = 0; j < v[1].extents[1]; ++j)                                        \
        AT2(T, v[1], i, j) = AT2(T, v[0], i, 2 * j) + weight * AT2(T, v[0], i, 2 * j + 1); \
  }                                                                                        \
  static void fold_pairs_grad_##T(const view* v, T weight) {                               \
    for (int64_t i = 0; i < v[0].extents[0]; ++i)                                          \
      for (int64_t j = 0; j < v[0].extents[1]; ++j) {                                      \
        AT2(T, v[1], i, 2 * j) = AT2(T, v[0], i, j);                                       \
        AT2(T, v[1], i, 2 * j + 1) = weight * AT2(T, v[0], i, j);                          \
      }                                                                                    \
  }
DEFINE_KERNELS(float)
DEFINE_KERNELS(double)

#define DEFINE_POINTWISE(name, in, out)                                \
  static mote_status name##_can_run(const mote_call* call) {           \
    view all[kMaxTensors];                                             \
    return open_pointwise(call, in, out, all);                         \
  }                                                                    \
  static mote_status name##_run(const mote_call* call, void* stream) { \
    view all[kMaxTensors];                                             \
    const mote_status status = open_pointwise(call, in, out, all);     \
    (void)stream;                                                      \
    if (status != MOTE_OK) return status;                              \
    if (call->outputs[0]->dtype.bits == 32)                            \
      name##_float(all);                                               \
    else                                                               \
      name##_double(all);                                              \
    return MOTE_OK;                                                    \
  }
DEFINE_POINTWISE(cube, 1, 1)
DEFINE_POINTWISE(cube_grad, 2, 1)
DEFINE_POINTWISE(cube_grad_grad, 3, 2)

#define DEFINE_PAIRS(name, wide)                                       \
  static mote_status name##_can_run(const mote_call* call) {           \
    view all[kMaxTensors];                                             \
    return open_pairs(call, wide, all);                                \
  }                                                                    \
  static mote_status name##_run(const mote_call* call, void* stream) { \
    view all[kMaxTensors];                                             \
    const mote_status status = open_pairs(call, wide, all);            \
    (void)stream;                                                      \
    if (status != MOTE_OK) return status;                              \
    if (call->outputs[0]->dtype.bits == 32)                            \
      name##_float(all, (float)weight_of(call));                       \
    else                                                               \
      name##_double(all, weight_of(call));                             \
    return MOTE_OK;                                                    \
  }
DEFINE_PAIRS(fold_pairs, 0)
DEFINE_PAIRS(fold_pairs_grad, 1)

/* ---- the ops, as tables */

static const mote_op_pair first_pair = {.input = 0, .output = 0};
static const mote_contract plain = {
    .size = sizeof(mote_contract), .deterministic = 1, .form = "direct"};
static const mote_contract in_place = {.size = sizeof(mote_contract),
                                       .deterministic = 1,
                                       .form = "direct",
                                       .in_place_count = 1,
                                       .in_place = &first_pair};

#define KERNEL(op_name, name, promises)                                  \
  {                                                                      \
    .size = sizeof(mote_kernel), .op = op_name, .contract = &(promises), \
    .can_run = name##_can_run, .run = name##_run                         \
  }
/* A kernel that has and reads all inputs, and has all outputs. */
#define GENERATED(op_name, name, type, inputs, outputs, promises)                              \
  {                                                                                            \
    .op = op_name, .variant = "reference", .dtype = type, .input_mask = (1U << (inputs)) - 1U, \
    .read_mask = (1U << (inputs)) - 1U, .output_mask = (1U << (outputs)) - 1U,                 \
    .kernel = KERNEL(op_name, name, promises)                                                  \
  }

static const char* const line[] = {"N"};
#define LINE(tensor) \
  { .name = tensor, .dtype = "T", .rank = 1, .axes = line, .batch = 1 }
static const mote_op_tensor cube_in[] = {LINE("x")};
static const mote_op_tensor cube_out[] = {LINE("y")};
static const mote_op_tensor cube_grad_in[] = {LINE("gy"), LINE("x")};
static const mote_op_tensor cube_grad_out[] = {LINE("gx")};
static const mote_op_tensor cube_grad_grad_in[] = {LINE("ggx"), LINE("gy"), LINE("x")};
static const mote_op_tensor cube_grad_grad_out[] = {LINE("ggy"), LINE("gx")};

static const mote_op_definition cube_ops[] = {{.name = "cube",
                                               .family = "exact",
                                               .equation = "y = x*x*x",
                                               .policy = "",
                                               .source = "",
                                               .input_count = 1,
                                               .output_count = 1,
                                               .pair_count = 1,
                                               .inputs = cube_in,
                                               .outputs = cube_out,
                                               .in_place = &first_pair},
                                              {.name = "cube.grad",
                                               .family = "exact",
                                               .equation = "gx = gy*3*x*x",
                                               .policy = "",
                                               .source = "",
                                               .input_count = 2,
                                               .output_count = 1,
                                               .pair_count = 1,
                                               .inputs = cube_grad_in,
                                               .outputs = cube_grad_out,
                                               .in_place = &first_pair},
                                              {.name = "cube.grad.grad",
                                               .family = "exact",
                                               .equation = "ggy = ggx*3*x*x, gx = ggx*gy*6*x",
                                               .policy = "",
                                               .source = "",
                                               .input_count = 3,
                                               .output_count = 2,
                                               .inputs = cube_grad_grad_in,
                                               .outputs = cube_grad_grad_out}};
static const mote_generated_kernel cube_kernels[] = {
    GENERATED("cube", cube, "f32", 1, 1, in_place),
    GENERATED("cube", cube, "f64", 1, 1, in_place),
    GENERATED("cube.grad", cube_grad, "f32", 2, 1, in_place),
    GENERATED("cube.grad", cube_grad, "f64", 2, 1, in_place),
    GENERATED("cube.grad.grad", cube_grad_grad, "f32", 3, 2, plain),
    GENERATED("cube.grad.grad", cube_grad_grad, "f64", 3, 2, plain)};
static const mote_op_gradient cube_gradients[] = {
    {.op = "cube", .gradient = "cube.grad", .from = 1, .inputs = 1, .reads = 3, .to = 1},
    {.op = "cube.grad", .gradient = "cube.grad.grad", .from = 1, .inputs = 3, .reads = 7, .to = 3}};

MOTE_PLUGIN_EXPORT extern const mote_kernel_library cube_library;
const mote_kernel_library cube_library = {.name = "exact",
                                          .kernels = cube_kernels,
                                          .kernel_count = 6,
                                          .op_count = 3,
                                          .ops = cube_ops,
                                          .gradients = cube_gradients,
                                          .gradient_count = 2};

static const char* const narrow[] = {"R", "N"};
static const char* const wide[] = {"R", "2*N"};
static const mote_size_step twice[] = {{MOTE_SIZE_NUMBER, NULL, 2},
                                       {MOTE_SIZE_NAME, "N", 0},
                                       {MOTE_SIZE_MULTIPLY, NULL, 0},
                                       {MOTE_SIZE_END, NULL, 0}};
static const mote_size_step* const wide_programs[] = {NULL, twice};
#define ROWS(tensor, columns, steps) \
  { .name = tensor, .dtype = "T", .rank = 2, .axes = columns, .batch = 1, .programs = steps }
static const mote_op_tensor pairs_in[] = {ROWS("x", wide, wide_programs)};
static const mote_op_tensor pairs_out[] = {ROWS("y", narrow, NULL)};
static const mote_op_tensor pairs_grad_in[] = {ROWS("gy", narrow, NULL)};
static const mote_op_tensor pairs_grad_out[] = {ROWS("gx", wide, wide_programs)};
static const mote_op_param weight[] = {{.name = "weight",
                                        .meaning = "the factor of the second of each pair",
                                        .has_default = 1,
                                        .default_value = 1}};

MOTE_PLUGIN_EXPORT extern const mote_op_definition fold_pairs_ops[2];
const mote_op_definition fold_pairs_ops[2] = {
    {.name = "fold_pairs",
     .family = "exact",
     .equation = "y[i] = x[2*i] + weight*x[2*i + 1]",
     .policy = "",
     .source = "",
     .input_count = 1,
     .output_count = 1,
     .param_count = 1,
     .inputs = pairs_in,
     .outputs = pairs_out,
     .params = weight},
    {.name = "fold_pairs.grad",
     .family = "exact",
     .equation = "gx[2*i] = gy[i], gx[2*i + 1] = weight*gy[i]",
     .policy = "",
     .source = "",
     .input_count = 1,
     .output_count = 1,
     .param_count = 1,
     .inputs = pairs_grad_in,
     .outputs = pairs_grad_out,
     .params = weight}};
MOTE_PLUGIN_EXPORT extern const mote_op_gradient fold_pairs_gradient;
const mote_op_gradient fold_pairs_gradient = {
    .op = "fold_pairs", .gradient = "fold_pairs.grad", .from = 1, .reads = 1, .to = 1};

mote_status mote_plugin_init(mote_plugin* plugin) {
  static const mote_kernel kernels[] = {KERNEL("fold_pairs", fold_pairs, plain),
                                        KERNEL("fold_pairs.grad", fold_pairs_grad, plain)};
  static const mote_backend backend = {.size = sizeof(mote_backend),
                                       .name = "pairs",
                                       .version = "1",
                                       .kernel_count = 2,
                                       .kernels = kernels};
  plugin->abi_version = MOTE_ABI_VERSION;
  plugin->backend_count = 1;
  plugin->backends = &backend;
  return MOTE_OK;
}
