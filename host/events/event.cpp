#include "host/events/event.hpp"

namespace stc::host {

Event& Event::add(std::string key, FieldValue value) {
  fields.emplace_back(std::move(key), std::move(value));
  return *this;
}

}  // namespace stc::host
