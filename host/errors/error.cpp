#include "host/errors/error.hpp"

#include <utility>

namespace stc::host {

std::string Location::str() const {
  if (line <= 0) return file;
  std::string text = file + ":" + std::to_string(line);
  if (column > 0) text += ":" + std::to_string(column);
  return text;
}

Error::Error(const std::string& message, std::string hint, Location at)
    : std::runtime_error(message), hint_(std::move(hint)), at_(std::move(at)) {}

std::string Error::render() const {
  std::string text = "error: " + std::string(what()) + "\n";
  if (at_.known()) text += "  at " + at_.str() + "\n";
  if (!hint_.empty()) text += "  hint: " + hint_ + "\n";
  return text;
}

}  // namespace stc::host
