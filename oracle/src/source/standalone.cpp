// SPDX-License-Identifier: Apache-2.0
// Prints the C file: headers, data in the case's layouts, the allowed values, and a main() that
// calls.
#include "mote/oracle/standalone.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "judge/bounds.h"
#include "judge/reference.h"
#include "mote/base/error.h"
#include "mote/base/plugin.h"
#include "mote/codegen/generated_by.h"
#include "mote/oracle/exactness.h"
#include "mote/uops/element.h"
#include "run/buffer.h"
#include "run/prepared_state.h"
#include "source/embedded_headers.h"

namespace mote {
namespace {

constexpr const char* kMain = R"(
enum { kGuard = 64 };

static long double element(const DLTensor* t, int64_t at) {
  const char* data = (const char*)t->data + (at * t->dtype.bits) / 8;
  if (t->dtype.code == kDLFloat && t->dtype.bits == 64) return *(const double*)data;
  if (t->dtype.code == kDLFloat && t->dtype.bits == 32) return *(const float*)data;
  if (t->dtype.code == kDLBfloat || t->dtype.code == kDLFloat) {
    const uint16_t half = *(const uint16_t*)data;
    const int mantissa = t->dtype.code == kDLBfloat ? 7 : 10;
    const int exponents = (1 << (15 - mantissa)) - 1;
    const int exponent = half >> mantissa & exponents;
    const long double fraction = half & ((1 << mantissa) - 1);
    const long double sign = half >> 15 ? -1 : 1;
    if (exponent == exponents) return fraction != 0 ? NAN : sign * INFINITY;
    const int bias = exponents / 2 + mantissa;
    if (exponent == 0) return sign * ldexpl(fraction, 1 - bias);
    return sign * ldexpl(fraction + (1 << mantissa), exponent - bias);
  }
  if (t->dtype.code == kDLInt && t->dtype.bits == 64) return *(const int64_t*)data;
  if (t->dtype.code == kDLInt && t->dtype.bits == 32) return *(const int32_t*)data;
  if (t->dtype.code == kDLInt) return *(const int8_t*)data;
  return *(const uint8_t*)data;
}

/* printf would show the sign of a NaN, which says nothing. */
static long double shown(long double x) {
  return isnan(x) ? fabsl(x) : x;
}

/* Elements that lie outside of what is allowed; where least > most, anything is. */
static int wrong(const char* name, const DLTensor* t, const long double* least,
                 const long double* most) {
  int count = 0;
  int64_t elements = 1;
  for (int axis = 0; axis < t->ndim; ++axis) elements *= t->shape[axis];
  for (int64_t k = 0; k < elements; ++k) {
    int64_t at = 0;
    int64_t rest = k;
    for (int axis = t->ndim - 1; axis >= 0; --axis) {
      at += rest % t->shape[axis] * t->strides[axis];
      rest /= t->shape[axis];
    }
    const long double got = element(t, at);
    if (least[k] > most[k] || (got >= least[k] && got <= most[k])) continue;
    if (isnan(got) && isnan(least[k])) continue;
    if (++count <= 8)
      printf("%s element %lld: expected %.17Lg to %.17Lg, got %.17Lg\n", name, (long long)k,
             shown(least[k]), shown(most[k]), shown(got));
  }
  return count;
}

static int changed(const char* name, const void* now, const void* before, size_t bytes) {
  if (memcmp(now, before, bytes) == 0) return 0;
  printf("%s: memory that is not the kernel's to write has changed\n", name);
  return 1;
}

static const mote_kernel* find_kernel(const char* path) {
  void* library = dlopen(path, RTLD_NOW);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return NULL;
  }
  mote_plugin_init_fn init;
  *(void**)&init = dlsym(library, "mote_plugin_init");
  static mote_plugin plugin = {.size = sizeof plugin, .abi_version = MOTE_ABI_VERSION};
  if (init == NULL || init(&plugin) != MOTE_OK) return NULL;
  for (int b = 0; b < plugin.backend_count; ++b) {
    const mote_backend* backend = &plugin.backends[b];
    if (strcmp(backend->name, kBackend) != 0) continue;
    for (int k = 0; k < backend->kernel_count; ++k)
      if (strcmp(backend->kernels[k].op, kOp) == 0 &&
          backend->kernels[k].can_run(&call) == MOTE_OK)
        return &backend->kernels[k];
  }
  return NULL;
}
)";

/// A literal of the element type; f16 and bf16 are written as their bits.
std::string literal(const Dense& x, std::int64_t at) {
  if (is_narrow(x.dtype()))
    return fmt::format("0x{:x}", static_cast<const std::uint16_t*>(x.data())[at]);
  const Number n = x.at(at);
  if (!n.is_real()) return n.integer() == INT64_MIN ? "INT64_MIN" : fmt::format("{}", n.integer());
  const double v = n.real();
  if (std::isnan(v)) return "NAN";
  if (std::isinf(v)) return v > 0 ? "INFINITY" : "-INFINITY";
  return fmt::format("{:a}{}", v, x.dtype() == DType::f32 ? "F" : "");
}

std::string long_literal(const Number& n) {
  if (!n.is_real())
    return n.integer() == INT64_MIN ? "INT64_MIN" : fmt::format("{}LL", n.integer());
  const double v = n.real();
  if (std::isnan(v)) return "NAN";
  if (std::isinf(v)) return v > 0 ? "INFINITY" : "-INFINITY";
  return fmt::format("{:a}L", v);
}

/// The value in gaps and in outputs before the call.
std::string poison(DType dtype) {
  if (is_narrow(dtype)) {
    std::uint16_t bits = 0;
    store_element(&bits, dtype, 0, std::numeric_limits<double>::quiet_NaN());
    return fmt::format("0x{:x}", bits);
  }
  return is_real(dtype) ? "NAN" : "77";
}

/// An array of the tensor's memory with guards, and its DLTensor.
std::string tensor_text(const CaseTensor& t, DLTensor dl, const Dense* values) {
  const Placement placed = place(t.shape, t.layout);
  std::vector<std::string> memory(static_cast<std::size_t>(placed.span) + 2 * kGuardElements,
                                  poison(t.dtype));
  if (values != nullptr)
    for_each_element(t.shape, placed.strides, [&](std::int64_t linear, std::int64_t at) {
      memory[static_cast<std::size_t>(kGuardElements + placed.offset + at)] =
          literal(*values, linear);
    });
  std::string text = fmt::format("static {} {}_memory[] = {{", info(t.dtype).c_type, t.name);
  for (std::size_t k = 0; k < memory.size(); ++k)
    text += (k % 8 == 0 ? "\n    " : " ") + memory[k] + ",";
  text += "\n};\n";
  const auto list = [](const std::vector<std::int64_t>& v) {
    return v.empty() ? std::string("1") : fmt::format("{}", fmt::join(v, ", "));
  };
  text += fmt::format(
      "static int64_t {0}_shape[] = {{{1}}};\nstatic int64_t {0}_strides[] = {{{2}}};\n", t.name,
      list(t.shape), list(placed.strides));
  text += fmt::format(
      "static DLTensor {0} = {{.data = {0}_memory + {1},\n    .device = {{kDLCPU, 0}}, .ndim = "
      "{2}, "
      ".dtype = {{{3}, {4}, 1}},\n    .shape = {0}_shape, .strides = {0}_strides}};\n\n",
      t.name, kGuardElements + placed.offset, t.shape.size(), int{dl.dtype.code},
      int{dl.dtype.bits});
  return text;
}

std::string numbers_text(const std::string& name, const std::vector<std::string>& numbers) {
  std::string text = fmt::format("static const long double {}[] = {{", name);
  for (std::size_t k = 0; k < numbers.size(); ++k)
    text += (k % 6 == 0 ? "\n    " : " ") + numbers[k] + ",";
  return text + (numbers.empty() ? "0};\n" : "\n};\n");
}

/// The allowed interval of each element of an output.
std::string allowed_text(const CaseTensor& t, const Dense& expected, const Interval& bounds) {
  std::vector<std::string> least, most;
  for (std::int64_t at = 0; at < expected.count(); ++at) {
    Number low = expected.at(at);
    Number high = low;
    if (!bounds.certain()) {
      low = store_as(bounds.ends[0].at(at), t.dtype);
      high = store_as(bounds.ends[1].at(at), t.dtype);
    }
    const bool anything = !bounds.certain() && is_indeterminate(bounds, at, t.dtype);
    least.push_back(anything ? "INFINITY" : long_literal(low));
    most.push_back(anything ? "-INFINITY" : long_literal(high));
  }
  return numbers_text(t.name + "_least", least) + numbers_text(t.name + "_most", most) + "\n";
}

std::string headers_text() {
  std::string kernel, dlpack;
  for (const EmbeddedHeader& h : kEmbeddedHeaders) {
    if (std::string_view(h.path) == "mote/base/kernel.h") kernel = h.text;
    if (std::string_view(h.path) == "dlpack/dlpack.h") dlpack = h.text;
  }
  const std::string include = "#include <dlpack/dlpack.h>";
  const std::size_t at = kernel.find(include);
  if (at != std::string::npos) kernel.erase(at, include.size());
  return "#include <dlfcn.h>\n#include <math.h>\n#include <stdint.h>\n#include <stdio.h>\n"
         "#include <stdlib.h>\n#include <string.h>\n\n" +
         dlpack + "\n" + kernel + "\n";
}

std::string call_text(const Case& c) {
  std::vector<std::string> inputs(c.target->inputs().size(), "NULL"), outputs;
  for (const CaseTensor& t : c.inputs)
    inputs[static_cast<std::size_t>(c.target->input_position(t.name))] = "&" + t.name;
  for (const CaseTensor& t : c.outputs) outputs.push_back(t.left_out ? "NULL" : "&" + t.name);
  std::string params;
  for (const ParamDecl& p : c.program->params) {
    const Number& n = c.params.at(p.name);
    params += n.is_real() ? fmt::format("    {{\"{}\", 1, 0, {:a}}},\n", p.name, n.real())
                          : fmt::format("    {{\"{}\", 0, {}, 0}},\n", p.name, n.integer());
  }
  if (params.empty()) params = "    {\"\", 0, 0, 0},\n";
  return fmt::format(
      "static const DLTensor* const inputs[] = {{{}}};\nstatic DLTensor* const outputs[] = "
      "{{{}}};\n"
      "static const mote_param params[] = {{\n{}}};\nstatic char message[1024];\n"
      "static mote_call call = {{.size = sizeof(mote_call), .op = kOp, .input_count = {},\n"
      "    .output_count = {}, .param_count = {}, .inputs = inputs, .outputs = outputs,\n"
      "    .params = params, .message = message, .message_bytes = sizeof message}};\n",
      fmt::join(inputs, ", "), fmt::join(outputs, ", "), params, inputs.size(), outputs.size(),
      c.program->params.size());
}

std::string main_text(const Case& c) {
  std::string before, after;
  for (const CaseTensor& t : c.inputs) {
    const auto takes_it = [&](const CaseTensor& y) { return y.in_place == t.name; };
    if (std::ranges::any_of(c.outputs, takes_it)) continue;
    before += fmt::format(
        "  static char {0}_before[sizeof {0}_memory];\n"
        "  memcpy({0}_before, {0}_memory, sizeof {0}_memory);\n",
        t.name);
    after += fmt::format(
        "  failures += changed(\"{0}\", {0}_memory, {0}_before, sizeof {0}_memory);\n", t.name);
  }
  for (const CaseTensor& t : c.outputs) {
    if (t.left_out) continue;
    if (shared_input(c, t)) {
      after += fmt::format("  failures += wrong(\"{0}\", &{0}, {0}_least, {0}_most);\n", t.name);
      continue;
    }
    before += fmt::format(
        "  static char {0}_before[sizeof {0}_memory];\n"
        "  memcpy({0}_before, {0}_memory, sizeof {0}_memory);\n",
        t.name);
    const std::int64_t span = place(t.shape, t.layout).span;
    after += fmt::format("  failures += wrong(\"{0}\", &{0}, {0}_least, {0}_most);\n", t.name);
    after += fmt::format(
        "  failures += changed(\"before {0}\", {0}_memory, {0}_before, kGuard * sizeof "
        "*{0}_memory);\n"
        "  failures += changed(\"after {0}\", {0}_memory + {1}, {0}_before + {1} * sizeof "
        "*{0}_memory,\n                      kGuard * sizeof *{0}_memory);\n",
        t.name, kGuardElements + span);
  }
  return fmt::format(
      "\nint main(int argc, char** argv) {{\n"
      "  const char* path = argc > 1 ? argv[1] : kPlugin;\n"
      "  const mote_kernel* kernel = find_kernel(path);\n"
      "  if (kernel == NULL) {{\n"
      "    fprintf(stderr, \"%s: no kernel of %s takes this call: %s\\n\", path, kBackend, "
      "message);\n"
      "    return 2;\n  }}\n{}"
      "  if (kernel->workspace_bytes != NULL) call.workspace_bytes = "
      "kernel->workspace_bytes(&call);\n"
      "  if (call.workspace_bytes > 0) {{\n"
      "    call.workspace = aligned_alloc(64, (call.workspace_bytes + 63) / 64 * 64);\n"
      "    memset(call.workspace, 0xa5, call.workspace_bytes);\n  }}\n"
      "  const mote_status status = kernel->run(&call, NULL);\n"
      "  int failures = 0;\n"
      "  if (status != MOTE_OK) {{\n"
      "    printf(\"run returned status %d: %s\\n\", (int)status, message);\n    ++failures;\n  "
      "}}\n"
      "{}  puts(failures > 0 ? \"wrong\" : \"right\");\n  return failures > 0;\n}}\n",
      before, after);
}

}  // namespace

std::string standalone_c(const Case& c, const mote_backend& backend) {
  std::int64_t elements = 0;
  for (const auto* tensors : {&c.inputs, &c.outputs})
    for (const CaseTensor& t : *tensors) elements += place(t.shape, t.layout).span;
  if (elements > kMaxStandalone)
    throw Error(fmt::format("{}: a C file of {} elements, expected at most {}: shrink the case",
                            c.target->op(), elements, kMaxStandalone));
  const mote_contract* contract = nullptr;
  for (std::int32_t k = 0; k < backend.kernel_count; ++k)
    if (kernel_at(backend, k).op == c.target->op()) contract = kernel_at(backend, k).contract;
  std::vector<Dense> inputs = filled_inputs(c, judge(*c.program, c.binding, c.fill.kind).radius);
  std::vector<Dense> expected;
  for (const CaseTensor& t : c.outputs) expected.emplace_back(t.dtype, volume(t.shape));
  std::string text = fmt::format(
      "/* A case of mote, to be compiled alone: cc THIS.c -ldl -lm && ./a.out PLUGIN.so\n * {}\n"
      " * {}.\n */\n",
      to_string(c), kGeneratedByMote);
  text += headers_text();
  text += fmt::format(
      "#define kOp \"{}\"\nstatic const char kBackend[] = \"{}\";\n"
      "static const char kPlugin[] = \"{}\";\n\n",
      c.target->op(), backend.name, c.plugin);
  for (std::size_t k = 0; k < c.inputs.size(); ++k) {
    Buffer buffer(c.inputs[k], Role::input);
    text += tensor_text(c.inputs[k], *buffer.tensor(), &inputs[k]);
  }
  reference_for(c)->run(c, inputs, expected);
  const std::vector<Interval> bounds = BoundOf::make(c, contract)->compute(c, inputs);
  for (std::size_t k = 0; k < c.outputs.size(); ++k) {
    if (c.outputs[k].left_out) continue;
    Buffer buffer(c.outputs[k], Role::output);
    if (const auto shared = shared_input(c, c.outputs[k]))
      text += fmt::format("#define {} {} /* the same memory */\n", c.outputs[k].name,
                          c.inputs[*shared].name);
    else
      text += tensor_text(c.outputs[k], *buffer.tensor(), nullptr);
    text += allowed_text(c.outputs[k], expected[k], bounds[k]);
  }
  return text + call_text(c) + kMain + main_text(c);
}

}  // namespace mote
