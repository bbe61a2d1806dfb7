// In its steady state a loader allocates nothing.
#include <atomic>
#include <cstdint>

#include <boost/test/unit_test.hpp>

#include "tests/host/data/data_support.hpp"

using namespace stc::host;
using namespace stc::host::test;

extern std::atomic<int64_t> allocations;  // counting_new.cpp

namespace {

/// Allocations of 2,000 batches after 500 others.
int64_t steady_allocations(Data& parts, DataSettings settings, int64_t workers) {
  settings.num_workers = workers;
  const auto loader = parts.loader(settings);
  std::shared_ptr<const Batch> last;
  for (int i = 0; i < 500; ++i) last = loader->next();
  const int64_t before = allocations;
  for (int i = 0; i < 2000; ++i) last = loader->next();
  return allocations - before;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(allocation)

BOOST_AUTO_TEST_CASE(of_text_is_nothing_in_the_steady_state) {
  const stc::testing::Folder folder;
  const auto parts = text_data(write_file(folder, "a.txt", random_text(5, 5000)));
  const DataSettings settings = settings_of(32, 4);
  BOOST_CHECK_EQUAL(steady_allocations(*parts, settings, 0), 0);
  // How full the queue is varies with the threads: at most its depth of batches more.
  BOOST_CHECK_LE(steady_allocations(*parts, settings, 2), 100);
}

BOOST_AUTO_TEST_CASE(of_synthetic_data_is_nothing_in_the_steady_state) {
  const auto parts = synthetic_data(1000, 32, 100, 1);
  DataSettings settings = settings_of(32, 4);
  settings.shuffle = true;
  BOOST_CHECK_EQUAL(steady_allocations(*parts, settings, 0), 0);
  BOOST_CHECK_LE(steady_allocations(*parts, settings, 3), 100);
}

BOOST_AUTO_TEST_SUITE_END()
