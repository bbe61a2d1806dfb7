#include "host/evaluate/progress.hpp"

#include <cmath>
#include <limits>

#include <boost/test/unit_test.hpp>

#include "host/errors/error.hpp"
#include "host/evaluate/review.hpp"

namespace stc::host {
namespace {

BOOST_AUTO_TEST_SUITE(progress)

BOOST_AUTO_TEST_CASE(the_best_is_the_lowest_loss_and_the_first_of_equals) {
  Progress progress(std::nullopt);
  BOOST_TEST(progress.add(1, 3.0));
  BOOST_TEST(progress.add(2, 2.0));
  BOOST_TEST(!progress.add(3, 2.0));
  BOOST_TEST(!progress.add(4, 2.5));
  BOOST_TEST(progress.best_step().value() == 2u);
  BOOST_TEST(progress.best_loss().value() == 2.0);
  BOOST_TEST(!progress.stopped());  // never, without early stop
}

BOOST_AUTO_TEST_CASE(patience_counts_evaluations_in_a_row) {
  Progress progress(EarlyStopSettings{2, 0});
  for (const double loss : {3.0, 3.5, 2.9, 3.0}) {
    progress.add(1, loss);
    BOOST_TEST(!progress.stopped(), loss);
  }
  progress.add(5, 2.9);  // not below
  BOOST_TEST(progress.stopped());
}

BOOST_AUTO_TEST_CASE(falls_smaller_than_min_delta_are_a_new_best_and_no_improvement) {
  Progress progress(EarlyStopSettings{3, 0.5});
  BOOST_TEST(progress.add(1, 4.0));
  BOOST_TEST(progress.add(2, 3.7));  // 0.3 below the mark of 4
  BOOST_TEST(progress.add(3, 3.5));  // exactly min_delta: not more than it
  BOOST_TEST(!progress.stopped());
  BOOST_TEST(progress.add(4, 3.4));  // 0.6 below the mark, which falls to 3.4
  BOOST_TEST(progress.add(5, 3.3));
  BOOST_TEST(progress.add(6, 3.2));
  BOOST_TEST(!progress.stopped());
  BOOST_TEST(progress.add(7, 3.1));
  BOOST_TEST(progress.stopped());
  BOOST_TEST(progress.best_step().value() == 7u);
}

BOOST_AUTO_TEST_CASE(an_evaluation_out_of_turn_may_be_the_best_and_does_not_count) {
  Progress progress(EarlyStopSettings{1, 0});
  progress.add(2, 3.0);
  const Value before = progress.state();
  BOOST_TEST(!progress.add(3, 9.0, false));
  BOOST_TEST(!progress.stopped());
  BOOST_TEST(progress.add(3, 2.0, false));
  BOOST_TEST(progress.best_step().value() == 3u);
  BOOST_TEST(progress.state().at("mark") == before.at("mark"));
  BOOST_TEST(progress.state().at("misses") == 0);
}

BOOST_AUTO_TEST_CASE(a_loss_that_is_not_finite_improves_nothing) {
  Progress progress(EarlyStopSettings{2, 0});
  BOOST_TEST(!progress.add(1, std::nan("")));
  BOOST_TEST(!progress.best_step().has_value());
  BOOST_TEST(!progress.add(2, std::numeric_limits<double>::infinity()));
  BOOST_TEST(progress.stopped());
  BOOST_TEST(progress.state().dump() == R"({"best_step":null,"best_loss":null,"mark":null,"misses":2})");
}

BOOST_AUTO_TEST_CASE(a_restored_one_goes_on_as_if_nothing_had_happened) {
  const std::vector<double> losses{5.0, 4.9000000000000004, 4.95, 4.8, 4.85, 4.85, 4.86};
  for (size_t cut = 0; cut <= losses.size(); ++cut) {
    Progress whole(EarlyStopSettings{3, 0.05});
    Progress first(EarlyStopSettings{3, 0.05});
    Progress second(EarlyStopSettings{3, 0.05});
    for (size_t i = 0; i < losses.size(); ++i) {
      if (i == cut) second.restore(Value::parse(first.state().dump()));
      const bool best = whole.add(i, losses[i]);
      BOOST_TEST((i < cut ? first : second).add(i, losses[i]) == best);
    }
    if (cut == losses.size()) second.restore(first.state());
    BOOST_TEST(second.state().dump() == whole.state().dump());
    BOOST_TEST(whole.stopped());
    BOOST_TEST(second.stopped());
  }
}

BOOST_AUTO_TEST_CASE(a_state_that_is_none_is_refused) {
  Progress progress(std::nullopt);
  progress.restore(nullptr);
  const auto names_its_place = [](const CheckpointError& error) {
    return std::string(error.what()).starts_with("state.json: evaluation.progress: ");
  };
  BOOST_CHECK_EXCEPTION(progress.restore({{"best_step", 1}}), CheckpointError, names_its_place);
  BOOST_CHECK_EXCEPTION(progress.restore({{"best_step", "x"}, {"best_loss", 1}, {"mark", 1}, {"misses", 0}}),
                        CheckpointError, names_its_place);
}

BOOST_AUTO_TEST_CASE(a_review_refuses_a_state_that_is_none) {
  const Settings settings;
  ReviewParts parts;
  parts.settings = &settings;
  EvaluationReview review(parts, {});
  review.restore(nullptr);
  for (const Value& state : {Value{{"step", "x"}, {"progress", nullptr}}, Value{{"step", 1}}, Value{1, 2}}) {
    BOOST_CHECK_EXCEPTION(review.restore(state), CheckpointError, [](const CheckpointError& error) {
      return std::string(error.what()).starts_with("state.json: evaluation: ");
    });
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::host
