// Kinds of faults in the arithmetic of a window that other trainers had without a sign: gradients that depend on the
// number of micro-batches, sums that stall, batches in which nothing counts, decay and rates where none belong. The
// probes make every right number known exactly.
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/linalg_svdvals.h>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "host/train/tensor_bridge.hpp"
#include "tests/host/train/composed_run.hpp"

namespace stc::host {
namespace {

namespace data = boost::unit_test::data;

using Weights = std::map<std::string, at::Tensor>;

Weights weights_of(const Run& run) {
  Weights out;
  for (const ModelParameter& parameter : run.model->parameters()) {
    out[parameter.name] = to_tensor(parameter.tensor).detach().clone();
  }
  return out;
}

struct Outcome {
  Weights before, after;
  stc::test::Records records;
};

Outcome train(const std::string& yaml, const std::vector<std::string>& sets = {}) {
  const stc::test::RunFolder folder;
  const std::unique_ptr<Run> run = stc::test::composed(folder, yaml, sets, ComposeMode::kTrain);
  Outcome out;
  out.before = weights_of(*run);
  out.records = stc::test::fit_recorded(*run);
  out.after = weights_of(*run);
  return out;
}

/// One weight of value 1; loss = w * mean label; p -= lr g. \param data further keys of data.
std::string linear(const std::string& labels, const std::string& data, double decay = 0.0) {
  return "run: {device: cpu, max_steps: 1, threads: 1}\n"
         "model: {name: probe_lin, vocab_size: 256, max_seq_len: 16}\n"
         "data: {name: probe_labels, labels: " +
         labels + ", " + data +
         "}\n"
         "optimizer: {name: probe_sgd, lr: 1.0, grad_clip: 1.0e9, weight_decay: " +
         std::to_string(decay) +
         "}\n"
         "scheduler: {name: constant, warmup_steps: 0}\n"
         "checkpoint: {enabled: false}\n"
         "logging: {every_steps: 1}\n";
}

double w(const Weights& weights) { return weights.at("w").item<double>(); }

const char* const kTransformer =
    "run: {device: cpu, max_steps: 1, threads: 1}\n"
    "model: {vocab_size: 256, max_seq_len: 16, n_layer: 1, n_head: 2, d_model: 64, d_ff: 96}\n"
    "data: {num_tokens: 500, micro_batch_size: 8, target_batch_size: 32}\n"
    "optimizer: {name: muon, lr: 0.01, weight_decay: 0.1}\n"
    "scheduler: {name: constant, warmup_steps: 0}\n"
    "checkpoint: {enabled: false}\n"
    "logging: {every_steps: 1}\n";

BOOST_AUTO_TEST_SUITE(window_faults)

BOOST_DATA_TEST_CASE(the_number_of_micro_batches_does_not_scale_the_gradient, data::make({1, 2, 4, 16}), count) {
  const Outcome out = train(linear("[3]", "micro_batch_size: 1, target_batch_size: " + std::to_string(count)));
  BOOST_CHECK_EQUAL(w(out.after), 1.0 - 3.0);
  BOOST_CHECK_EQUAL(out.records.steps.at(0).at("grad_norm"), 3.0);
  BOOST_CHECK_EQUAL(out.records.steps.at(0).at("loss"), 3.0);
}

/// A sum that is kept in bf16 stalls at 0.5: 1/512 is less than half of its last bit there.
BOOST_AUTO_TEST_CASE(a_long_accumulation_in_bf16_loses_nothing) {
  const Outcome out = train(linear("[1]", "micro_batch_size: 1, target_batch_size: 512"), {"precision.mode=bf16"});
  BOOST_CHECK_EQUAL(out.records.steps.at(0).at("grad_norm"), 1.0);
  BOOST_CHECK_EQUAL(w(out.after), 0.0);
}

BOOST_AUTO_TEST_CASE(a_window_in_which_no_label_counts_only_decays) {
  const Outcome out = train(linear("[-100]", "micro_batch_size: 1, target_batch_size: 2", 0.25));
  BOOST_CHECK_EQUAL(out.records.steps.at(0).at("loss"), 0.0);
  BOOST_CHECK_EQUAL(out.records.steps.at(0).at("grad_norm"), 0.0);
  BOOST_CHECK_EQUAL(w(out.after), 0.75);
}

BOOST_AUTO_TEST_CASE(a_micro_batch_in_which_no_label_counts_weighs_nothing) {
  const Outcome out = train(linear("[-100, 5]", "micro_batch_size: 1, target_batch_size: 2"));
  BOOST_CHECK_EQUAL(out.records.steps.at(0).at("loss"), 5.0);
  BOOST_CHECK_EQUAL(w(out.after), 1.0 - 5.0);
}

BOOST_DATA_TEST_CASE(a_label_that_no_class_has_is_an_error_that_names_it, data::make({"-4", "-1", "256", "2147483648"}),
                     label) {
  const std::vector<std::string> sets = {"data.name=probe_labels", "data.labels=[7, " + std::string(label) + "]"};
  try {
    train(kTransformer, sets);
    BOOST_ERROR("no error");
  } catch (const Error& error) {
    const std::string text = error.what();
    BOOST_TEST_INFO(text);
    BOOST_CHECK(text.find(std::string("labels: id ") + label + " in row 1, place 0, ") != std::string::npos);
    BOOST_CHECK(text.find("expected 0 to 255, or -100 (ignored)") != std::string::npos);
  }
}

/// The first step makes an update: warm-up begins at 1/w, not at 0.
BOOST_AUTO_TEST_CASE(warm_up_moves_the_weights_from_the_first_step_on) {
  const Outcome out = train(linear("[1]", "micro_batch_size: 1, target_batch_size: 1"),
                            {"run.max_steps=6", "scheduler.warmup_steps=4", "optimizer.lr=0.125"});
  const double factors[] = {0.25, 0.5, 0.75, 1, 1, 1};
  double weight = 1.0;
  for (size_t i = 0; i < 6; ++i) {
    BOOST_CHECK_EQUAL(out.records.steps.at(i).at("lr"), 0.125 * factors[i]);
    weight -= 0.125 * factors[i];
  }
  BOOST_CHECK_EQUAL(w(out.after), weight);
}

/// The schedule counts optimizer steps, whatever the accumulation.
BOOST_AUTO_TEST_CASE(the_schedule_moves_by_optimizer_steps) {
  const Outcome out = train(linear("[1]", "micro_batch_size: 1, target_batch_size: 16"),
                            {"run.max_steps=10", "scheduler.name=cosine", "scheduler.warmup_steps=4"});
  BOOST_REQUIRE_EQUAL(out.records.steps.size(), 10u);
  for (size_t i = 0; i < 10; ++i) {
    const double completed = static_cast<double>(i);
    const double progress = (completed - 4) / 6;
    const double factor =
        completed < 4 ? (completed + 1) / 4 : 0.1 + 0.9 * (1 + std::cos(std::acos(-1.0) * progress)) / 2;
    BOOST_CHECK_CLOSE(out.records.steps[i].at("lr"), factor, 1e-10);
    BOOST_CHECK_EQUAL(out.records.steps[i].at("step"), completed + 1);
    BOOST_CHECK_EQUAL(out.records.steps[i].at("micro_batches"), 16.0);
  }
}

const std::vector<std::string> kMuonWays[] = {
    {}, {"optimizer.grad_clip=0.01"}, {"data.micro_batch_size=32"}, {"model.n_kv_head=1"}, {"precision.mode=bf16"},
};

/// An update that plain momentum made would have singular values far apart.
BOOST_AUTO_TEST_CASE(muon_orthogonalises_through_the_whole_program) {
  for (const std::vector<std::string>& way : kMuonWays) {
    const Outcome out = train(kTransformer, way);
    const std::string name = "transformer.h.0.attn.q_proj.weight";
    const at::Tensor update = (out.before.at(name) * (1 - 0.01 * 0.1) - out.after.at(name)).to(at::kDouble) / 0.01;
    const at::Tensor values = at::linalg_svdvals(update);
    BOOST_TEST_INFO((way.empty() ? "plain" : way[0]));
    BOOST_CHECK_GT(values[0].item<double>(), 0.5);
    BOOST_CHECK_LT(values[0].item<double>(), 1.5);
    BOOST_CHECK_GT(values[32].item<double>(), 0.5);
  }
}

BOOST_AUTO_TEST_CASE(no_decay_keeps_the_gains_of_norms) {
  const Outcome out =
      train(kTransformer, {"optimizer.name=adamw", "optimizer.no_decay=true", "run.max_steps=4", "optimizer.lr=0.0001",
                           "optimizer.weight_decay=0.5", "data.name=probe_labels", "data.labels=[-100]"});
  for (const auto& [name, value] : out.after) {
    const at::Tensor& before = out.before.at(name);
    if (value.dim() == 1) {
      BOOST_CHECK_MESSAGE(value.equal(before), name << " moved");
    } else {
      const at::Tensor expected = before.to(at::kDouble) * std::pow(1 - 0.0001 * 0.5, 4);
      BOOST_CHECK_SMALL((value.to(at::kDouble) - expected).abs().max().item<double>(), 2e-8);
    }
  }
}

BOOST_DATA_TEST_CASE(checkpointing_with_dropout_changes_no_bit_of_a_run, data::make({"fp32", "bf16"}), precision) {
  const std::vector<std::string> sets = {"model.dropout=0.1",       "run.max_steps=8",
                                         "data.micro_batch_size=2", "data.target_batch_size=4",
                                         "optimizer.name=adamw",    "precision.mode=" + std::string(precision)};
  std::vector<std::string> again = sets;
  again.push_back("gradient_checkpointing=true");
  const Outcome kept = train(kTransformer, sets), recomputed = train(kTransformer, again);
  for (size_t i = 0; i < 8; ++i) {
    BOOST_CHECK_EQUAL(kept.records.steps.at(i).at("loss"), recomputed.records.steps.at(i).at("loss"));
  }
  for (const auto& [name, value] : kept.after) {
    BOOST_CHECK_MESSAGE(value.equal(recomputed.after.at(name)), name << " differs");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::host
