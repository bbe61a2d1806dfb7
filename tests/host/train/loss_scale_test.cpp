// A run with a loss scale: overflow at chosen passes, what a skipped update leaves alone, and resume.
#include <ATen/core/Tensor.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "host/app/compose.hpp"
#include "host/plugins/registry.hpp"
#include "host/services/torch_services.hpp"
#include "host/train/plugin_state.hpp"
#include "host/train/tensor_bridge.hpp"

namespace stc::host {
namespace {

namespace fs = std::filesystem;

/// The numbers of the records, and the texts of the skips.
struct Records {
  std::vector<std::map<std::string, double>> steps;
  std::vector<std::pair<int64_t, std::string>> skips;  // step that was not made, reason
};

class Recorder final : public EventReceiver {
 public:
  explicit Recorder(std::shared_ptr<Records> records) : records_(std::move(records)) {}
  std::string name() const override { return "recorder"; }
  void on_event(const Event& event, double) override {
    if (event.name == "train_step") {
      auto& step = records_->steps.emplace_back();
      for (const auto& [key, value] : event.fields) {
        if (const auto* number = std::get_if<double>(&value)) step[key] = *number;
        if (const auto* integer = std::get_if<int64_t>(&value)) step[key] = static_cast<double>(*integer);
      }
    } else if (event.name == "optimizer_step_skipped") {
      auto& skip = records_->skips.emplace_back();
      for (const auto& [key, value] : event.fields) {
        if (key == "step") skip.first = std::get<int64_t>(value);
        if (key == "reason") skip.second = std::get<std::string>(value);
      }
    }
  }

 private:
  std::shared_ptr<Records> records_;
};

struct Outcome {
  Records records;
  std::string error;  // of fit
  Counters counters;
  at::Tensor weights;
  std::vector<std::pair<std::string, at::Tensor>> optimizer;
  double scale = 0;
  LoaderPosition position;
};

Registry& registry() {
  static Registry& registry = process_registry({std::getenv("STC_TEST_PLUGINS"), STC_TEST_SCALER_PLUGINS});
  return registry;
}

const std::vector<std::string> kBase = {"run.device=cpu",
                                        "run.seed=5",
                                        "model.name=half_probe",
                                        "model.vocab_size=64",
                                        "model.max_seq_len=8",
                                        "run.fast_path=off",
                                        "data.synthetic=true",
                                        "data.num_tokens=1000",
                                        "data.block_size=8",
                                        "data.micro_batch_size=2",
                                        "data.target_batch_size=2",
                                        "optimizer.lr=0.01",
                                        "optimizer.weight_decay=0.5",
                                        "scheduler.name=constant",
                                        "scheduler.warmup_steps=4",
                                        "logging.level=ERROR",
                                        "checkpoint.enabled=false"};

std::unique_ptr<Run> compose_run(const std::vector<std::string>& sets, const fs::path& folder) {
  install_torch_services();
  LoadRequest request;
  request.sets = kBase;
  // The last of two values of a key wins.
  for (const std::string& set : sets) {
    const std::string key = set.substr(0, set.find('=') + 1);
    std::erase_if(request.sets, [&](const std::string& base) { return base.rfind(key, 0) == 0; });
    request.sets.push_back(set);
  }
  request.output_dir = folder.string();
  return compose(load_config(request, registry()), registry(), ComposeMode::kTrain);
}

Outcome train(std::vector<std::string> sets, const std::string& precision = "forced_scaler",
              const fs::path& folder = fs::current_path() / "loss_scale" / "run") {
  sets.push_back("precision.mode=" + precision);
  std::unique_ptr<Run> run = compose_run(sets, folder);
  auto records = std::make_shared<Records>();
  run->events->add(std::make_unique<Recorder>(records));
  Outcome out;
  try {
    run->trainer->fit();
  } catch (const Error& error) {
    out.error = error.what();
  }
  run->events->flush();
  out.records = *records;
  out.counters = run->trainer->counters();
  out.weights = to_tensor(run->model->parameters()[0].tensor).detach().clone();
  StateCollector collector;
  run->optimizer->state_save(collector.writer());
  for (const HostTensor& tensor : collector.take_tensors()) {
    out.optimizer.emplace_back(tensor.name, view_of_host(tensor).clone());
  }
  out.scale = run->precision->scale();
  out.position = run->loader->position();
  return out;
}

/// Weights, moments and counts of the optimizer, and the counters of the run.
void check_same_state(const Outcome& a, const Outcome& b) {
  BOOST_CHECK(a.weights.equal(b.weights));
  BOOST_REQUIRE_EQUAL(a.optimizer.size(), b.optimizer.size());
  BOOST_CHECK_GE(a.optimizer.size(), 2u);
  for (size_t i = 0; i < a.optimizer.size(); ++i) {
    BOOST_CHECK_EQUAL(a.optimizer[i].first, b.optimizer[i].first);
    BOOST_CHECK_MESSAGE(a.optimizer[i].second.equal(b.optimizer[i].second), a.optimizer[i].first);
  }
  BOOST_CHECK_EQUAL(a.counters.step, b.counters.step);
  BOOST_CHECK_EQUAL(a.counters.samples, b.counters.samples);
  BOOST_CHECK_EQUAL(a.counters.tokens, b.counters.tokens);
  BOOST_CHECK_EQUAL(a.counters.micro_batches, b.counters.micro_batches);
}

std::string steps(int count) { return "run.max_steps=" + std::to_string(count); }

BOOST_AUTO_TEST_SUITE(loss_scale)

BOOST_AUTO_TEST_CASE(a_scaled_run_makes_the_bits_of_an_unscaled_one) {
  const Outcome scaled = train({steps(6), "optimizer.grad_clip=0.5"});
  const Outcome plain = train({steps(6), "optimizer.grad_clip=0.5"}, "fp32");
  BOOST_CHECK_EQUAL(scaled.scale, 65536.0);
  BOOST_CHECK_EQUAL(plain.scale, 1.0);
  check_same_state(scaled, plain);
  for (size_t i = 0; i < 6; ++i) {
    BOOST_CHECK_EQUAL(scaled.records.steps[i].at("loss"), plain.records.steps[i].at("loss"));
    // sqrt(8) / 4: of the gradients without their scale, before the clip.
    BOOST_CHECK_CLOSE(scaled.records.steps[i].at("grad_norm"), 0.70710678, 1e-4);
    BOOST_CHECK_EQUAL(scaled.records.steps[i].at("grad_norm"), plain.records.steps[i].at("grad_norm"));
  }
}

BOOST_AUTO_TEST_CASE(overflows_at_the_start_advance_neither_step_nor_schedule) {
  const Outcome out = train({steps(5), "model.bad_passes=[0,1,2]"});
  BOOST_CHECK_EQUAL(out.error, "");
  BOOST_REQUIRE_EQUAL(out.records.skips.size(), 3u);
  for (const auto& [step, reason] : out.records.skips) {
    BOOST_CHECK_EQUAL(step, 1);
    BOOST_CHECK_EQUAL(reason, "grad_scaler_overflow");
  }
  BOOST_REQUIRE_EQUAL(out.records.steps.size(), 5u);
  const double warmup[] = {0.25, 0.5, 0.75, 1.0, 1.0};
  for (size_t i = 0; i < 5; ++i) {
    BOOST_CHECK_EQUAL(out.records.steps[i].at("step"), static_cast<double>(i + 1));
    BOOST_CHECK_CLOSE(out.records.steps[i].at("lr"), 0.01 * warmup[i], 1e-10);
    BOOST_CHECK_EQUAL(out.records.steps[i].at("samples"), 2.0 * static_cast<double>(i + 1));
  }
  BOOST_CHECK_EQUAL(out.scale, 8192.0);
  BOOST_CHECK_EQUAL(out.counters.step, 5u);
  BOOST_CHECK_EQUAL(out.counters.tokens, 5u * 16u);
}

BOOST_AUTO_TEST_CASE(a_skipped_update_changes_nothing_but_scale_and_position) {
  // The first overflow is an error here, so the state right after the skip is there to see.
  const Outcome skipped = train({steps(9), "model.bad_passes=[2]", "precision.max_skipped_steps=0"});
  BOOST_CHECK(skipped.error.find("precision: 1 updates in a row overflowed") != std::string::npos);
  const Outcome two = train({steps(2)});
  check_same_state(skipped, two);
  BOOST_CHECK_EQUAL(skipped.scale, 32768.0);
  BOOST_CHECK(skipped.position == train({steps(3)}).position);
}

BOOST_AUTO_TEST_CASE(the_step_after_a_skip_is_that_of_a_run_without_the_bad_batch) {
  const Outcome skipping = train({steps(6), "model.bad_passes=[2,5]"});
  BOOST_CHECK_EQUAL(skipping.records.skips.size(), 2u);
  check_same_state(skipping, train({steps(6)}));
  BOOST_CHECK(skipping.position == train({steps(8)}).position);
}

BOOST_AUTO_TEST_CASE(one_bad_micro_batch_skips_its_window) {
  const Outcome out = train({steps(3), "data.target_batch_size=4", "model.bad_passes=[3]"});
  BOOST_REQUIRE_EQUAL(out.records.skips.size(), 1u);
  BOOST_CHECK_EQUAL(out.records.skips[0].first, 2);
  check_same_state(out, train({steps(3), "data.target_batch_size=4"}));
}

BOOST_AUTO_TEST_CASE(more_skips_in_a_row_than_allowed_end_the_run_and_keep_the_last_step) {
  const fs::path folder = fs::current_path() / "loss_scale" / "bound";
  fs::remove_all(folder);
  const Outcome out = train({steps(20), "model.bad_from=4", "precision.max_skipped_steps=3", "checkpoint.enabled=true",
                             "checkpoint.every_steps=100"},
                            "forced_scaler", folder);
  BOOST_CHECK(out.error.find("precision: 4 updates in a row overflowed, precision.max_skipped_steps is 3") !=
              std::string::npos);
  BOOST_CHECK_EQUAL(out.records.skips.size(), 4u);
  BOOST_CHECK_EQUAL(out.counters.step, 4u);
  BOOST_CHECK(fs::exists(folder / "checkpoints" / "step_000000000004"));
}

BOOST_AUTO_TEST_CASE(skips_that_are_not_in_a_row_never_end_the_run) {
  const Outcome out = train({steps(5), "model.bad_passes=[0,2,4,6]", "precision.max_skipped_steps=1"});
  BOOST_CHECK_EQUAL(out.error, "");
  BOOST_CHECK_EQUAL(out.records.skips.size(), 4u);
  BOOST_CHECK_EQUAL(out.counters.step, 5u);
}

BOOST_AUTO_TEST_CASE(a_resumed_run_continues_the_scale) {
  const std::vector<std::string> sets = {"model.by_token=true", "precision.growth_interval=4",
                                         "checkpoint.enabled=true", "checkpoint.every_steps=100"};
  auto run = [&](int count, const std::string& name, bool resume) {
    std::vector<std::string> all = sets;
    all.push_back(steps(count));
    if (resume) all.push_back("checkpoint.resume=true");
    return train(all, "forced_scaler", fs::current_path() / "loss_scale" / name);
  };
  fs::remove_all(fs::current_path() / "loss_scale" / "whole");
  fs::remove_all(fs::current_path() / "loss_scale" / "parts");
  const Outcome whole = run(24, "whole", false);
  BOOST_CHECK_GT(whole.records.skips.size(), 3u);
  const Outcome first = run(14, "parts", false);
  BOOST_CHECK_NE(first.scale, 65536.0);
  const Outcome second = run(24, "parts", true);
  check_same_state(whole, second);
  BOOST_CHECK_EQUAL(whole.scale, second.scale);
  BOOST_CHECK(whole.position == second.position);
  BOOST_CHECK_EQUAL(first.records.skips.size() + second.records.skips.size(), whole.records.skips.size());
  BOOST_REQUIRE_EQUAL(first.records.steps.size() + second.records.steps.size(), 24u);
  for (size_t i = 0; i < second.records.steps.size(); ++i) {
    BOOST_CHECK_EQUAL(second.records.steps[i].at("loss"), whole.records.steps[14 + i].at("loss"));
  }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(own_kernels)

BOOST_AUTO_TEST_CASE(a_model_says_which_types_it_computes_itself) {
  const fs::path folder = fs::current_path() / "loss_scale" / "own_kernels";
  const std::unique_ptr<Run> probe = compose_run({}, folder);
  BOOST_CHECK(!probe->model->has_own_kernels(STC_DEVICE_CPU, STC_DTYPE_BFLOAT16));
  const std::unique_ptr<Run> reference = compose_run({"model.name=reference_transformer", "model.d_model=16",
                                                      "model.n_layer=1", "model.n_head=2", "precision.mode=bf16"},
                                                     folder);
  BOOST_CHECK(reference->model->has_own_kernels(STC_DEVICE_CPU, STC_DTYPE_BFLOAT16));
  BOOST_CHECK(!reference->model->has_own_kernels(STC_DEVICE_CPU, STC_DTYPE_FLOAT16));
  BOOST_CHECK(!reference->model->has_own_kernels(STC_DEVICE_CUDA, STC_DTYPE_BFLOAT16));
  BOOST_CHECK_EQUAL(reference->context.compute_dtype, STC_DTYPE_BFLOAT16);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::host
