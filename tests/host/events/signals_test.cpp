#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "host/app/signals.hpp"
#include "host/app/summary.hpp"
#include "host/errors/error.hpp"

using namespace stc::host;

namespace {

FitResult result_of(StopReason reason, bool save_failed = false) {
  FitResult result;
  result.reason = reason;
  result.last_save_failed = save_failed;
  return result;
}

/// Whatever the tests were started with: in the background of a script SIGINT is ignored, and then a guard leaves it
/// so.
struct DefaultSignals {
  DefaultSignals() {
    for (const int number : {SIGINT, SIGHUP}) signal(number, SIG_DFL);
  }
};

// Exit status of a child that sends itself `first`, waits, and sends `second`.
int status_after(int first, int wait_ms, int second) {
  const pid_t child = fork();
  if (child == 0) {
    RunContext context;
    const SignalGuard guard(context);
    raise(first);
    std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
    raise(second);
    _exit(context.stop_signal.load() == first ? 7 : 8);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

BOOST_TEST_GLOBAL_CONFIGURATION(DefaultSignals);

BOOST_AUTO_TEST_SUITE(signal_guard)

BOOST_DATA_TEST_CASE(the_first_signal_asks_for_a_stop, boost::unit_test::data::make({SIGINT, SIGTERM, SIGHUP, SIGUSR1}),
                     number) {
  RunContext context;
  const SignalGuard guard(context);
  BOOST_CHECK_EQUAL(guard.received(), 0);
  raise(number);
  BOOST_CHECK_EQUAL(context.stop_signal.load(), number);
  BOOST_CHECK_EQUAL(guard.received(), number);
  BOOST_CHECK(!context.cancelled.load());
  BOOST_CHECK_EQUAL(exit_code(result_of(StopReason::kSignal), guard), 128 + number);
}

BOOST_AUTO_TEST_CASE(a_later_signal_ends_the_process_at_once) {
  BOOST_CHECK_EQUAL(status_after(SIGINT, 150, SIGINT), 130);
  BOOST_CHECK_EQUAL(status_after(SIGINT, 150, SIGTERM), 143);
}

BOOST_AUTO_TEST_CASE(the_same_request_sent_twice_counts_once) {
  BOOST_CHECK_EQUAL(status_after(SIGTERM, 0, SIGTERM), 7);
}

BOOST_DATA_TEST_CASE(what_the_starter_ignores_stays_ignored, boost::unit_test::data::make({SIGINT, SIGHUP}), number) {
  signal(number, SIG_IGN);
  {
    RunContext context;
    const SignalGuard guard(context);
    raise(number);
    BOOST_CHECK_EQUAL(guard.received(), 0);
    raise(SIGTERM);
    BOOST_CHECK_EQUAL(guard.received(), SIGTERM);
  }
  struct sigaction after {};
  sigaction(number, nullptr, &after);
  BOOST_CHECK(after.sa_handler == SIG_IGN);
  signal(number, SIG_DFL);
}

BOOST_AUTO_TEST_CASE(gives_the_handlers_back) {
  struct sigaction before {
  }, during{}, after{};
  sigaction(SIGTERM, nullptr, &before);
  {
    RunContext context;
    const SignalGuard guard(context);
    sigaction(SIGTERM, nullptr, &during);
    raise(SIGPIPE);  // ignored
  }
  sigaction(SIGTERM, nullptr, &after);
  BOOST_CHECK(during.sa_handler != before.sa_handler);
  BOOST_CHECK(after.sa_handler == before.sa_handler);
}

BOOST_AUTO_TEST_CASE(exit_codes) {
  RunContext context;
  const SignalGuard guard(context);
  BOOST_CHECK_EQUAL(exit_code(result_of(StopReason::kTarget), guard), kExitDone);
  BOOST_CHECK_EQUAL(exit_code(result_of(StopReason::kTarget, true), guard), kExitSaveFailed);
  raise(SIGTERM);
  BOOST_CHECK_EQUAL(exit_code(result_of(StopReason::kTarget), guard), kExitDone);
  BOOST_CHECK_EQUAL(exit_code(result_of(StopReason::kSignal), guard), kExitSigterm);
  BOOST_CHECK_EQUAL(exit_code(result_of(StopReason::kSignal, true), guard), kExitSaveFailed);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(summary)

BOOST_AUTO_TEST_CASE(prints_what_speedtronic_prints) {
  FitResult result;
  result.counters.step = 4;
  result.counters.samples = 8;
  result.counters.tokens = 256;
  result.loss = 4.857661247253418;
  BOOST_CHECK_EQUAL(summary_line(result), "completed steps=4 samples=8 tokens=256 loss=4.857661247253418");
  result.loss = 5.0;
  BOOST_CHECK_EQUAL(summary_line(result), "completed steps=4 samples=8 tokens=256 loss=5.0");
  result.loss.reset();
  BOOST_CHECK_EQUAL(summary_line(result), "completed steps=4 samples=8 tokens=256 loss=None");
}

BOOST_AUTO_TEST_SUITE_END()
