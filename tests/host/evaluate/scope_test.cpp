#include "host/evaluate/evaluation_scope.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/rand.h>
#include <boost/test/unit_test.hpp>

#include "tests/host/evaluate/fake_model.hpp"

namespace stc::host::test {
namespace {

using Calls = std::vector<std::string>;

BOOST_AUTO_TEST_SUITE(evaluation_scope)

BOOST_AUTO_TEST_CASE(random_numbers_buffers_and_modes_are_as_before) {
  Fake fake;
  seed_generators(3);
  const at::Tensor expected = at::rand({50});
  seed_generators(3);
  {
    EvaluationScope scope(fake.model, fake.optimizer, at::kCPU);
    BOOST_TEST(!at::GradMode::is_enabled());
    (void)at::rand({17});  // what a model might do
    fake.state.buffer.fill_(9.0);
    scope.leave();
    BOOST_TEST(fake.state.buffer.item<float>() == 7.0f);
  }
  BOOST_TEST(at::GradMode::is_enabled());
  BOOST_TEST(at::rand({50}).equal(expected));
  BOOST_TEST(fake.state.calls == (Calls{"looking", "training", "changed"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(modes_that_round_do_not_move_the_weights) {
  Fake fake(true);
  const at::Tensor before = fake.state.weight.clone();
  const at::Tensor there_and_back = before.add(1000.1).add(-1000.1);
  BOOST_REQUIRE(!there_and_back.equal(before));  // the optimizer alone would lose bits
  {
    EvaluationScope scope(fake.model, fake.optimizer, at::kCPU);
    BOOST_TEST(fake.state.weight.equal(before.add(1000.1)));
    scope.leave();
  }
  BOOST_TEST(fake.state.weight.equal(before));
  BOOST_TEST(fake.state.calls == (Calls{"eval", "changed", "looking", "training", "train", "changed"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_fault_inside_puts_everything_back_too) {
  Fake fake(true);
  const at::Tensor before = fake.state.weight.clone();
  try {
    const EvaluationScope scope(fake.model, fake.optimizer, at::kCPU);
    fake.state.buffer.fill_(9.0);
    throw std::runtime_error("a fault");
  } catch (const std::runtime_error&) {
  }
  BOOST_TEST(fake.state.weight.equal(before));
  BOOST_TEST(fake.state.buffer.item<float>() == 7.0f);
  BOOST_TEST(fake.state.calls.back() == "changed");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::host::test
