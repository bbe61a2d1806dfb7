// Clipping by the norm over all gradients against its formula in double precision, seen through an optimizer that
// subtracts lr times the gradient and does nothing else.
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <boost/test/unit_test.hpp>

#include "host/train/tensor_bridge.hpp"
#include "tests/host/train/composed_run.hpp"

namespace stc::host {
namespace {

constexpr const char* kRun =
    "run: {device: cpu, max_steps: 1, seed: 3, threads: 1}\n"
    "model: {vocab_size: 64, max_seq_len: 16, n_layer: 2, n_head: 2, d_model: 16, d_ff: 32}\n"
    "data: {num_tokens: 500, micro_batch_size: 2, target_batch_size: 4}\n"
    "optimizer: {name: probe_sgd, lr: 1.0, weight_decay: 0.0}\n"
    "scheduler: {name: constant, warmup_steps: 0}\n"
    "checkpoint: {enabled: false}\n";

struct Outcome {
  std::vector<double> update;  // of all weights, by one step with lr 1
  double grad_norm = 0;        // as logged
};

std::vector<double> weights(const Run& run) {
  std::vector<double> out;
  for (const ModelParameter& parameter : run.model->parameters()) {
    const at::Tensor flat = to_tensor(parameter.tensor).detach().to(at::kDouble).contiguous();
    out.insert(out.end(), flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel());
  }
  return out;
}

Outcome step(const std::string& clip) {
  const stc::test::RunFolder folder;
  const std::unique_ptr<Run> run =
      stc::test::composed(folder, kRun, {"optimizer.grad_clip=" + clip}, ComposeMode::kTrain);
  Outcome out;
  out.update = weights(*run);
  const stc::test::Records records = stc::test::fit_recorded(*run);
  const std::vector<double> after = weights(*run);
  for (size_t i = 0; i < after.size(); ++i) out.update[i] -= after[i];
  BOOST_REQUIRE_EQUAL(records.steps.size(), 1u);
  out.grad_norm = records.steps[0].at("grad_norm");
  return out;
}

double norm(const std::vector<double>& values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares);
}

BOOST_AUTO_TEST_SUITE(clipping)

BOOST_AUTO_TEST_CASE(scales_all_gradients_by_one_factor_of_their_common_norm) {
  const Outcome whole = step("null");
  const double expected = norm(whole.update);
  BOOST_TEST_REQUIRE(expected > 0.1);
  BOOST_CHECK_LE(std::abs(whole.grad_norm - expected), 1e-6 * expected);
  for (const double limit : {0.5 * expected, 0.01 * expected}) {
    const Outcome clipped = step(std::to_string(limit));
    BOOST_CHECK_EQUAL(clipped.grad_norm, whole.grad_norm);  // the norm before
    const double factor = std::stod(std::to_string(limit)) / (expected + 1e-6);
    double difference = 0, largest = 0;
    for (size_t i = 0; i < whole.update.size(); ++i) {
      difference = std::max(difference, std::abs(clipped.update[i] - factor * whole.update[i]));
      largest = std::max(largest, std::abs(whole.update[i]));
    }
    // A weight near 1 is rounded by up to 6e-8 in each of the two runs.
    BOOST_CHECK_LE(difference, 1e-6 * factor * largest + 1.2e-7);
  }
}

BOOST_AUTO_TEST_CASE(changes_no_bit_below_the_limit) {
  const Outcome whole = step("null");
  BOOST_CHECK(step("1000.0").update == whole.update);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::host
