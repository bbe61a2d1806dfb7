// What the headers of core and plain say when a plugin or the system does not keep to its part.
#include <fstream>
#include <functional>
#include <string>

#include <boost/test/unit_test.hpp>

#include "stc/core/state.hpp"
#include "stc/plain/line_file.hpp"
#include "stc/plain/sync.hpp"
#include "stc/testing/folder.hpp"
#include "stc/testing/memory_state.hpp"

using stc::Fault;
using stc::testing::FakeHost;
using stc::testing::Folder;
using stc::testing::MemoryState;

namespace {

std::string fault_of(const std::function<void()>& function) {
  try {
    function();
  } catch (const Fault& fault) {
    return fault.what();
  }
  return "none";
}

/// A store that names its state with as many bytes as a test says.
struct LongVersions {
  struct Params {
    template <class V>
    static void describe(V&) {}
  };
  inline static size_t bytes = 0;
  stc::SyncIdentity identity() const { return {}; }
  void list(std::string_view, std::optional<std::string_view>, const stc::SyncListing&) const {}
  void read(std::string_view, std::optional<std::string_view>, const stc::SyncChunks&) const {}
  std::string commit(const stc::SyncCommit&) const { return std::string(bytes, 'v'); }
  std::string poll() const { return std::string(bytes, 'v'); }
  void ensure(bool, bool) const {}
};

}  // namespace

BOOST_AUTO_TEST_SUITE(errors)

BOOST_AUTO_TEST_CASE(state_of_another_type_or_rank_says_both) {
  FakeHost host;
  MemoryState memory(host);
  const stc::StateWriter writer(stc::Host(host.table()), *memory.writer());
  const stc::StateReader reader(stc::Host(host.table()), *memory.reader());
  writer.number("scale", 0.5);
  writer.array("history", std::span<const float>());
  BOOST_TEST(fault_of([&] { reader.array<float>("scale"); }) ==
             "state scale: got float64 of 0 dimensions, expected float32 of 1");
  BOOST_TEST(fault_of([&] { reader.number<float>("history"); }) ==
             "state history: got float32 of 1 dimensions, expected float32 of 0");
  BOOST_TEST(reader.number<double>("scale").value() == 0.5);
  BOOST_TEST(!reader.number<double>("absent").has_value());
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_shortened_is_named) {
  const Folder folder;
  const std::string path = (folder.path() / "absent.csv").string();
  BOOST_TEST(fault_of([&] { stc::cut_end(path, 3); }) == "cannot shorten " + path + ": No such file or directory");
}

BOOST_AUTO_TEST_CASE(a_version_that_the_host_has_no_room_for_is_refused) {
  FakeHost host;
  const stc_sync_api& api = *stc::detail::sync_table<LongVersions>();
  stc::testing::Section section;
  stc_sync* sync = nullptr;
  BOOST_REQUIRE(host.take(api.create(&host.table(), section.raw(), &sync)).message == "");
  char version[128] = "before";
  const auto commit = [&] { return host.take(api.commit(sync, nullptr, 0, 0, nullptr, nullptr, 0, version)).message; };
  LongVersions::bytes = 128;
  BOOST_TEST(host.take(api.poll(sync, version)).message == "version: got 128 bytes, at most 127 are allowed");
  BOOST_TEST(commit() == "version: got 128 bytes, at most 127 are allowed");
  BOOST_TEST(std::string(version) == "before");
  LongVersions::bytes = 127;
  BOOST_TEST(commit() == "");
  BOOST_TEST(std::string(version) == std::string(127, 'v'));
  api.destroy(sync);
}

BOOST_AUTO_TEST_SUITE_END()
