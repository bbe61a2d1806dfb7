// The errors that cross the plugin boundary: allocated and freed here, on either side's behalf.

#include <new>
#include <utility>

#include "host/services/services.hpp"

struct stc_error {
  int code = 0;
  std::string message;
  std::string key;
  bool is_static = false;
};

namespace stc::host {

// "out of memory" fits into std::string's own buffer: building and copying it allocates nothing.
stc_error* out_of_memory_error() noexcept {
  static stc_error error{STC_ERROR_OUT_OF_MEMORY, "out of memory", {}, true};
  return &error;
}

stc_error* make_error(int code, const std::string& message, const std::string& key) {
  try {
    return new stc_error{code, message, key, false};
  } catch (const std::bad_alloc&) {
    return out_of_memory_error();
  }
}

void free_error(stc_error* error) {
  if (error != nullptr && !error->is_static) delete error;
}

ErrorText take_error(stc_error* error) {
  if (error == nullptr) return {};
  ErrorText text{error->code, error->message, error->key};
  free_error(error);
  return text;
}

int error_code(const stc_error* error) { return error == nullptr ? 0 : error->code; }

const char* error_message(const stc_error* error) { return error == nullptr ? "" : error->message.c_str(); }

const char* error_code_name(int code) {
  switch (code) {
    case 0: return "OK";
    case STC_ERROR_INVALID_ARGUMENT: return "INVALID_ARGUMENT";
    case STC_ERROR_INVALID_CONFIG: return "INVALID_CONFIG";
    case STC_ERROR_NOT_FOUND: return "NOT_FOUND";
    case STC_ERROR_CONFLICT: return "CONFLICT";
    case STC_ERROR_UNSUPPORTED: return "UNSUPPORTED";
    case STC_ERROR_OUT_OF_MEMORY: return "OUT_OF_MEMORY";
    case STC_ERROR_TORCH: return "TORCH";
    case STC_ERROR_IO: return "IO";
    case STC_ERROR_TIMEOUT: return "TIMEOUT";
    case STC_ERROR_CANCELLED: return "CANCELLED";
    case STC_ERROR_STATE: return "STATE";
    case STC_ERROR_INTERNAL: return "INTERNAL";
    default: return "UNKNOWN";
  }
}

}  // namespace stc::host
