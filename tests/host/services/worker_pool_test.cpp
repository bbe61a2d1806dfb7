#include "host/services/worker_pool.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace stc::host {
namespace {

using Range = std::pair<int64_t, int64_t>;

/// Counts how often each index was given out; each index belongs to one chunk, so that no two threads share one.
struct Counts {
  explicit Counts(int64_t n) : of(static_cast<size_t>(n)) {}
  static void add(void* arg, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++static_cast<Counts*>(arg)->of[static_cast<size_t>(i)];
  }
  std::vector<int> of;
};

BOOST_AUTO_TEST_SUITE(worker_pool)

BOOST_AUTO_TEST_CASE(each_index_is_given_out_once) {
  for (const int workers : {0, 1, 3}) {
    WorkerPool pool(workers, {});
    BOOST_TEST(pool.workers() == workers);
    for (const int64_t n : {0, 1, 2, 7, 64, 1000}) {
      for (const int64_t chunk : {1, 3, 64, 1000}) {
        Counts counts(n);
        pool.run(n, chunk, &Counts::add, &counts);
        BOOST_TEST((counts.of == std::vector<int>(static_cast<size_t>(n), 1)), n << " in chunks of " << chunk);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(chunks_do_not_depend_on_the_workers) {
  for (const int workers : {0, 2}) {
    WorkerPool pool(workers, {});
    struct Seen {
      std::mutex mutex;
      std::set<Range> ranges;
    } seen;
    pool.run(
        10, 4,
        [](void* arg, int64_t begin, int64_t end) {
          auto& all = *static_cast<Seen*>(arg);
          const std::lock_guard<std::mutex> lock(all.mutex);
          all.ranges.emplace(begin, end);
        },
        &seen);
    BOOST_TEST((seen.ranges == std::set<Range>{{0, 4}, {4, 8}, {8, 10}}));
  }
}

/// Loops without a pause between them, and after pauses long enough to fall asleep.
BOOST_AUTO_TEST_CASE(what_a_loop_wrote_is_seen_by_the_next_one) {
  WorkerPool pool(2, {});
  std::vector<int64_t> values(300, 0);
  for (int loop = 0; loop < 20000; ++loop) {
    if (loop % 4000 == 0) usleep(2000);
    pool.run(
        300, 100,
        [](void* arg, int64_t begin, int64_t end) {
          int64_t* value = static_cast<std::vector<int64_t>*>(arg)->data();
          for (int64_t i = begin; i < end; ++i)
            ++value[(i + 100) % 300];  // of a chunk that another thread may have had
        },
        &values);
  }
  BOOST_TEST((values == std::vector<int64_t>(300, 20000)));
}

BOOST_AUTO_TEST_CASE(callers_at_the_same_time_get_their_own_results) {
  WorkerPool pool(1, {});
  std::vector<std::thread> callers;
  std::vector<int64_t> sums(4, 0);
  for (int64_t& sum : sums) {
    callers.emplace_back([&pool, &sum] {
      for (int loop = 0; loop < 2000; ++loop) {
        Counts counts(20);
        pool.run(20, 5, &Counts::add, &counts);
        sum += std::accumulate(counts.of.begin(), counts.of.end(), 0);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  BOOST_TEST((sums == std::vector<int64_t>(4, 40000)));
}

BOOST_AUTO_TEST_CASE(each_worker_starts_with_what_it_is_told) {
  std::atomic<int> started{0};
  {
    WorkerPool pool(3, [&] { ++started; });
  }
  BOOST_TEST(started == 3);
}

BOOST_AUTO_TEST_CASE(a_forked_child_has_no_workers_and_ends_its_loops) {
  WorkerPool pool(1, {});
  Counts before(50);
  pool.run(50, 5, &Counts::add, &before);
  usleep(5000);  // the worker has left the loop
  const pid_t child = fork();
  if (child == 0) {
    Counts counts(50);
    pool.run(50, 5, &Counts::add, &counts);
    _exit(counts.of == std::vector<int>(50, 1) ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  BOOST_TEST((WIFEXITED(status) && WEXITSTATUS(status) == 0), "status " << status);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::host
