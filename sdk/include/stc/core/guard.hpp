/// \file
/// The one place where exceptions become stc_errors. Every slot of the C++ layer runs inside a
/// guard.
#pragma once

#include <exception>
#include <ios>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "stc/abi/host.h"
#include "stc/core/fault.hpp"

namespace stc::detail {

/// Turns the exception in flight into an error when it knows its type, else returns null. Called
/// inside a catch block; may rethrow the exception in flight to look at it, and nothing else may
/// leave it.
using Translator = stc_error* (*)(const stc_host& host);

/// Set by layers that know further exception types (stc/exact: c10::Error). Asked before the
/// standard ones.
inline Translator translator = nullptr;

/// An error of another plugin on its way out, as it is: code, message and key stay.
struct PassedError {
  stc_error* error;
};

inline stc_error* new_error(const stc_host& host, int32_t code, const char* message) noexcept {
  return host.error_new(host.ctx, code, message);
}

/// The exception in flight, as an error of the host. Call inside a catch block.
inline stc_error* current_error(const stc_host& host) noexcept {
  try {
    if (translator != nullptr) {
      if (stc_error* error = translator(host)) {
        return error;
      }
    }
    throw;
  } catch (const PassedError& passed) {
    return passed.error;
  } catch (const Fault& fault) {
    if (fault.code() == STC_ERROR_INVALID_CONFIG && !fault.key().empty()) {
      return host.error_new_config(host.ctx, fault.key().c_str(), fault.what());
    }
    return new_error(host, fault.code() > 0 ? fault.code() : STC_ERROR_INTERNAL, fault.what());
  } catch (const std::bad_alloc&) {
    return new_error(host, STC_ERROR_OUT_OF_MEMORY, "out of memory");
  } catch (const std::ios_base::failure& failure) {
    return new_error(host, STC_ERROR_IO, failure.what());
  } catch (const std::system_error& error) {
    return new_error(host, STC_ERROR_IO, error.what());
  } catch (const std::invalid_argument& error) {
    return new_error(host, STC_ERROR_INVALID_ARGUMENT, error.what());
  } catch (const std::exception& error) {
    return new_error(host, STC_ERROR_INTERNAL, error.what());
  } catch (...) {
    return new_error(host, STC_ERROR_INTERNAL, "threw something that is not a std::exception");
  }
}

/// Runs fn; null, or what it threw.
template <class Fn>
stc_error* guarded(const stc_host& host, Fn&& fn) noexcept {
  try {
    std::forward<Fn>(fn)();
    return nullptr;
  } catch (...) {
    return current_error(host);
  }
}

/// For slots that cannot report: logs what fn threw.
template <class Fn>
void guarded_void(const stc_host& host, const char* slot, Fn&& fn) noexcept {
  stc_error* error = guarded(host, std::forward<Fn>(fn));
  if (error == nullptr) {
    return;
  }
  try {
    const std::string line = std::string(slot) + ": " + host.error_message(host.ctx, error);
    host.log(host.ctx, STC_LOG_ERROR, line.c_str());
  } catch (...) {
    host.log(host.ctx, STC_LOG_ERROR, slot);
  }
  host.error_free(host.ctx, error);
}

/// For slots that return a number: logs what fn threw and returns `otherwise`.
template <class T, class Fn>
T guarded_value(const stc_host& host, const char* slot, T otherwise, Fn&& fn) noexcept {
  T result = otherwise;
  guarded_void(host, slot, [&] { result = static_cast<T>(std::forward<Fn>(fn)()); });
  return result;
}

}  // namespace stc::detail
