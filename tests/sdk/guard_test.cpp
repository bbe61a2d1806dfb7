#include <algorithm>
#include <atomic>
#include <fstream>
#include <functional>
#include <system_error>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "stc/plugin.hpp"
#include "stc/testing/fake_host.hpp"

using stc::Fault;
using stc::detail::guarded;
using stc::testing::FakeHost;
using stc::testing::SlotError;

namespace {

struct Thrown {
  const char* name;
  std::function<void()> fn;
  int32_t code;
  const char* message;
};
std::ostream& operator<<(std::ostream& out, const Thrown& thrown) { return out << thrown.name; }

const Thrown kThrown[] = {
    {"fault", [] { throw Fault(STC_ERROR_CONFLICT, "somebody was first"); }, STC_ERROR_CONFLICT, "somebody was first"},
    {"fault with a code of 0", [] { throw Fault(0, "x"); }, STC_ERROR_INTERNAL, "x"},
    {"config fault", [] { throw Fault::config("lr", "got -1, expected > 0"); }, STC_ERROR_INVALID_CONFIG,
     "got -1, expected > 0"},
    {"bad_alloc", [] { throw std::bad_alloc(); }, STC_ERROR_OUT_OF_MEMORY, "out of memory"},
    {"length_error", [] { std::string("abc").reserve(std::string::npos); }, STC_ERROR_INTERNAL, nullptr},
    {"ios failure",
     [] {
       std::ifstream in;
       in.exceptions(std::ios::failbit);
       in.open("/no/such/file");
     },
     STC_ERROR_IO, nullptr},
    {"system_error", [] { throw std::system_error(ENOSPC, std::generic_category(), "out.csv"); }, STC_ERROR_IO,
     "out.csv: No space left on device"},
    {"invalid_argument", [] { throw std::invalid_argument("n"); }, STC_ERROR_INVALID_ARGUMENT, "n"},
    {"runtime_error", [] { throw std::runtime_error("r"); }, STC_ERROR_INTERNAL, "r"},
    {"int", [] { throw 7; }, STC_ERROR_INTERNAL, "threw something that is not a std::exception"},
    {"text", [] { throw "text"; }, STC_ERROR_INTERNAL, "threw something that is not a std::exception"},
};

}  // namespace

BOOST_AUTO_TEST_SUITE(guard)

BOOST_DATA_TEST_CASE(turns_what_is_thrown_into_an_error, kThrown, thrown) {
  FakeHost host;
  const SlotError error = host.take(guarded(host.table(), thrown.fn));
  BOOST_TEST(error.code == thrown.code);
  if (thrown.message != nullptr) {
    BOOST_TEST(error.message == thrown.message);
  }
  BOOST_TEST(!error.message.empty());
  BOOST_TEST(host.errors_alive() == 0);
}

BOOST_AUTO_TEST_CASE(keeps_the_key_of_a_config_fault) {
  FakeHost host;
  const SlotError error = host.take(guarded(host.table(), [] { throw Fault::config("betas", "got 2"); }));
  BOOST_TEST(error.key == "betas");
}

BOOST_AUTO_TEST_CASE(is_null_when_nothing_is_thrown) {
  FakeHost host;
  BOOST_TEST(guarded(host.table(), [] {}) == nullptr);
}

BOOST_AUTO_TEST_CASE(a_slot_without_result_logs_what_was_thrown) {
  FakeHost host;
  stc::detail::guarded_void(host.table(), "close", [] { throw std::runtime_error("disk is gone"); });
  BOOST_REQUIRE(host.log_lines().size() == 1u);
  BOOST_TEST(host.log_lines()[0].level == STC_LOG_ERROR);
  BOOST_TEST(host.log_lines()[0].message == "close: disk is gone");
  BOOST_TEST(host.errors_alive() == 0);
}

BOOST_AUTO_TEST_CASE(a_slot_that_returns_a_number_has_a_fallback) {
  FakeHost host;
  const auto fails = [] { return throw std::runtime_error("x"), 1.0; };
  BOOST_TEST(stc::detail::guarded_value<double>(host.table(), "scale", 5.0, fails) == 5.0);
  BOOST_TEST(stc::detail::guarded_value<double>(host.table(), "scale", 5.0, [] { return 2.0; }) == 2.0);
}

BOOST_AUTO_TEST_CASE(a_translator_is_asked_first_and_may_decline) {
  struct Foreign {};
  FakeHost host;
  stc::detail::translator = [](const stc_host& table) -> stc_error* {
    try {
      throw;
    } catch (const Foreign&) {
      return stc::detail::new_error(table, STC_ERROR_TORCH, "foreign");
    } catch (...) {
      return nullptr;
    }
  };
  const SlotError foreign = host.take(guarded(host.table(), [] { throw Foreign(); }));
  const SlotError other = host.take(guarded(host.table(), [] { throw std::bad_alloc(); }));
  stc::detail::translator = nullptr;
  BOOST_TEST(foreign.code == STC_ERROR_TORCH);
  BOOST_TEST(other.code == STC_ERROR_OUT_OF_MEMORY);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(host)

BOOST_AUTO_TEST_CASE(errors_of_the_host_become_faults) {
  FakeHost fake;
  const stc::Host host(fake.table());
  BOOST_CHECK_EXCEPTION(host.create_inner(STC_KIND_SINK, "none", nullptr), Fault,
                        [](const Fault& fault) { return fault.code() == STC_ERROR_NOT_FOUND; });
  BOOST_TEST(fake.errors_alive() == 0);
}

BOOST_AUTO_TEST_CASE(events_keep_names_order_and_values) {
  FakeHost fake;
  const std::string path = "out.csv";
  stc::Host(fake.table())
      .event("csv_rotated", {{"file", path}, {"rows", 3}, {"full", true}, {"share", 0.5}, {"none", stc::Value()}});
  BOOST_REQUIRE(fake.events().size() == 1u);
  const auto event = fake.events()[0];
  BOOST_TEST(event.name == "csv_rotated");
  BOOST_REQUIRE(event.fields.size() == 5u);
  BOOST_TEST(std::get<std::string>(event.fields[0].second.data) == path);
  BOOST_TEST(std::get<int64_t>(event.fields[1].second.data) == 3);
  BOOST_TEST(std::get<bool>(event.fields[2].second.data));
  BOOST_TEST(std::get<double>(event.fields[3].second.data) == 0.5);
  BOOST_TEST(event.fields[4].second.data.index() == 0u);
}

BOOST_AUTO_TEST_CASE(parallel_for_covers_the_range_once_and_rethrows) {
  FakeHost fake;
  fake.num_threads = 4;
  const stc::Host host(fake.table());
  std::vector<std::atomic<int>> seen(1000);
  host.parallel_for(1000, 10, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      ++seen[static_cast<std::size_t>(i)];
    }
  });
  BOOST_TEST(std::all_of(seen.begin(), seen.end(), [](const auto& count) { return count == 1; }));
  BOOST_CHECK_THROW(host.parallel_for(100, 1, [](int64_t, int64_t) { throw Fault(STC_ERROR_IO, "x"); }), Fault);
}

BOOST_AUTO_TEST_CASE(memory_is_aligned_and_freed) {
  FakeHost fake;
  const stc::Host::Memory memory = stc::Host(fake.table()).alloc(100, 256);
  BOOST_TEST(reinterpret_cast<uintptr_t>(memory.get()) % 256 == 0u);
}

BOOST_AUTO_TEST_CASE(cancelled_throws) {
  FakeHost fake;
  const stc::Host host(fake.table());
  host.throw_if_cancelled();
  fake.cancelled = true;
  BOOST_CHECK_EXCEPTION(host.throw_if_cancelled(), Fault, [](const Fault& fault) {
    return fault.code() == STC_ERROR_CANCELLED && std::string(fault.what()) == "the run is ending";
  });
}

BOOST_AUTO_TEST_CASE(values_of_another_kind_say_both_kinds) {
  BOOST_CHECK_EXCEPTION(stc::Value("text").as_int(), Fault, [](const Fault& fault) {
    return std::string(fault.what()) == "value: got string, expected int";
  });
  BOOST_TEST(stc::Value(3).as_double() == 3.0);
  BOOST_TEST(stc::Value(uint32_t{7}).as_int() == 7);
  BOOST_TEST(stc::Value("abc").as_string() == "abc");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(sized)

// A host of an older minor has a smaller table: what it lacks reads as null.
BOOST_AUTO_TEST_CASE(members_that_the_other_side_lacks_are_zero) {
  FakeHost fake;
  stc_host old = fake.table();
  old.struct_size = offsetof(stc_host, create_inner);
  const stc_host seen = stc::detail::imported(&old);
  BOOST_TEST((seen.stream == old.stream));
  BOOST_TEST((seen.create_inner == nullptr));
  BOOST_TEST((seen.get_extension == nullptr));
}

BOOST_AUTO_TEST_CASE(a_larger_struct_is_cut) {
  struct Newer {
    stc_run_info known;
    uint64_t later = 99;
  } newer{{sizeof(Newer), 0, "id", "name", "dir", "{}", 5}};
  const stc_run_info seen = stc::detail::imported(&newer.known);
  BOOST_TEST(seen.start_step == 5u);
}

BOOST_AUTO_TEST_CASE(results_do_not_leave_the_callers_struct) {
  struct Small {
    stc_sync_limits limits;
    uint64_t guard = 0x5a5a5a5a;
  } small{};
  small.limits.struct_size = offsetof(stc_sync_limits, min_poll_interval_s);
  small.limits.min_poll_interval_s = -1;
  stc_sync_limits full{};
  full.max_file_bytes = 7;
  full.min_poll_interval_s = 3;
  stc::detail::export_to(&small.limits, full);
  BOOST_TEST(small.limits.max_file_bytes == 7u);
  BOOST_TEST(small.limits.min_poll_interval_s == -1);
  BOOST_TEST(small.limits.struct_size == offsetof(stc_sync_limits, min_poll_interval_s));
  BOOST_TEST(small.guard == 0x5a5a5a5au);
}

BOOST_AUTO_TEST_SUITE_END()
