// Replay records that cannot be written or read name the file.
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>

#include <boost/test/unit_test.hpp>

#include "host/errors/error.hpp"
#include "host/train/replay_record.hpp"
#include "stc/testing/folder.hpp"

namespace stc::host {
namespace {

namespace fs = std::filesystem;
using stc::testing::Folder;

std::string checkpoint_error(const std::function<void()>& function) {
  try {
    function();
  } catch (const CheckpointError& error) {
    return error.what();
  }
  return "none";
}

/// While it lives, no file of this process can become longer.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*signal_)(int);
};

/// A file that exists and that nobody can open.
void make_socket(const fs::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  BOOST_REQUIRE_LT(path.string().size(), sizeof address.sun_path);
  std::strcpy(address.sun_path, path.c_str());
  const int file = ::socket(AF_UNIX, SOCK_STREAM, 0);
  BOOST_REQUIRE_EQUAL(::bind(file, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(file);
}

BOOST_AUTO_TEST_SUITE(replay_record)

BOOST_AUTO_TEST_CASE(that_the_disk_does_not_take_is_named_and_leaves_nothing_under_its_name) {
  const Folder folder;
  ReplayRecord record;
  record.config = {{"note", std::string(20000, 'x')}};
  const fs::path place = folder.path() / "replay" / "step_000000000001";
  std::string message;
  {
    const FileSizeLimit limit(4096);
    message = checkpoint_error([&] { write_replay_record(folder.path().string(), record); });
  }
  BOOST_TEST(message == place.string() + ".tmp/replay.json: cannot be written");
  BOOST_TEST(!fs::exists(place));
  BOOST_TEST(write_replay_record(folder.path().string(), record) == place.string());
}

BOOST_AUTO_TEST_CASE(that_is_no_file_is_named) {
  const Folder folder;
  const fs::path place = write_replay_record(folder.path().string(), {});
  fs::remove(place / "replay.json");
  make_socket(place / "replay.json");
  BOOST_TEST(checkpoint_error([&] { read_replay_record(place.string()); }) ==
             (place / "replay.json").string() + ": open failed: No such device or address");
  fs::remove(place / "replay.json");
  fs::create_directory(place / "replay.json");
  BOOST_TEST(checkpoint_error([&] { read_replay_record(place.string()); }) ==
             (place / "replay.json").string() + ": not a regular file");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::host
