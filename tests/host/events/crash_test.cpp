#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "host/events/bus.hpp"

using namespace stc::host;
namespace fs = std::filesystem;

namespace {

constexpr int kEvents = 40;  // few enough for a loaded machine to write within the two seconds

// Writes a line an event, slowly, so that most of them are queued when the process dies.
class SlowFile final : public EventReceiver {
 public:
  explicit SlowFile(const fs::path& path) : file_(open(path.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600)) {}
  std::string name() const override { return "slow"; }
  void on_event(const Event& event, double) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    kept_ += event.name + "\n";
  }
  void flush() override {
    if (write(file_, kept_.data(), kept_.size()) < 0) std::abort();
    kept_.clear();
  }

 private:
  int file_;
  std::string kept_;
};

class Stuck final : public EventReceiver {
 public:
  std::string name() const override { return "stuck"; }
  void on_event(const Event&, double) override { std::this_thread::sleep_for(std::chrono::hours(1)); }
};

class AbortsInReceiver final : public EventReceiver {
 public:
  std::string name() const override { return "aborts"; }
  void on_event(const Event&, double) override { std::abort(); }
};

struct Death {
  const char* name;
  std::function<void()> die;
  int signal;  // 0: exits
  int code;    // of exit
};
std::ostream& operator<<(std::ostream& out, const Death& death) { return out << death.name; }

__attribute__((no_sanitize("undefined"))) void fault() {
  volatile int* nowhere = nullptr;
  *nowhere = 1;
}

const Death kDeaths[] = {
    {"abort", [] { std::abort(); }, SIGABRT, 0},
    {"terminate", [] { std::terminate(); }, SIGABRT, 0},
    {"exception in a thread", [] { std::thread([] { throw std::runtime_error("lost"); }).join(); }, SIGABRT, 0},
    {"segmentation fault", fault, SIGSEGV, 0},
    {"signal sent to the process",
     [] {
       kill(getpid(), SIGBUS);
       pause();
     },
     SIGBUS, 0},
    {"exit in a plugin", [] { std::exit(7); }, 0, 7},
};

// Runs `body` in a child that starts with default signal handlers; returns its wait status and seconds.
std::pair<int, double> in_child(const std::function<void()>& body) {
  const auto begin = std::chrono::steady_clock::now();
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    for (int number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) signal(number, SIG_DFL);
    const int nothing = open("/dev/null", O_WRONLY);
    dup2(nothing, 1);
    dup2(nothing, 2);
    alarm(20);
    body();
    _exit(99);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return {status, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
}

std::size_t lines_of(const fs::path& path) {
  std::ifstream in(path);
  std::size_t lines = 0;
  for (std::string line; std::getline(in, line);) ++lines;
  return lines;
}

void emit_many(EventBus& bus) {
  for (int n = 0; n < kEvents; ++n) bus.emit(Event("numbered"));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(crash_drain)

BOOST_DATA_TEST_CASE(the_last_event_is_in_the_file, boost::unit_test::data::make(kDeaths), death) {
  const fs::path file = fs::temp_directory_path() / ("stc_crash_" + std::to_string(getpid()));
  const auto [status, seconds] = in_child([&] {
    auto* bus = new EventBus;
    bus->add(std::make_unique<SlowFile>(file));
    emit_many(*bus);
    death.die();
  });
  BOOST_CHECK_EQUAL(lines_of(file), std::size_t{kEvents});
  fs::remove(file);
  if (death.signal != 0) {
    BOOST_CHECK_MESSAGE(WIFSIGNALED(status) && WTERMSIG(status) == death.signal, "status " << status);
  } else {
    BOOST_CHECK_MESSAGE(WIFEXITED(status) && WEXITSTATUS(status) == death.code, "status " << status);
  }
  BOOST_CHECK_LT(seconds, 10.0);
}

BOOST_AUTO_TEST_CASE(a_stuck_receiver_delays_death_by_two_seconds_only) {
  const auto [status, seconds] = in_child([] {
    auto* bus = new EventBus;
    bus->add(std::make_unique<Stuck>());
    emit_many(*bus);
    std::abort();
  });
  BOOST_CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  BOOST_CHECK_GE(seconds, 1.9);
  BOOST_CHECK_LT(seconds, 8.0);
}

BOOST_AUTO_TEST_CASE(an_abort_on_the_queue_thread_does_not_wait_for_itself) {
  const auto [status, seconds] = in_child([] {
    auto* bus = new EventBus;
    bus->add(std::make_unique<AbortsInReceiver>());
    emit_many(*bus);
    pause();
  });
  BOOST_CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  BOOST_CHECK_LT(seconds, 1.5);
}

BOOST_AUTO_TEST_SUITE_END()
