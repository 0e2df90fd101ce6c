// SPDX-License-Identifier: Apache-2.0
// The backends that there are: gen, which is linked in, libraries where mote/base/plugin_search.h
// looks for them, and those named on the command line.
// Each library is loaded in a child process first, so that one that crashes does not take the tool
// along; or only in the workers of an Isolation.
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

/// A program file, and the dtypes that its kernels are to be of.
struct ProgramKernels {
  std::shared_ptr<const Target> target;
  std::vector<DType> dtypes;
};

struct BackendEntry {
  const mote_backend* backend = nullptr;
  std::string plugin;  ///< the path, for a library that was named; empty for one that was found
  std::string path;    ///< of the library, or "built in"
  /// The program file whose kernels alone these are; empty: of any op.
  std::string program = {};
  std::string name() const { return backend->name; }
};

struct Backends {
  std::vector<Plugin> libraries;  ///< keeps what `all` points to loaded
  std::vector<BackendEntry> all;  ///< named libraries first
  std::vector<std::string>
      problems;  ///< libraries that were found but could not be loaded, and why
};

/// A named file that ends in .cu is compiled first, and its kernels run on the CPU: docs/cuda.md.
/// Throws Error when a named library cannot be loaded or crashes while it is, when one has a
/// contract that says nothing anybody knows, when a .cu file
/// cannot be compiled, and when two backends have the same name; the same library named or found
/// twice is one. With an isolation no library is loaded in this process, and the backends run in
/// its workers only.
Backends find_backends(const std::vector<std::string>& named_libraries,
                       Isolation* isolation = nullptr);

struct Selection {
  std::vector<BackendEntry> chosen;
  std::vector<std::string> absent;  ///< requested, known to mote, not on this machine
};
/// By name. Without names: those of the named libraries, or all if there are none. Throws Error
/// that lists what is known for a name that mote has never heard of.
Selection select_backends(const Backends& backends, const std::vector<std::string>& names);

/// Names that a machine may lack without the request being a mistake.
std::span<const std::string_view> known_backends();

/// Throws Error that lists what is known, for a name that mote has never heard of.
void require_backend_name(const Backends& backends, const std::string& name);
/// The plug-in of a known backend that lies beside the folder of plug-ins and is loaded where it is
/// named only; empty where there is none.
std::string plugin_to_name(std::string_view backend);
/// Why a backend of a name that mote knows cannot be used: "backend gen is not on this machine: …".
std::string absence(const Backends& backends, const std::string& name);

/// The backend gen of program files: their fast kernels, compiled now, each file's an entry of its
/// own. What cannot be compiled is among the problems, and why.
void add_program_kernels(Backends& backends, const std::vector<ProgramKernels>& files,
                         Isolation* isolation = nullptr);
/// Whether the selection asks for such: gen by name, or everything, and no library named.
bool wants_program_kernels(const Backends& backends, const std::vector<std::string>& names);

bool has_kernel(const mote_backend& backend, std::string_view op);
/// Kernels of the catalogue are none of a program file, whatever that calls its op, unless a
/// library was named.
bool has_kernel(const BackendEntry& entry, const Target& target);
/// Where the running program lies, and files installed beside it.
std::string executable_folder();

}  // namespace mote
