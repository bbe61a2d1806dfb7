#include "host/config/secrets.hpp"

#include <algorithm>

#include "host/config/keys.hpp"
#include "host/config/nearest.hpp"

namespace stc::host {
namespace {

constexpr const char* kRedacted = "<redacted>";
constexpr size_t kSlips = 2;  // letters by which a mistyped key may differ

bool is_secret(const HostKey& key) { return (key.param.flags & STC_PARAM_SECRET) != 0; }

bool is_distributed(std::string_view section) {
  return section == "distributed" || section == "hub" || section == "diloco";
}

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool resembles_a_key(std::string_view word) {
  const auto& keys = host_keys();
  return std::any_of(keys.begin(), keys.end(), [word](const HostKey& key) {
    return key.section == "distributed" && edit_distance(word, key.param.name) <= kSlips;
  });
}

}  // namespace

bool may_hold_secret(std::string_view path) {
  const std::string_view section = path.substr(0, path.find_first_of(".["));
  const std::string_view rest = path.substr(std::min(path.size(), section.size() + 1));
  if (is_distributed(section)) {
    const HostKey* key = find_host_key("distributed", rest.substr(0, rest.find_first_of(".[")));
    return key == nullptr || is_secret(*key);
  }
  if (path.starts_with("logging.sinks[") && path.find("].") != std::string_view::npos) return true;
  const std::string_view name = path.substr(path.find_last_of('.') + 1);
  const auto& keys = host_keys();
  return std::any_of(keys.begin(), keys.end(), [name](const HostKey& key) {
    return is_secret(key) && key.param.name == name.substr(0, name.find('['));
  });
}

std::string show_at(std::string_view path, const Node& node) { return may_hold_secret(path) ? kRedacted : show(node); }

std::string shown_key(std::string_view section, std::string_view key, bool has_value) {
  if (!is_distributed(section)) return std::string(key);
  const auto end = std::find_if_not(key.begin(), key.end(), is_word_character);
  const std::string word(key.begin(), end);
  const bool whole = end == key.end();
  if (whole && has_value) return word;
  if (!resembles_a_key(word)) return kRedacted;
  return whole ? word : word + *end + kRedacted;
}

}  // namespace stc::host
