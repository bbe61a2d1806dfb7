#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "host/data/ordered_queue.hpp"

using stc::host::OrderedQueue;

BOOST_AUTO_TEST_SUITE(ordered_queue)

BOOST_AUTO_TEST_CASE(gives_numbers_in_order_and_stays_within_its_depth) {
  constexpr uint64_t kDepth = 6, kCount = 3000;
  OrderedQueue<uint64_t> queue(kDepth);
  std::atomic<uint64_t> taken{0};
  std::atomic<bool> too_far{false};
  std::vector<std::thread> producers;
  for (int p = 0; p < 4; ++p) {
    producers.emplace_back([&] {
      while (const auto number = queue.claim()) {
        // taken is counted after take has made room for one more
        if (*number > taken + kDepth) too_far = true;
        if (*number % 7 == 0) std::this_thread::yield();
        queue.put(*number, *number * 10);
      }
    });
  }
  for (uint64_t i = 0; i < kCount; ++i, ++taken) BOOST_REQUIRE_EQUAL(*queue.take({}), i * 10);
  queue.stop();
  for (auto& producer : producers) producer.join();
  BOOST_CHECK(!too_far);
}

BOOST_AUTO_TEST_CASE(a_failure_comes_after_what_is_before_it_and_stays) {
  OrderedQueue<int> queue(4);
  for (int i = 0; i < 3; ++i) BOOST_REQUIRE(queue.claim());
  queue.fail(1, std::make_exception_ptr(std::runtime_error("broken")));
  queue.put(2, 2);
  queue.put(0, 0);
  BOOST_CHECK_EQUAL(*queue.take({}), 0);
  BOOST_CHECK_THROW(queue.take({}), std::runtime_error);
  BOOST_CHECK_THROW(queue.take({}), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(gives_up_only_when_nothing_comes) {
  OrderedQueue<int> queue(2);
  BOOST_REQUIRE(queue.claim());
  queue.put(0, 5);
  const auto stop = [] { return true; };
  BOOST_CHECK_EQUAL(*queue.take(stop), 5);
  BOOST_CHECK(!queue.take(stop));
}

BOOST_AUTO_TEST_SUITE_END()
