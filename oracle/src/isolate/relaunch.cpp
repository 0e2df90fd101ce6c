// SPDX-License-Identifier: Apache-2.0
// Preloads a library (LD_PRELOAD) that defines __libc_start_main, which every dynamically linked
// program calls with its main(): the call is passed on with another main.
#include "relaunch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string_view>
#include <vector>

#include "arena.h"
#include "code_address.h"
#include "mote/base/error.h"
#include "source/compiled_c.h"
#include "zygote.h"

extern char** environ;

namespace mote::isolate {
namespace {

constexpr const char* kEntry = "MOTE_RELAUNCH_ENTRY";      // offset, a blank, and the module
constexpr const char* kGiven = "MOTE_RELAUNCH_GIVEN";      // numbers
constexpr const char* kPreload = "MOTE_RELAUNCH_PRELOAD";  // the old LD_PRELOAD

constexpr const char* kHook = R"(#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int (*main_function)(int, char**, char**);
typedef int (*start_function)(main_function, int, char**, void (*)(void), void (*)(void),
                              void (*)(void), void*);

static int serve(int argc, char** argv, char** envp) {
  (void)argc, (void)argv, (void)envp;
  const char* entry = getenv("MOTE_RELAUNCH_ENTRY");
  const char* given = getenv("MOTE_RELAUNCH_GIVEN");
  const char* preload = getenv("MOTE_RELAUNCH_PRELOAD");
  char* module = NULL;
  if (entry == NULL || given == NULL) _exit(127);
  if (preload != NULL && *preload != '\0')
    setenv("LD_PRELOAD", preload, 1);
  else
    unsetenv("LD_PRELOAD");
  const uintptr_t offset = strtoull(entry, &module, 16);
  char* const at = mote_address(module + 1, offset);
  if (at == NULL) _exit(127);
  ((void (*)(const char*))(uintptr_t)at)(given);
  _exit(127);
}

int __libc_start_main(main_function program, int argc, char** argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void* stack_end);
int __libc_start_main(main_function program, int argc, char** argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void* stack_end) {
  void* const next = dlsym(RTLD_NEXT, "__libc_start_main");
  (void)program;
  if (next == NULL) _exit(127);
  return ((start_function)(uintptr_t)next)(serve, argc, argv, init, fini, rtld_fini, stack_end);
}
)";

/// True if the program refers to that symbol, so that the hook is called.
bool calls_start_main(const dl_phdr_info& program) {
  ElfW(Addr) strings = 0;
  std::size_t bytes = 0;
  for (int k = 0; k < program.dlpi_phnum; ++k) {
    const ElfW(Phdr)& header = program.dlpi_phdr[k];
    if (header.p_type != PT_DYNAMIC) continue;
    const auto* d = reinterpret_cast<const ElfW(Dyn)*>(program.dlpi_addr + header.p_vaddr);
    for (; d->d_tag != DT_NULL; ++d) {
      if (d->d_tag == DT_STRTAB) strings = d->d_un.d_ptr;
      if (d->d_tag == DT_STRSZ) bytes = d->d_un.d_val;
    }
  }
  constexpr std::string_view kName("\0__libc_start_main\0", 19);
  if (strings == 0) return false;
  if (strings < program.dlpi_addr) strings += program.dlpi_addr;  // not every loader adds it
  const std::string_view names(reinterpret_cast<const char*>(strings), bytes);
  return names.find(kName) != std::string_view::npos;
}

/// Inspects the first module, which is the program.
int look_at_program(dl_phdr_info* info, std::size_t, void* result) {
  *static_cast<bool*>(result) = calls_start_main(*info);
  return 1;
}

/// Runs in the process that was started.
[[noreturn]] void begin_again(const char* given) {
  for (const char* name : {kEntry, kGiven, kPreload}) unsetenv(name);
  const Inherited got = inheritance_in(given);
  try {
    const Arena arena(got.given.arena_file, got.given.arena_base);
    fork_on_demand(got.given.socket, got.parent, arena);
  } catch (const Error&) {  // the arena's addresses are not free: the closed socket reports it
    _exit(127);
  }
}

/// The environment without its values of the names that `ours` sets, and with `ours`.
std::vector<std::string> environment_with(const std::vector<std::string>& ours) {
  std::vector<std::string> all = ours;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view text = *at;
    const std::string_view name = text.substr(0, text.find('=') + 1);
    const auto is_ours = [&](const std::string& o) { return o.starts_with(name); };
    if (std::ranges::none_of(ours, is_ours)) all.emplace_back(text);
  }
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace

std::string to_text(const Inheritance& given) {
  return fmt::format("{} {} {} {}", given.socket, given.arena_file,
                     reinterpret_cast<std::uintptr_t>(given.arena_base), getpid());
}

Inherited inheritance_in(const std::string& text) {
  Inherited got;
  std::uintptr_t base = 0;
  std::istringstream numbers(text);
  numbers >> got.given.socket >> got.given.arena_file >> base >> got.parent;
  got.given.arena_base = reinterpret_cast<char*>(base);
  return got;
}

pid_t start_program(const char* file, std::vector<std::string> words,
                    const std::vector<std::string>& variables, const Inheritance& given) {
  std::vector<std::string> all = environment_with(variables);
  const std::vector<char*> arguments = pointers_to(words);
  const std::vector<char*> environment = pointers_to(all);
  const pid_t process = fork();
  if (process < 0) throw Error(std::string("no process can be forked: ") + std::strerror(errno));
  if (process > 0) return process;
  for (const int inherited : {given.socket, given.arena_file}) fcntl(inherited, F_SETFD, 0);
  signal(SIGINT, SIG_IGN);  // the parent decides
  execve(file, arguments.data(), environment.data());
  _exit(127);
}

Relauncher::Relauncher() {
  bool is_hooked = false;
  dl_iterate_phdr(look_at_program, &is_hooked);
  const auto entry = locate(reinterpret_cast<const void*>(&begin_again));
  if (!is_hooked || !entry || getauxval(AT_SECURE) != 0)
    throw Error("this program cannot be started once more for workers");
  hook_ = compile_library(std::string(kAddressInC) + kHook);
  if (!hook_) throw Error("there is no C compiler ($CC, or cc)");
  entry_ = fmt::format("{:x} {}", entry->offset, entry->module);
}

pid_t Relauncher::start(const Inheritance& given) const {
  const char* before = std::getenv("LD_PRELOAD");
  const std::string preload = before != nullptr ? before : "";
  return start_program(
      "/proc/self/exe", {program_invocation_name},
      {fmt::format("LD_PRELOAD={}{}{}", hook_->path, preload.empty() ? "" : ":", preload),
       fmt::format("{}={}", kPreload, preload), fmt::format("{}={}", kEntry, entry_),
       fmt::format("{}={}", kGiven, to_text(given))},
      given);
}

}  // namespace mote::isolate
