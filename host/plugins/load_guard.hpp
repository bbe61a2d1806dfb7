/// \file
/// What a library may do to the process while it is loaded, contained or at least explained.
#pragma once

#include <cfenv>
#include <locale>
#include <string>

namespace stc::host {

/// For the time of dlopen and the entry call. A library that throws out of an initialiser, aborts,
/// crashes or exits ends the process: then one error that names the library and the reason is
/// printed, and the exit code is 2. Locale (C and C++) and floating-point environment are put back
/// at the end: a library may set them, and numbers of the host must not change (a decimal comma,
/// flushed denormals). One at a time in a process; the loader's mutex sees to that.
class LoadGuard {
 public:
  explicit LoadGuard(const std::string& library);
  ~LoadGuard();
  LoadGuard(const LoadGuard&) = delete;
  LoadGuard& operator=(const LoadGuard&) = delete;

  /// The error goes to this descriptor, as one line that starts with 'e' and has "\\n" for its line
  /// breaks, instead of to standard error in plain text; -1 undoes it.
  static void report_to(int fd);
  /// Inside a catch around dlopen: ends the process with what was caught.
  [[noreturn]] static void end_by_exception();

 private:
  std::string c_locale_;
  std::locale cpp_locale_;
  std::fenv_t floating_point_{};
};

}  // namespace stc::host
