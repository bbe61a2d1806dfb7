/// \file
/// JSON of files that may be damaged or hostile.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace stc::host {

/// Parses strictly: UTF-8, no comments, no key twice in an object, nothing after the value, at most
/// `max_depth` objects and arrays inside each other, at most 100,000 keys in an object (a look-up
/// is linear). `subject` opens the message. \throws CheckpointError.
nlohmann::ordered_json parse_json_strictly(const std::string& subject, std::string_view text, int max_depth);

/// The same for large objects of small entries: keys are found in logarithmic time, any number of
/// them; `order` receives the keys of the outermost object as they are written.
nlohmann::json parse_json_index(const std::string& subject, std::string_view text, int max_depth,
                                std::vector<std::string>& order);

}  // namespace stc::host
