// The conformance suites of optimizers and models, on right and on broken plugins of level exact.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "stc/testing/model.hpp"
#include "stc/testing/optimizer.hpp"

using stc::testing::check_model;
using stc::testing::check_optimizer;
using stc::testing::ModelCase;
using stc::testing::Report;
using stc::testing::Subject;

namespace {

struct Case {
  const char* name;
  const char* failure;  // in what the suite says; null: it passes
};
std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

const Case kOptimizers[] = {
    {"momentum", nullptr},
    {"ignores_factor", "grad_factor 0.25 on gradients of four times the size gives other weights"},
    {"decays_without_gradient", "a parameter without a gradient changed"},
    {"ignores_found_inf", "a parameter changed though found_inf is set"},
    {"any_shape", "expected INVALID_ARGUMENT"},
    {"forgets_velocity", "updates differ after a save and a load"},
    {"keeps_velocity", "a reset optimizer is not like a new one"},
    {"climbs", "the loss went from"},
};
const Case kModels[] = {
    {"linear", nullptr},
    {"same_seed", "another seed gives the same weights"},
    {"restless", "the same pass gives another result"},
    {"wrong_gradient", "differs from autograd's"},
    {"replaces", "does not accumulate with the weight"},
    {"weighs_loss", "the weight changes the loss"},
    {"detached", "the result does not reach the parameters"},
    {"twice", "is a tied tensor listed twice"},
    {"unbound", "every gradient is zero"},
    {"piles", "is not that of the new window alone"},
};

void expect(const Case& given, const Report& report) {
  if (given.failure == nullptr) {
    BOOST_TEST(report.passed(), report.text());
  } else {
    const bool found = report.text().find(given.failure) != std::string::npos;
    BOOST_TEST(found, report.text());
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(conformance)

BOOST_DATA_TEST_CASE(of_optimizers, kOptimizers, given) {
  expect(given, check_optimizer(Subject(&stc_plugin_entry_v1, STC_KIND_OPTIMIZER, given.name)));
}

BOOST_DATA_TEST_CASE(of_models, kModels, given) {
  ModelCase model;
  model.batch = [](uint64_t seed) {
    at::Tensor inputs = at::zeros({4, 3});
    for (int64_t i = 0; i < inputs.numel(); ++i) {
      inputs.data_ptr<float>()[i] =
          static_cast<float>(std::sin(static_cast<double>(seed * 17 + static_cast<uint64_t>(i))));
    }
    return std::vector<std::pair<std::string, at::Tensor>>{{"inputs", inputs}};
  };
  expect(given, check_model(Subject(&stc_plugin_entry_v1, STC_KIND_MODEL, given.name), model));
}

BOOST_AUTO_TEST_CASE(exceptions_of_libtorch_become_errors_without_a_backtrace) {
  stc::testing::TorchHost host;
  const stc::testing::SlotError error = host.take(stc::detail::guarded(host.table(), [] {
    (void)at::zeros({2, 3}).add(at::zeros({4, 5}));
  }));
  BOOST_TEST(error.code == STC_ERROR_TORCH);
  BOOST_TEST(error.message.find("must match the size of tensor") != std::string::npos);
  BOOST_TEST(error.message.find("frame #") == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
