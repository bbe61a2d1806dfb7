// Results that stay on the device until they are needed, run on the CPU: the same numbers, and no read
// that would wait for a device between records.

#include <algorithm>
#include <atomic>

#include <ATen/record_function.h>
#include <boost/test/unit_test.hpp>

#include "host/app/instance_spec.hpp"
#include "host/services/tensor_handle.hpp"
#include "tests/host/train/composed_run.hpp"

namespace stc::host {
namespace {

const char* const kTransformer =
    "run: {device: cpu, max_steps: 6, threads: 1, seed: 3}\n"
    "model: {vocab_size: 64, max_seq_len: 16, n_layer: 2, n_head: 2, n_kv_head: 1, d_model: 32, d_ff: 48}\n"
    "data: {num_tokens: 64, micro_batch_size: 2, target_batch_size: 4}\n"
    "optimizer: {lr: 0.01, grad_clip: 0.5}\n"
    "scheduler: {warmup_steps: 2}\n"
    "checkpoint: {enabled: false}\n"
    "logging: {every_steps: 1000}\n";

std::string probe(const std::string& policy) {
  return "run: {device: cpu, max_steps: 5, nan_policy: " + policy +
         "}\n"
         "model: {name: probe_nan, vocab_size: 64, max_seq_len: 16, at: [2, 5, 6]}\n"
         "data: {num_tokens: 64, micro_batch_size: 1, target_batch_size: 1}\n"
         "optimizer: {name: probe_sgd, lr: 0.1, weight_decay: 0.0}\n"
         "scheduler: {name: linear, warmup_steps: 0, max_steps: 6}\n"
         "checkpoint: {enabled: false}\n"
         "logging: {every_steps: 1000}\n";
}

/// Neither the model nor the optimizer reads anything of its own.
const char* const kFinite =
    "run: {device: cpu, max_steps: 6}\n"
    "model: {name: probe_nan, vocab_size: 64, max_seq_len: 16}\n"
    "data: {num_tokens: 64}\n"
    "optimizer: {name: probe_sgd, lr: 0.1, grad_clip: 0.1}\n"
    "checkpoint: {enabled: false}\n"
    "logging: {every_steps: 1000}\n";

struct Outcome {
  Counters counters;
  std::optional<double> loss;
  std::vector<at::Tensor> weights;
  std::vector<std::string> events;
  std::string error;
};

Outcome train(const std::string& yaml, bool deferred) {
  const stc::test::RunFolder folder;
  Registry& registry = stc::test::test_registry();
  const std::unique_ptr<Run> run = stc::test::composed(folder, yaml, {}, ComposeMode::kCheck, registry);
  Outcome out;
  auto records = std::make_shared<stc::test::Records>();
  run->events->add(std::make_unique<stc::test::Recorder>(records));
  // A second optimizer and loader: those of the composition belong to its own trainer.
  Optimizer optimizer(instance_spec(registry, run->context, run->config, STC_KIND_OPTIMIZER,
                                    run->settings.optimizer.name, "optimizer"));
  Loader loader(*run->dataset, run->tokenizer.get(), run->settings.data, "train", {});
  TrainerParts parts;
  parts.config = &run->config;
  parts.settings = &run->settings;
  parts.context = &run->context;
  parts.events = run->events.get();
  parts.model = run->model.get();
  parts.optimizer = &optimizer;
  parts.precision = run->precision.get();
  parts.plan = run->precision->resolve(run->context.device, "fp32");
  parts.loader = &loader;
  parts.device_name = "cpu";
  parts.deferred_reads = deferred;
  Trainer trainer(std::move(parts));
  try {
    out.loss = trainer.fit().loss;
  } catch (const Error& error) {
    out.error = error.what();
  }
  out.counters = trainer.counters();
  run->events->flush();
  out.events = records->names;
  for (const ModelParameter& parameter : run->model->parameters()) {
    out.weights.push_back(to_tensor(parameter.tensor).detach().clone());
  }
  return out;
}

void check_equal(const Outcome& a, const Outcome& b) {
  BOOST_CHECK_EQUAL(a.counters.step, b.counters.step);
  BOOST_CHECK_EQUAL(a.counters.samples, b.counters.samples);
  BOOST_CHECK_EQUAL(a.counters.tokens, b.counters.tokens);
  BOOST_CHECK_EQUAL(a.counters.micro_batches, b.counters.micro_batches);
  BOOST_CHECK_EQUAL(a.loss.value_or(-1), b.loss.value_or(-1));
  BOOST_REQUIRE_EQUAL(a.weights.size(), b.weights.size());
  for (size_t i = 0; i < a.weights.size(); ++i) BOOST_CHECK(a.weights[i].equal(b.weights[i]));
}

std::atomic<int> reads{0};

std::unique_ptr<at::ObserverContext> count_read(const at::RecordFunction& function) {
  if (std::string(function.name()) == "aten::_local_scalar_dense") ++reads;
  return nullptr;
}

int64_t count(const std::vector<std::string>& names, const std::string& name) {
  return std::count(names.begin(), names.end(), name);
}

BOOST_AUTO_TEST_SUITE(deferred_reads)

BOOST_AUTO_TEST_CASE(give_the_same_bits_with_clipping_and_accumulation) {
  const Outcome direct = train(kTransformer, false);
  const Outcome deferred = train(kTransformer, true);
  BOOST_CHECK_EQUAL(direct.counters.step, 6u);
  check_equal(direct, deferred);
}

BOOST_AUTO_TEST_CASE(read_nothing_between_records) {
  const auto handle = at::addGlobalCallback(at::RecordFunctionCallback(count_read).scopes({at::RecordScope::FUNCTION}));
  reads = 0;
  train(kFinite, false);
  const int direct = reads.exchange(0);
  train(kFinite, true);
  const int deferred = reads.exchange(0);
  at::removeCallback(handle);
  BOOST_CHECK_GE(direct, 2 * 6);   // each step reads its loss and its norm
  BOOST_CHECK_EQUAL(deferred, 1);  // the loss of the last step
}

BOOST_AUTO_TEST_CASE(take_a_refused_step_back) {
  const Outcome direct = train(probe("skip"), false);
  const Outcome deferred = train(probe("skip"), true);
  BOOST_CHECK_EQUAL(direct.counters.step, 5u);
  BOOST_CHECK_EQUAL(direct.counters.samples, 5u);
  check_equal(direct, deferred);
  BOOST_CHECK_EQUAL(count(direct.events, "optimizer_step_skipped"), 3);
  BOOST_CHECK_EQUAL(count(deferred.events, "optimizer_step_skipped"), 3);
}

BOOST_AUTO_TEST_CASE(stop_with_the_weights_of_the_last_finite_step) {
  const Outcome direct = train(probe("stop"), false);
  const Outcome deferred = train(probe("stop"), true);
  BOOST_CHECK_EQUAL(direct.counters.step, 2u);
  check_equal(direct, deferred);
  BOOST_CHECK_EQUAL(direct.error, deferred.error);
  BOOST_CHECK_MESSAGE(direct.error.rfind("loss: not finite at step 3, batch synthetic, samples 3..3", 0) == 0,
                      direct.error);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::host
