#include <cstdio>
#include <fstream>

#include <boost/test/unit_test.hpp>

#include "host/app/step_records.hpp"
#include "host/errors/error.hpp"

using namespace stc::host;

namespace {

std::string log_with(const std::string& lines) {
  std::ofstream("step_records.jsonl", std::ios::binary) << lines;
  return "step_records.jsonl";
}

std::string step(int number, double loss) {
  return R"({"event":"train_step","step":)" + std::to_string(number) + R"(,"loss":)" + std::to_string(loss) +
         R"(,"samples":4,"tokens_per_sec":)" + std::to_string(number * 7) + "}\n";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(step_records)

BOOST_AUTO_TEST_CASE(are_read_up_to_a_line_that_was_cut) {
  const std::string log = log_with(R"({"event":"train_start"})"
                                   "\n" +
                                   step(1, 2.5) + step(2, 2.25) + R"({"event":"train_st)");
  BOOST_TEST(StepFollower(log).last_step() == 2);
  const StepRecords records = read_step_records(log);
  BOOST_TEST(records.size() == 2u);
  BOOST_TEST(records.at(2) == "loss 2.25, samples 4");  // no rates: they are of the clock
  BOOST_TEST(StepFollower("not there").last_step() == 0);
}

BOOST_AUTO_TEST_CASE(are_followed_while_the_log_grows) {
  std::remove("step_records.jsonl");
  StepFollower follower("step_records.jsonl");
  BOOST_TEST(follower.last_step() == 0);
  const std::string cut = step(2, 2.25).substr(0, 20);
  log_with(step(1, 2.5) + cut);
  BOOST_TEST(follower.last_step() == 1);
  log_with(step(1, 2.5) + step(2, 2.25));
  BOOST_TEST(follower.last_step() == 2);
  // Cut for good: a resumed run ends the line and goes on.
  log_with(step(1, 2.5) + step(2, 2.25) + cut + "\n" + step(2, 2.25) + step(3, 2.0));
  BOOST_TEST(follower.last_step() == 3);
}

BOOST_AUTO_TEST_CASE(of_a_step_made_twice_are_equal_or_an_error) {
  BOOST_TEST(read_step_records(log_with(step(1, 2.5) + step(1, 2.5))).size() == 1u);
  try {
    read_step_records(log_with(step(1, 2.5) + step(1, 2.75)));
    BOOST_ERROR("no error");
  } catch (const CheckpointError& error) {
    BOOST_TEST(std::string(error.what()) ==
               "step 1 was made twice: first loss 2.5, samples 4; after a kill loss 2.75, samples 4");
  }
}

BOOST_AUTO_TEST_CASE(differ_first_where_they_differ) {
  BOOST_TEST(!first_difference({{1, "a"}, {2, "b"}}, {{1, "a"}, {2, "b"}}));
  BOOST_TEST(*first_difference({{1, "a"}, {2, "b"}, {3, "c"}}, {{1, "a"}, {2, "x"}, {3, "y"}}) ==
             "step 2: unbroken b; resumed x");
  BOOST_TEST(*first_difference({{1, "a"}, {2, "b"}}, {{2, "b"}}) == "step 1: unbroken a; resumed no record");
}

BOOST_AUTO_TEST_CASE(names_of_runs_are_no_difference) {
  Value comparison = {{"equal", false},
                      {"values",
                       {{{"key", "run_id"}, {"a", "x"}, {"b", "y"}},
                        {{"key", "config.config.run.output_dir"}, {"a", "x"}, {"b", "y"}}}},
                      {"tensors", Value::array()}};
  drop_names(comparison);
  BOOST_TEST(comparison["equal"] == true);
  comparison["values"].push_back({{"key", "samples"}, {"a", 1}, {"b", 2}});
  drop_names(comparison);
  BOOST_TEST(comparison["equal"] == false);
}

BOOST_AUTO_TEST_SUITE_END()
