#include "host/plugins/load_guard.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "host/errors/error.hpp"
#include "host/services/services.hpp"

namespace stc::host {
namespace {

constexpr std::array kFatalSignals = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE};

/// Read by signal handlers: plain storage, written before `loading` is set.
struct GuardState {
  std::atomic<bool> loading{false};
  char library[4096] = {};
  int report_fd = -1;
  std::array<struct sigaction, kFatalSignals.size()> previous{};
  std::terminate_handler previous_terminate = nullptr;
};
GuardState state;

void put(int fd, const char* text) {
  size_t left = std::strlen(text);
  while (left > 0) {
    const ssize_t n = ::write(fd, text, left);
    if (n <= 0) return;
    text += n;
    left -= static_cast<size_t>(n);
  }
}

/// Async-signal-safe: write(2) and _exit.
[[noreturn]] void end_process(const char* reason) {
  const bool report = state.report_fd >= 0;
  const int fd = report ? state.report_fd : STDERR_FILENO;
  const char* line_break = report ? "\\n" : "\n";
  put(fd, report ? "eerror: plugin " : "error: plugin ");
  put(fd, state.library);
  put(fd, ": ended the process while it was loaded: ");
  put(fd, reason);
  put(fd, line_break);
  put(fd, "  hint: ");
  put(fd, report ? "look at its static initialisers and its entry function"
                 : "`stc-host plugins check` tries it in a process of its own; look at its static "
                   "initialisers");
  put(fd, line_break);
  if (report) put(fd, "\n");
  ::_exit(kExitError);
}

void on_signal(int number) {
  switch (number) {
    case SIGABRT: end_process("it called abort");
    case SIGSEGV: end_process("invalid memory access (SIGSEGV)");
    case SIGBUS: end_process("invalid memory access (SIGBUS)");
    case SIGILL: end_process("an instruction that this processor lacks (SIGILL)");
    default: end_process("an arithmetic fault (SIGFPE)");
  }
}

void on_terminate() {
  if (!state.loading.load()) {
    if (state.previous_terminate != nullptr) state.previous_terminate();
    std::abort();
  }
  if (!std::current_exception()) end_process("std::terminate was called");
  LoadGuard::end_by_exception();
}

void on_exit_while_loading() {
  if (state.loading.load()) end_process("it called exit");
}

}  // namespace

LoadGuard::LoadGuard(const std::string& library) : c_locale_(std::setlocale(LC_ALL, nullptr)), cpp_locale_() {
  static const bool registered = std::atexit(on_exit_while_loading) == 0 && at_quick_exit(on_exit_while_loading) == 0;
  (void)registered;
  std::fegetenv(&floating_point_);
  std::snprintf(state.library, sizeof state.library, "%s", library.c_str());
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kFatalSignals.size(); ++i) sigaction(kFatalSignals[i], &action, &state.previous[i]);
  state.previous_terminate = std::set_terminate(on_terminate);
  state.loading.store(true);
}

void LoadGuard::end_by_exception() {
  static char reason[2048];
  const std::string what = describe_current_exception();
  std::snprintf(reason, sizeof reason, "an initialiser threw: %s", what.c_str());
  std::replace(reason, reason + std::strlen(reason), '\n', ' ');
  end_process(reason);
}

void LoadGuard::report_to(int fd) { state.report_fd = fd; }

LoadGuard::~LoadGuard() {
  state.loading.store(false);
  std::set_terminate(state.previous_terminate);
  for (size_t i = 0; i < kFatalSignals.size(); ++i) sigaction(kFatalSignals[i], &state.previous[i], nullptr);
  std::fesetenv(&floating_point_);
  if (std::locale() != cpp_locale_) std::locale::global(cpp_locale_);
  if (c_locale_ != std::setlocale(LC_ALL, nullptr)) std::setlocale(LC_ALL, c_locale_.c_str());
}

}  // namespace stc::host
