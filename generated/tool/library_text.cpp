// SPDX-License-Identifier: Apache-2.0
// Writes a library's table and its plug-in as C.
#include "library_text.h"

#include <fmt/format.h>

#include "mote/base/variant_names.h"
#include "mote/codegen/generated_by.h"

namespace mote {

std::string library_header_text(const std::string& library) {
  return generated_head("The kernels of " + library + ", for mote::register_library()") +
         fmt::format(
             "#ifndef {0}_H\n#define {0}_H\n\n#include <mote/base/registry.h>\n\n"
             "#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n"
             "extern const mote_kernel_library {0};\n\n"
             "#ifdef __cplusplus\n}}\n#endif\n#endif\n",
             library);
}

std::string library_text(const std::string& library, std::size_t kernels, std::size_t ops,
                         std::size_t gradients) {
  return generated_head("The kernels of " + library + " and its ops") +
         fmt::format(
             "#include \"{0}.h\"\n\n"
             "extern const mote_generated_kernel {0}_generated_kernels[];\n"
             "extern const mote_op_definition {0}_ops[];\n"
             "extern const mote_op_gradient {0}_op_gradients[];\n\n"
             "const mote_kernel_library {0} = {{\n"
             "    \"{0}\", {0}_generated_kernels, {1}, {2}, {0}_ops, {0}_op_gradients, {3}}};\n",
             library, kernels, ops, gradients);
}

std::string plugin_text(const std::string& library, std::size_t kernels) {
  return generated_head("The gen kernels of " + library + " as a backend") +
         fmt::format(
             "#include <string.h>\n\n#include \"{0}.h\"\n\n"
             "static mote_kernel kernels[{1}];\n"
             "static mote_backend backend = {{sizeof(mote_backend), \"{0}\", \"\", 0, 0, "
             "kernels}};\n\n"
             "MOTE_PLUGIN_EXPORT mote_status mote_plugin_init(mote_plugin *plugin);\n"
             "mote_status mote_plugin_init(mote_plugin *plugin) {{\n"
             "  backend.kernel_count = 0;\n"
             "  for (int32_t k = 0; k < {0}.kernel_count; ++k)\n"
             "    if (strcmp({0}.kernels[k].variant, \"{2}\") == 0)\n"
             "      kernels[backend.kernel_count++] = {0}.kernels[k].kernel;\n"
             "  plugin->abi_version = MOTE_ABI_VERSION;\n"
             "  plugin->backend_count = 1;\n"
             "  plugin->backends = &backend;\n"
             "  return MOTE_OK;\n"
             "}}\n",
             library, kernels, kGen);
}

}  // namespace mote
