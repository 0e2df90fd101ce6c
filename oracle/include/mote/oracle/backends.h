// SPDX-License-Identifier: Apache-2.0
// The available backends: gen, which is linked in, the libraries that mote/base/plugin_search.h
// finds, and the libraries named on the command line.
// Each library is loaded in a child process first, so that one that crashes does not end the tool;
// with an Isolation it is loaded in the workers only.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mote/base/dtype.h"
#include "mote/base/export.h"
#include "mote/base/plugin.h"

namespace MOTE_API mote {

class Isolation;
class Target;

/// A program file, and the dtypes for which its kernels are compiled.
struct ProgramKernels {
  std::shared_ptr<const Target> target;
  std::vector<DType> dtypes;
};

struct BackendEntry {
  const mote_backend* backend = nullptr;
  std::string plugin;  ///< the path of a named library; empty for a library that was found
  std::string path;    ///< the path of the library, or "built in"
  /// The only program file that these kernels serve; empty if they serve ops.
  std::string program = {};
  std::string name() const { return backend->name; }
};

struct Backends {
  std::vector<Plugin> libraries;      ///< keeps loaded what `all` points to
  std::vector<BackendEntry> all;      ///< named libraries first
  std::vector<std::string> problems;  ///< found libraries that could not be loaded, and why
};

/// A named file that ends in .cu is compiled first, and its kernels run on the CPU: docs/cuda.md.
/// Throws Error when a named library cannot be loaded or crashes on loading, when one has an
/// invalid contract (check_contracts()), when a .cu file cannot be compiled, and when two backends
/// have the same name. The same library named or found twice counts once. With an isolation no
/// library is loaded in this process, and the backends run in its workers only.
Backends find_backends(const std::vector<std::string>& named_libraries,
                       Isolation* isolation = nullptr);

/// Tells libraries that make kernels at run time, as cuda_host does, which of the targets are
/// program files, by $MOTE_PROGRAMS. It must be called before they are loaded. Throws Error as
/// find_target() does.
void offer_program_files(std::span<const std::string> targets);

struct Selection {
  std::vector<BackendEntry> chosen;
  std::vector<std::string> absent;  ///< requested, known to mote, not on this machine
};
/// Selects backends by name. Without names it selects those of the named libraries, or all if there
/// are none. Throws Error that lists the known names for a name that mote does not know.
Selection select_backends(const Backends& backends, const std::vector<std::string>& names);

/// The names that a machine may lack without the request being a mistake.
std::span<const std::string_view> known_backends();

/// Throws Error that lists the known names for a name that mote does not know.
void require_backend_name(const Backends& backends, const std::string& name);
/// The path of a known backend's plug-in that lies next to the folder of plug-ins and is loaded
/// only when it is named; empty if there is none.
std::string plugin_to_name(std::string_view backend);
/// Says why a backend of a known name cannot be used: "backend gen is not on this machine: …".
std::string absence(const Backends& backends, const std::string& name);

/// Compiles the gen kernels of program files and adds them as entries of the backend gen, one
/// entry a file. A file that cannot be compiled is added to the problems, with the reason.
void add_program_kernels(Backends& backends, const std::vector<ProgramKernels>& files,
                         Isolation* isolation = nullptr);
/// True if the selection asks for these kernels: gen by name, or everything and no library named.
bool wants_program_kernels(const Backends& backends, const std::vector<std::string>& names);

bool has_kernel(const mote_backend& backend, std::string_view op);
/// Kernels of the catalogue do not serve a program file, whatever it calls its op, unless a library
/// was named.
bool has_kernel(const BackendEntry& entry, const Target& target);
/// The folder of the running program, and of files installed next to it.
std::string executable_folder();
/// Makes that another folder, for a program that is not the tool, such as an interpreter.
void set_executable_folder(const std::string& path);

}  // namespace mote
