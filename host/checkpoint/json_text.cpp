#include "host/checkpoint/json_text.hpp"

#include <limits>
#include <unordered_set>

#include "host/errors/error.hpp"

namespace stc::host {
namespace {

constexpr size_t kMostKeys = 100'000;

template <class Json>
Json parse(const std::string& subject, std::string_view text, int max_depth, size_t most_keys,
           std::vector<std::string>* order) {
  using Event = typename Json::parse_event_t;
  // The parser would take a NUL for the end of its input and ignore what follows.
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    throw CheckpointError(subject + ": not JSON, at byte " + std::to_string(nul + 1));
  }
  std::vector<std::unordered_set<std::string>> open_objects;
  const typename Json::parser_callback_t watch = [&](int depth, Event event, Json& parsed) {
    if ((event == Event::object_start || event == Event::array_start) && depth >= max_depth) {
      throw CheckpointError(subject + ": nested deeper than " + std::to_string(max_depth));
    }
    if (event == Event::object_start) open_objects.emplace_back();
    if (event == Event::object_end) open_objects.pop_back();
    if (event == Event::key) {
      const auto& key = parsed.template get_ref<const std::string&>();
      if (!open_objects.back().insert(key).second) {
        throw CheckpointError(subject + ": key " + key + " twice");
      }
      if (open_objects.back().size() > most_keys) {
        throw CheckpointError(subject + ": more than " + std::to_string(most_keys) + " keys");
      }
      if (order != nullptr && open_objects.size() == 1) order->push_back(key);
    }
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), watch);
  } catch (const typename Json::parse_error& error) {
    throw CheckpointError(subject + ": not JSON, at byte " + std::to_string(error.byte));
  } catch (const typename Json::out_of_range&) {
    throw CheckpointError(subject + ": not JSON, a number is out of range");
  }
}

}  // namespace

nlohmann::ordered_json parse_json_strictly(const std::string& subject, std::string_view text, int max_depth) {
  return parse<nlohmann::ordered_json>(subject, text, max_depth, kMostKeys, nullptr);
}

nlohmann::json parse_json_index(const std::string& subject, std::string_view text, int max_depth,
                                std::vector<std::string>& order) {
  return parse<nlohmann::json>(subject, text, max_depth, std::numeric_limits<size_t>::max(), &order);
}

}  // namespace stc::host
