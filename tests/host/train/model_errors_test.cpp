// Models that break their contract: the host says which plugin, which slot, and what is wrong.
#include <ostream>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/ones.h>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "host/errors/error.hpp"
#include "host/generate/sampler.hpp"
#include "host/train/gradient_pass.hpp"
#include "host/train/loss.hpp"
#include "host/train/tensor_bridge.hpp"
#include "host/train/trainer.hpp"
#include "tests/host/train/broken_tables.hpp"

namespace stc::host {
namespace {

using test::BrokenModel;
using test::thrown_text;

struct Case {
  const char* name;
  void (*break_it)(stc_model_api&);
  void (*use)(Model&);
  const char* message;
  friend std::ostream& operator<<(std::ostream& out, const Case& item) { return out << item.name; }
};

const Case kSlots[] = {
    {"entries of a parameter list too small",
     [](stc_model_api& api) {
       api.parameters = [](stc_model*, stc_parameter_list* out) -> stc_error* {
         static stc_parameter entry{};
         out->items = &entry;
         out->count = 1;
         out->stride = 8;
         return nullptr;
       };
     },
     [](Model& model) { model.parameters(); }, "plugin broken (model): parameters: stride 8 is smaller than one entry"},
    {"a buffer without a tensor",
     [](stc_model_api& api) {
       api.buffers = [](stc_model*, stc_tensor_list* out) -> stc_error* {
         static const stc_named_tensor entry{"mean", nullptr};
         *out = {&entry, 1};
         return nullptr;
       };
     },
     [](Model& model) { model.buffers(); }, "plugin broken (model): buffers: entry 0 has no name or no tensor"},
    {"a fused pass without a loss", [](stc_model_api& api) { api.loss_and_grad = &test::give_nothing; },
     [](Model& model) {
       ModelOutputs outputs;
       std::string reason;
       model.loss_and_grad({}, {}, outputs, reason);
     },
     "plugin broken (model): loss_and_grad: returned no loss"},
    {"entries of dimensions too small",
     [](stc_model_api& api) {
       api.dimensions = [](stc_model*, const stc_dimension** items, uint32_t* count, uint32_t* stride) -> stc_error* {
         static const stc_dimension entry{sizeof(stc_dimension), 0, "h.in_features", 4};
         *items = &entry;
         *count = 1;
         *stride = 4;
         return nullptr;
       };
     },
     [](Model& model) { model.dimensions(); }, "plugin broken (model): dimensions: stride 4 is smaller than one entry"},
    {"a number of stages without names",
     [](stc_model_api& api) {
       api.stages = [](stc_model*, const char* const**, uint32_t* count) -> stc_error* {
         *count = 2;
         return nullptr;
       };
     },
     [](Model& model) { model.stages(); }, "plugin broken (model): stages: gave no names"},
    {"generation without logits", [](stc_model_api& api) { api.generate_step = &test::give_nothing; },
     [](Model& model) { model.generate_step(nullptr, nullptr); },
     "plugin broken (model): generate_step: returned no logits"},
    {"an output put twice",
     [](stc_model_api& api) {
       api.forward = [](stc_model*, const stc_pass_info*, const stc_tensor_list*, const stc_output_writer* out) {
         out->put(out->ctx, "logits", to_handle(at::ones({1})));
         return out->put(out->ctx, "logits", to_handle(at::ones({1})));
       };
     },
     [](Model& model) { model.forward({}, {}); }, "plugin broken (model): forward: output logits: put twice"},
    {"an output without a tensor",
     [](stc_model_api& api) {
       api.forward = [](stc_model*, const stc_pass_info*, const stc_tensor_list*, const stc_output_writer* out) {
         return out->put(out->ctx, "logits", nullptr);
       };
     },
     [](Model& model) { model.forward({}, {}); },
     "plugin broken (model): forward: output: a name and a tensor are needed"},
};

/// A list of parameters that a test sets.
std::vector<stc_parameter> given_parameters;

stc_model_api table_of_given_parameters() {
  stc_model_api api = test::plain_model_table();
  api.parameters = [](stc_model*, stc_parameter_list* out) -> stc_error* {
    out->items = given_parameters.data();
    out->count = given_parameters.size();
    out->stride = sizeof(stc_parameter);
    return nullptr;
  };
  return api;
}

stc_parameter parameter(const char* name, const at::Tensor& tensor, const char* const* aliases = nullptr,
                        bool trainable = true) {
  stc_parameter item{};
  item.struct_size = sizeof item;
  item.name = name;
  item.tensor = borrow_handle(tensor);
  item.aliases = aliases;
  item.trainable = trainable ? 1 : 0;
  return item;
}

BOOST_AUTO_TEST_SUITE(model_errors)

BOOST_DATA_TEST_CASE(a_slot_that_breaks_its_contract_is_named, boost::unit_test::data::make(kSlots), item) {
  stc_model_api api = test::plain_model_table();
  item.break_it(api);
  BrokenModel broken(api);
  Model model = broken.make();
  BOOST_TEST(thrown_text<PluginError>([&] { item.use(model); }) == item.message);
}

BOOST_AUTO_TEST_CASE(a_create_without_an_instance_is_refused) {
  stc_model_api api = test::plain_model_table();
  api.create = &test::give_nothing;
  BrokenModel broken(api);
  BOOST_TEST(thrown_text<PluginError>([&] { broken.make(); }) == "plugin broken (model): create: returned no instance");
}

BOOST_AUTO_TEST_CASE(a_list_of_parameters_that_makes_no_sense_is_refused) {
  const at::Tensor weight = at::ones({2}), counts = at::ones({2}, at::kLong), none;
  const char* const tied[] = {"head.weight", nullptr};
  const auto message = [](std::vector<stc_parameter> parameters) {
    given_parameters = std::move(parameters);
    BrokenModel broken(table_of_given_parameters());
    Model model = broken.make();
    return thrown_text<PluginError>([&] { model.parameters(); });
  };
  const std::string who = "plugin broken (model): parameters: ";
  BOOST_TEST(message({parameter("w", weight), parameter("", weight)}) == who + "entry 1 has no name");
  BOOST_TEST(message({parameter(nullptr, weight)}) == who + "entry 0 has no name");
  BOOST_TEST(message({parameter("w", none)}) == who + "w has no tensor");
  BOOST_TEST(message({parameter("w", weight), parameter("w", weight)}) == who + "two entries are named w");
  BOOST_TEST(message({parameter("head.weight", weight), parameter("embed.weight", weight, tied)}) ==
             who + "two entries are named head.weight");
  BOOST_TEST(message({parameter("counts", counts)}) ==
             who + "counts is trainable and has dtype Long, needs a floating-point type");
  BOOST_TEST(message({parameter("counts", counts, nullptr, false), parameter("w", weight, tied)}) == "none");
}

BOOST_AUTO_TEST_CASE(a_model_without_a_trainable_parameter_cannot_be_trained) {
  const at::Tensor weight = at::ones({2});
  given_parameters = {parameter("w", weight, nullptr, false)};
  BrokenModel broken(table_of_given_parameters());
  Model model = broken.make();
  const Settings settings;
  TrainerParts parts;
  parts.settings = &settings;
  parts.context = &broken.context;
  parts.model = &model;
  parts.device_name = "cpu";
  BOOST_TEST(thrown_text<TrainError>([&] { const Trainer trainer(parts); }) ==
             "model broken: has no trainable parameter");
}

/// Puts logits (1,1,3) that depend on nothing, or nothing when the flag is down.
bool gives_logits = true;

stc_model_api table_of_constant_logits() {
  stc_model_api api = test::plain_model_table();
  api.forward = [](stc_model*, const stc_pass_info*, const stc_tensor_list*,
                   const stc_output_writer* out) -> stc_error* {
    return gives_logits ? out->put(out->ctx, "logits", to_handle(at::ones({1, 1, 3}))) : nullptr;
  };
  return api;
}

BOOST_AUTO_TEST_CASE(a_forward_that_gives_no_loss_to_learn_from_is_refused) {
  BrokenModel broken(table_of_constant_logits());
  Model model = broken.make();
  PhaseClock phases;
  GradientPass pass(model, PrecisionPlan(), at::Device(at::kCPU), phases);
  const at::Tensor labels = at::ones({1, 1}, at::kLong);
  DeviceBatch batch;
  gives_logits = false;
  BOOST_TEST(thrown_text<ShapeError>([&] { pass.autograd({}, batch); }) ==
             "model broken: returned neither loss nor logits\n"
             "put a scalar `loss`, or `logits` (B,T,V) for a batch with labels");
  gives_logits = true;
  BOOST_TEST(thrown_text<ShapeError>([&] { pass.autograd({}, batch); }) ==
             "model broken: returned logits, but the batch has no labels");
  batch.inputs.push_back({"labels", borrow_handle(labels)});
  BOOST_TEST(thrown_text<TrainError>([&] { pass.autograd({}, batch); }) ==
             "model broken: the loss does not depend on any trainable parameter\n"
             "forward must compute it from parameters that require gradients");
}

BOOST_AUTO_TEST_CASE(a_forward_without_logits_cannot_be_sampled_from) {
  BrokenModel broken(table_of_constant_logits());
  Model model = broken.make();
  SamplerOptions options;
  options.max_tokens = 1;
  options.block_size = 4;
  gives_logits = false;
  BOOST_TEST(thrown_text<TrainError>([&] { sample(model, {0}, options, [](int32_t) {}); }) ==
             "model broken: returned no logits to sample from");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::host
