/// \file
/// The optimizer that cautious wraps.
#pragma once

#include <string>
#include <vector>

#include <stc/stable/optimizer.hpp>

namespace stc::cautious {

/// An error of the base on its way out, as it is: code, message and key stay.
struct BaseError {
  stc_error* error;
};

class Base {
 public:
  /// Creates the plugin that the section's `name` says, with the same section.
  Base(Host host, const Config& section);
  ~Base();
  Base(const Base&) = delete;
  Base& operator=(const Base&) = delete;

  const stc_optimizer_api& api() const { return api_; }
  stc_optimizer* get() const { return self_; }
  const char* name() const { return plugin_->name; }
  /// Throws what a slot of the base returned. Null passes.
  static void check(stc_error* error) {
    if (error != nullptr) throw BaseError{error};
  }
  /// The base masks by itself from now on; false when it cannot.
  bool mask_itself() const;

 private:
  stc_optimizer_api api_{};
  stc_optimizer* self_ = nullptr;
  const stc_plugin* plugin_ = nullptr;
};

}  // namespace stc::cautious
