/// \file
/// How author code fails: it throws. The guard around every slot turns the exception into an
/// stc_error.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include "stc/abi/core.h"

namespace stc {

/// An error with a code that the host acts on (STC_ERROR_CONFLICT, _UNSUPPORTED, _NOT_FOUND ...).
/// Any other exception is reported too, as STC_ERROR_INTERNAL or the nearest code. Messages:
/// "<subject>: <found>, <allowed>", lower case, no full stop.
class Fault : public std::exception {
 public:
  Fault(int32_t code, std::string message) : code_(code), message_(std::move(message)) {}

  /// A value of the configuration is wrong. `key` is the plugin's own key, without its section: the
  /// host adds section, file and line.
  static Fault config(std::string key, std::string message) {
    Fault fault(STC_ERROR_INVALID_CONFIG, std::move(message));
    fault.key_ = std::move(key);
    return fault;
  }

  const char* what() const noexcept override { return message_.c_str(); }
  int32_t code() const noexcept { return code_; }
  /// Empty unless made by config().
  const std::string& key() const noexcept { return key_; }

 private:
  int32_t code_;
  std::string message_;
  std::string key_;
};

}  // namespace stc
