// SPDX-License-Identifier: Apache-2.0
// Prints helpers: all of a table, or those that a text needs. Each target has specifiers of its
// own.
#include "c/helpers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <vector>

#include "mote/codegen/emit_c.h"

namespace mote::emit {
namespace {

std::string_view specifiers(Storage storage, Target target) {
  switch (storage) {
    case Storage::static_inline:
      return target == Target::cuda ? "MOTE_DEVICE " : "static inline ";
    case Storage::always_inline:
      return "MOTE_INLINE ";
    case Storage::called:
      return target == Target::cuda ? "MOTE_DEVICE " : "static MOTE_CALLED ";
    case Storage::cold:
      return target == Target::cuda ? "MOTE_DEVICE " : "static MOTE_COLD ";
    default:
      return "";
  }
}

std::vector<Helper> joined(std::initializer_list<std::span<const Helper>> tables) {
  std::vector<Helper> all;
  for (const auto table : tables) all.insert(all.end(), table.begin(), table.end());
  return all;
}

/// Returns the helpers of a target, each after those that it calls. CUDA has none for threads and
/// memory of the host.
const std::vector<Helper>& helpers_of(Target target) {
  static const std::vector<Helper> c =
      joined({reference_helpers(), bound_helpers(), gen_helpers(), thread_helpers(),
              memory_helpers(), pair_helpers(), transpose_helpers()});
  static const std::vector<Helper> cuda = [] {
    std::vector<Helper> all = joined({reference_helpers(), bound_helpers(), gen_helpers()});
    std::erase_if(all, [](const Helper& h) { return h.name == "mote_alloc"; });
    return all;
  }();
  return target == Target::cuda ? cuda : c;
}

/// Returns those of the helpers that have one of these names, and those that they call, each after
/// those that it calls.
std::vector<const Helper*> needed_by(const std::set<std::string>& names,
                                     std::span<const Helper> helpers) {
  std::set<std::string_view> needed(names.begin(), names.end());
  std::vector<const Helper*> found;
  for (std::size_t k = helpers.size(); k-- > 0;) {
    if (!needed.contains(helpers[k].name)) continue;
    needed.insert(helpers[k].calls.begin(), helpers[k].calls.end());
    found.push_back(&helpers[k]);
  }
  std::ranges::reverse(found);
  return found;
}

std::string prelude(std::span<const Helper> helpers) {
  std::string out;
  for (const Helper& helper : helpers) out += (out.empty() ? "" : "\n") + text_of(helper);
  return out;
}

}  // namespace

std::string text_of(const Helper& helper, Target target) {
  std::string out(helper.head);
  out += specifiers(helper.storage, target);
  out += helper.function;
  if (target != Target::cuda || !helper.is_one_instruction) return out;
  return "#if defined(MOTE_CUDA_HOST)\n" + out + "#endif\n";
}

bool is_helper(const std::string& function) {
  const std::vector<Helper>& all = helpers_of(Target::c);
  return std::ranges::find(all, function, &Helper::name) != all.end();
}

std::string helpers_text(const std::set<std::string>& names, Target target) {
  std::string out;
  for (const Helper* helper : needed_by(names, helpers_of(target)))
    out += (out.empty() ? "" : "\n") + text_of(*helper, target);
  return out;
}

}  // namespace mote::emit

namespace mote {

std::string emit_c_prelude() { return emit::prelude(emit::reference_helpers()); }

std::string emit_c_bound_prelude() { return emit::prelude(emit::bound_helpers()); }

std::string emit_c_rare_helpers(const std::set<std::string>& names) {
  const auto is_called = [&](const emit::Helper& h) { return names.contains(std::string(h.name)); };
  const auto once = [](std::string guard, const std::string& text) {
    std::ranges::transform(guard, guard.begin(), [](unsigned char c) { return std::toupper(c); });
    return fmt::format("#ifndef {0}\n#define {0}\n{1}#endif\n\n", guard, text);
  };
  std::string out;
  if (std::ranges::any_of(emit::pair_helpers(), is_called))
    out += once("MOTE_PAIR_HELPERS", emit::prelude(emit::pair_helpers()));
  for (const emit::Helper* h : emit::needed_by(names, emit::transpose_helpers()))
    out += once(std::string(h->name), emit::text_of(*h));
  return out;
}

std::string emit_c_gen_prelude() {
  return emit_c_prelude() + "\n" + emit::prelude(emit::gen_helpers()) + "\n" +
         emit::prelude(emit::thread_helpers()) + "\n" + emit::prelude(emit::memory_helpers());
}

}  // namespace mote
