// SPDX-License-Identifier: Apache-2.0
// The backends of the process: writers take turns, readers see the latest list. Neither libraries
// nor lists are ever freed, since a kernel may be running.
#include "mote/runtime/plugins.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <mutex>

#include "mote/base/plugin.h"
#include "mote/base/plugin_search.h"
#include "mote/runtime/device.h"
#include "mote/runtime/status.h"

namespace mote {
namespace {

using List = std::vector<const mote_backend*>;

/// The list that readers see.
struct Offered {
  List backends;
  std::vector<const mote_device*> devices;

  bool has(DLDevice device) const {
    return std::ranges::any_of(devices, [&](const mote_device* d) {
      return d->device.device_type == device.device_type && d->device.device_id == device.device_id;
    });
  }
};

struct Loaded {
  std::mutex mutex;
  std::vector<Plugin> plugins;
  std::deque<Offered> lists{{}};
  std::atomic<const Offered*> latest{&lists.back()};

  const Plugin* find(const std::string& path) const {
    const auto at = std::ranges::find_if(
        plugins, [&](const Plugin& plugin) { return is_same_file(plugin.path, path); });
    return at == plugins.end() ? nullptr : &*at;
  }

  void check_names(const Plugin& arriving) const {
    for (const Plugin& plugin : plugins)
      for (const mote_backend* have : plugin.backends)
        for (const mote_backend* backend : arriving.backends)
          if (std::strcmp(have->name, backend->name) == 0)
            throw Error("plug-in " + arriving.path + ": there is a backend " + backend->name +
                        " already, that of " + plugin.path);
  }

  List add(const std::string& path, Probe probe) {
    const std::lock_guard lock(mutex);
    if (const Plugin* plugin = find(path)) return plugin->backends;
    if (probe == Probe::child) probe_plugin(path);
    Plugin plugin = load_plugin(path);
    check_names(plugin);
    List added = plugin.backends;
    Offered all = lists.back();
    all.backends.insert(all.backends.end(), plugin.backends.begin(), plugin.backends.end());
    for (const mote_device* device : devices_of(plugin))
      if (!all.has(device->device)) all.devices.push_back(device);
    plugins.reserve(plugins.size() + 1);
    lists.push_back(std::move(all));  // nothing fails from here on
    plugins.push_back(std::move(plugin));
    latest.store(&lists.back(), std::memory_order_release);
    return added;
  }
};

Loaded& loaded() {
  static Loaded& one = *new Loaded;
  return one;
}

}  // namespace

std::vector<const mote_backend*> load_backends(const std::string& path, Probe probe) {
  try {
    return loaded().add(path, probe);
  } catch (const Error& error) {
    throw StatusError(MOTE_FAILED, error.what());
  }
}

std::vector<std::string> load_found_backends(Probe probe) {
  std::vector<std::string> problems;
  for (const PluginLocation& location : plugin_locations())
    for (const std::string& path : plugins_at(location.path)) try {
        loaded().add(path, probe);
      } catch (const Error& error) {
        problems.emplace_back(error.what());
      }
  return problems;
}

std::span<const mote_backend* const> loaded_backends() {
  return loaded().latest.load(std::memory_order_acquire)->backends;
}

std::vector<const mote_device*> loaded_devices() {
  return loaded().latest.load(std::memory_order_acquire)->devices;
}

}  // namespace mote
