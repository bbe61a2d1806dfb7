// Keys and values that are declared now and come with a later version.

#include <algorithm>

#include "host/config/builder.hpp"

namespace stc::host {

void ConfigBuilder::check_later() {
  for (const Slot& slot : slots_) {
    if (slot.host == nullptr || !slot.given()) continue;
    const HostKey& key = *slot.host;
    bool later = false;
    if (key.later == HostKey::Later::kAllButDefault) later = slot.value != slot.fallback;
    if (key.later == HostKey::Later::kEnumeratedValues && slot.value.is_string()) {
      const std::string& word = slot.value.get_ref<const std::string&>();
      later = std::find(key.later_values.begin(), key.later_values.end(), word) != key.later_values.end();
    }
    bool ignored = slot.path() == "data.dataset" && chosen_.at("data").front().name != "tokens";
    if (!later || ignored) continue;
    std::string message = slot.path() + ": got " + slot.value.dump() + ", not in this version";
    std::string hint = "its default " + slot.fallback.dump() + " is";
    if (strict()) throw ConfigError(message, hint, slot.origin.at);
    warn(message, hint, slot.origin.at);
  }
}

}  // namespace stc::host
