#include <cmath>
#include <cstdint>
#include <optional>
#include <ostream>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "host/train/dropout_key.hpp"
#include "host/train/rates.hpp"
#include "host/train/schedule.hpp"

namespace stc::host {
namespace {

SchedulerSettings cosine(int64_t warmup, int64_t total, double floor) {
  return {"cosine", warmup, total, floor, {}, {}};
}

SchedulerSettings wsd(int64_t warmup, int64_t total, double floor, std::optional<int64_t> decay) {
  return {"wsd", warmup, total, floor, decay, {}};
}

SchedulerSettings restarts(int64_t warmup, int64_t total, double floor, std::optional<int64_t> cycles) {
  return {"cosine_with_restarts", warmup, total, floor, {}, cycles};
}

struct Row {
  const char* what;
  SchedulerSettings settings;
  int64_t completed;
  double expected;
};
std::ostream& operator<<(std::ostream& out, const Row& row) { return out << row.what; }

const Row kRows[] = {
    {"first of four warm-up steps", cosine(4, 10, 0.1), 0, 0.25},
    {"second of four warm-up steps", cosine(4, 10, 0.1), 1, 0.5},
    {"last warm-up step reaches the base rate", cosine(4, 10, 0.1), 3, 1.0},
    {"the step after warm-up still has the base rate", cosine(4, 10, 0.1), 4, 1.0},
    {"half of the decay", cosine(4, 10, 0.1), 7, 0.55},
    {"the end of the decay", cosine(4, 10, 0.1), 10, 0.1},
    {"past the end", cosine(4, 10, 0.1), 10000, 0.1},
    {"a third of the decay", cosine(0, 3, 0.0), 1, 0.75},
    {"warm-up longer than the run", cosine(100, 10, 0.1), 9, 0.1},
    {"warm-up ends where the schedule does", cosine(10, 10, 0.1), 10, 1.0},
    {"no warm-up", cosine(0, 10, 0.0), 0, 1.0},
    {"a very long warm-up stays above zero", cosine(int64_t{1} << 40, 10, 0.1), 0, 1e-8},
    {"constant in warm-up", {"constant", 2, 10, 0.1, {}, {}}, 0, 0.5},
    {"constant after warm-up", {"constant", 2, 10, 0.1, {}, {}}, 500, 1.0},
    {"linear, a quarter of the way", {"linear", 2, 10, 0.2, {}, {}}, 4, 0.8},
    {"linear at its end", {"linear", 2, 10, 0.2, {}, {}}, 10, 0.2},
    {"linear past its end", {"linear", 2, 10, 0.0, {}, {}}, 11, 0.0},
    {"inverse root right after warm-up", {"inverse_sqrt", 4, 10, 0.1, {}, {}}, 4, 1.0},
    {"inverse root at four times the warm-up", {"inverse_sqrt", 4, 10, 0.1, {}, {}}, 16, 0.5},
    {"inverse root without warm-up", {"inverse_sqrt", 0, 10, 0.1, {}, {}}, 3, 0.5},
    {"wsd is stable until its decay", wsd(2, 22, 0.0, 5), 17, 1.0},
    {"wsd, two fifths into its decay", wsd(2, 22, 0.0, 5), 19, 0.6},
    {"wsd, its last step", wsd(2, 22, 0.0, 5), 21, 0.2},
    {"wsd at its end", wsd(2, 22, 0.1, 5), 22, 0.1},
    {"wsd decays over a tenth by default", wsd(2, 22, 0.0, {}), 21, 0.5},
    {"wsd whose decay is longer than the run", wsd(0, 4, 0.0, 100), 1, 0.75},
    {"restarts begin at the base rate", restarts(2, 22, 0.1, 2), 2, 1.0},
    {"half of the first cosine", restarts(2, 22, 0.1, 2), 7, 0.55},
    {"the second cosine begins at the base rate", restarts(2, 22, 0.1, 2), 12, 1.0},
    {"half of the second cosine", restarts(2, 22, 0.1, 2), 17, 0.55},
    {"the end of the restarts", restarts(2, 22, 0.1, 2), 22, 0.1},
    {"one cosine by default", restarts(0, 10, 0.0, {}), 5, 0.5},
};

BOOST_AUTO_TEST_SUITE(schedule)

BOOST_DATA_TEST_CASE(gives_the_factor_of_the_formula, boost::unit_test::data::make(kRows)) {
  BOOST_CHECK_SMALL(schedule_factor(sample.settings, sample.completed) - sample.expected, 1e-12);
}

BOOST_AUTO_TEST_CASE(is_finite_and_positive_for_every_length) {
  for (const char* name : {"cosine", "constant", "linear", "inverse_sqrt", "wsd", "cosine_with_restarts"}) {
    for (const int64_t warmup : {0, 1, 7, 1000}) {
      for (const int64_t total : {1, 2, 7, 1000}) {
        for (const std::optional<int64_t> extra : {std::optional<int64_t>{}, {1}, {3}, {5000}}) {
          const SchedulerSettings settings{name, warmup, total, 0.1, extra, extra};
          for (int64_t step = 0; step < 1500; ++step) {
            const double factor = schedule_factor(settings, step);
            BOOST_TEST_INFO(name << " warm-up " << warmup << " total " << total << " step " << step);
            BOOST_REQUIRE(std::isfinite(factor) && factor > 0.0 && factor <= 1.0);
          }
        }
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(dropout_keys)

BOOST_AUTO_TEST_CASE(depend_on_each_of_seed_step_and_micro_batch) {
  const uint64_t base = dropout_key(1234, 7, 1);
  BOOST_CHECK_EQUAL(base, dropout_key(1234, 7, 1));
  BOOST_CHECK_NE(base, dropout_key(1235, 7, 1));
  BOOST_CHECK_NE(base, dropout_key(1234, 8, 1));
  BOOST_CHECK_NE(base, dropout_key(1234, 7, 2));
  // Neighbours must not shift into each other: (step, micro) pairs near the diagonal all differ.
  BOOST_CHECK_NE(dropout_key(1234, 1, 2), dropout_key(1234, 2, 1));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(rate_meter)

BOOST_AUTO_TEST_CASE(counts_from_the_start_of_this_process) {
  using namespace std::chrono_literals;
  RateMeter meter;
  RateMeter::Clock::time_point now{};
  meter.start(now);
  for (int i = 0; i < 30; ++i) meter.add(now += (i < 10 ? 1s : 2s), 4, 128);
  const RateMeter::Rates rates = meter.rates();
  BOOST_CHECK_CLOSE(rates.steps_per_sec, 30.0 / 50.0, 1e-9);
  BOOST_CHECK_CLOSE(rates.samples_per_sec, 120.0 / 50.0, 1e-9);
  BOOST_CHECK_CLOSE(rates.tokens_per_sec, 3840.0 / 50.0, 1e-9);
  BOOST_CHECK_CLOSE(rates.recent_tokens_per_sec, 64.0, 1e-9);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::host
