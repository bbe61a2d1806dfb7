#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <filesystem>
#include <regex>

#include <spdlog/spdlog.h>
#include <boost/test/unit_test.hpp>

#include "host/errors/error.hpp"
#include "host/events/console.hpp"
#include "host/events/receivers.hpp"
#include "stc/abi/host.h"
#include "stc/testing/folder.hpp"

using namespace stc::host;
namespace fs = std::filesystem;

namespace {

// Standard output replaced by a file or a terminal while it lives.
class RedirectedStdout {
 public:
  explicit RedirectedStdout(int to) : saved_(dup(1)) {
    std::fflush(stdout);
    dup2(to, 1);
  }
  ~RedirectedStdout() {
    std::fflush(stdout);
    dup2(saved_, 1);
    ::close(saved_);
  }

 private:
  int saved_;
};

// Both ends of a pseudo-terminal of 40 columns.
struct Terminal {
  Terminal() : master(posix_openpt(O_RDWR | O_NOCTTY)) {
    BOOST_REQUIRE(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    winsize size{};
    size.ws_col = 40;
    size.ws_row = 10;
    ioctl(slave, TIOCSWINSZ, &size);
  }
  ~Terminal() {
    ::close(slave);
    ::close(master);
  }
  std::string read_all() const {
    fcntl(master, F_SETFL, O_NONBLOCK);
    std::string text;
    char buffer[4096];
    ssize_t got = 0;
    while ((got = read(master, buffer, sizeof buffer)) > 0) text.append(buffer, std::size_t(got));
    return text;
  }
  int master;
  int slave;
};

Event step_event(int64_t step) {
  Event event("train_step");
  event.add("step", step).add("loss", 2.5).add("steps_per_sec", 2.0).add("tokens_per_sec", 1234.4);
  return event;
}

const std::string kStamp = R"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} \| )";

}  // namespace

BOOST_AUTO_TEST_SUITE(text_log)

BOOST_AUTO_TEST_CASE(a_file_replaces_standard_output_and_is_appended_to) {
  const stc::testing::Folder folder;
  const fs::path file = folder.path() / "new" / "folder" / "train.log";
  const fs::path out = folder.path() / "stdout";
  const int descriptor = open(out.c_str(), O_CREAT | O_WRONLY, 0600);
  {
    const RedirectedStdout redirected(descriptor);
    for (int64_t run = 1; run <= 2; ++run) {
      const auto log = make_text_log({file.string(), "INFO", 10});
      log->on_event(step_event(run), 1700000000.25);
      log_line(STC_LOG_WARNING, "careful");
      log->close();
    }
  }
  ::close(descriptor);
  BOOST_CHECK_EQUAL(stc::testing::read_file(out), "");
  const std::string text = stc::testing::read_file(file);
  const std::string step = "INFO \\| train_step step=%d loss=2.5 steps_per_sec=2 tokens_per_sec=1234.4\n";
  std::string pattern;
  for (const char* n : {"1", "2"}) {
    std::string line = step;
    line.replace(line.find("%d"), 2, n);
    pattern += kStamp + line + kStamp + "WARNING \\| careful\n";
  }
  BOOST_CHECK_MESSAGE(std::regex_match(text, std::regex(pattern)), text);
}

BOOST_AUTO_TEST_CASE(the_stamp_is_the_local_time_of_the_event) {
  const stc::testing::Folder folder;
  const fs::path file = folder.path() / "train.log";
  setenv("TZ", "XYZ-5:30", 1);
  tzset();
  const auto log = make_text_log({file.string(), "INFO", 0});
  log->on_event(Event("checkpoint"), 1700000000.25);
  log->close();
  unsetenv("TZ");
  tzset();
  BOOST_CHECK_EQUAL(stc::testing::read_file(file), "2023-11-15 03:43:20,250 | INFO | checkpoint\n");
}

BOOST_AUTO_TEST_CASE(level_hides_text_lines) {
  const stc::testing::Folder folder;
  const fs::path file = folder.path() / "train.log";
  const auto log = make_text_log({file.string(), "WARNING", 0});
  log->on_event(step_event(1), 1700000000.0);
  log_line(STC_LOG_INFO, "hidden");
  log_line(STC_LOG_ERROR, "shown");
  log->close();
  const std::string text = stc::testing::read_file(file);
  BOOST_CHECK_MESSAGE(std::regex_match(text, std::regex(kStamp + "ERROR \\| shown\n")), text);
}

BOOST_AUTO_TEST_CASE(failures_are_of_level_error) {
  const stc::testing::Folder folder;
  const fs::path file = folder.path() / "train.log";
  const auto log = make_text_log({file.string(), "ERROR", 0});
  log->on_event(Event("checkpoint"), 1700000000.0);
  log->on_event(Event("checkpoint_failed"), 1700000000.0);
  log->on_event(Event("delta_upload_failed"), 1700000000.0);
  log->close();
  const std::string text = stc::testing::read_file(file);
  BOOST_CHECK_MESSAGE(std::regex_match(text, std::regex(kStamp + "ERROR \\| checkpoint_failed\n" + kStamp +
                                                        "ERROR \\| delta_upload_failed\n")),
                      text);
}

BOOST_AUTO_TEST_CASE(a_message_stays_one_line) {
  const stc::testing::Folder folder;
  const fs::path file = folder.path() / "train.log";
  const auto log = make_text_log({file.string(), "INFO", 0});
  log_line(STC_LOG_INFO, "mine: line one\nline two \xff\x01");
  log->close();
  const std::string text = stc::testing::read_file(file);
  BOOST_CHECK_MESSAGE(
      std::regex_match(text, std::regex(kStamp + R"(INFO \| mine: line one\\nline two \\xff\\x01)" + "\n")), text);
}

BOOST_AUTO_TEST_CASE(an_unwritable_file_is_an_error_that_names_it) {
  const auto names_it = [](const ConfigError& error) {
    return std::string(error.what()).starts_with("logging.file: cannot write /proc/none/train.log (");
  };
  BOOST_CHECK_EXCEPTION(make_text_log({"/proc/none/train.log", "INFO", 0}), ConfigError, names_it);
}

BOOST_AUTO_TEST_CASE(plain_lines_where_there_is_no_terminal) {
  const stc::testing::Folder folder;
  const fs::path out = folder.path() / "stdout";
  const int descriptor = open(out.c_str(), O_CREAT | O_WRONLY, 0600);
  {
    const RedirectedStdout redirected(descriptor);
    const auto log = make_text_log({std::nullopt, "INFO", 10});
    log->on_event(step_event(1), 1700000000.0);
    log->close();
  }
  ::close(descriptor);
  const std::string text = stc::testing::read_file(out);
  BOOST_CHECK_MESSAGE(std::regex_match(text, std::regex(kStamp + "INFO \\| train_step step=1 loss=2.5 steps_per_sec=2 "
                                                                 "tokens_per_sec=1234.4\n")),
                      text);
}

BOOST_AUTO_TEST_CASE(one_progress_line_on_a_terminal) {
  const Terminal terminal;
  setenv("TERM", "xterm", 1);
  {
    const RedirectedStdout redirected(terminal.slave);
    const auto log = make_text_log({std::nullopt, "INFO", 10});
    log->on_event(step_event(1), 100.0);
    log->on_event(step_event(2), 100.01);  // too soon to be drawn
    Event checkpoint("checkpoint");
    checkpoint.add("step", int64_t{2});
    log->on_event(checkpoint, 100.02);
    log->on_event(step_event(3), 100.03);
    log->close();
  }
  const std::string text = terminal.read_all();
  const std::string erase = "\r\x1b\\[K";
  const auto line = [](const std::string& step, const std::string& eta) {
    return ("step " + step + "/10  loss 2.5  1234 tokens/s  ETA " + eta).substr(0, 39);
  };
  const std::string pattern = erase + line("1", "0:05") + "(" + erase + line("2", "0:04") + ")?" + erase + kStamp +
                              "INFO \\| checkpoint step=2\r\n" + erase + line("2", "0:04") + erase + line("3", "0:04") +
                              "\r\n";
  BOOST_CHECK_MESSAGE(std::regex_match(text, std::regex(pattern)), text);
}

BOOST_AUTO_TEST_SUITE_END()
