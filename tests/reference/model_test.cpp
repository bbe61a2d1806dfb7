// One batch with every kind of padding through the model of Speedtronic 2.0.0: logits, loss, gradients.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/reference/dump.hpp"
#include "transformer.hpp"

using stc::reference::Dump;
using namespace stc::reference_transformer;

namespace {

Config config_of_dump() {
  Config config;
  config.vocab_size = 96;
  config.block_size = 16;
  config.n_layer = 2;
  config.n_head = 4;
  config.n_kv_head = 1;
  config.d_model = 32;
  config.d_ff = 64;
  config.tie_weights = false;
  return config;
}

double relative_difference(const at::Tensor& a, const at::Tensor& b) {
  return ((a - b).abs().max() / b.abs().max()).item<double>();
}

/// The model with the dump's weights; every weight of the dump is used, and no other.
struct Loaded {
  Dump dump{"padded.safetensors"};
  Transformer model;

  explicit Loaded(bool composed)
      : model(config_of_dump(), [&] {
          Transformer::Options options;
          options.composed = composed;
          return options;
        }()) {
    at::NoGradGuard no_grad;
    BOOST_REQUIRE_EQUAL(dump.names_under("weights/").size(), model.parameters().leaves.size());
    for (Leaf& leaf : model.parameters().leaves) leaf.value.copy_(dump.tensor("weights/" + leaf.name));
  }
};

const bool kPaths[] = {false, true};  // own kernels, LibTorch's operators

}  // namespace

BOOST_AUTO_TEST_SUITE(reference_model)

BOOST_DATA_TEST_CASE(logits_and_loss_agree, boost::unit_test::data::make(kPaths), composed) {
  Loaded loaded(composed);
  const Dump& dump = loaded.dump;
  const at::Tensor ids = dump.tensor("input_ids");
  const at::Tensor labels = dump.tensor("labels");
  const at::Tensor mask = dump.tensor("attention_mask");
  const auto masked = loaded.model.forward({false, false, 0}, ids, labels, mask);
  BOOST_CHECK_LT(relative_difference(masked.logits.detach(), dump.tensor("logits")), 1e-5);
  BOOST_CHECK_CLOSE(masked.loss.item<double>(), dump.doubles("loss")[0], 1e-3);
  const auto unmasked = loaded.model.forward({false, false, 0}, ids, labels, {});
  BOOST_CHECK_LT(relative_difference(unmasked.logits.detach(), dump.tensor("logits_without_mask")), 1e-5);
  BOOST_CHECK_CLOSE(unmasked.loss.item<double>(), dump.doubles("loss_without_mask")[0], 1e-3);
}

BOOST_DATA_TEST_CASE(gradients_agree, boost::unit_test::data::make(kPaths), composed) {
  for (const bool checkpointing : {false, true}) {
    Loaded loaded(composed);
    const Dump& dump = loaded.dump;
    loaded.model.set_gradient_checkpointing(checkpointing);
    const auto output = loaded.model.forward({true, false, 0}, dump.tensor("input_ids"), dump.tensor("labels"),
                                             dump.tensor("attention_mask"));
    BOOST_CHECK_CLOSE(output.loss.item<double>(), dump.doubles("loss")[0], 1e-3);
    output.loss.backward();
    const auto& leaves = loaded.model.parameters().leaves;
    for (size_t i = 0; i < leaves.size(); ++i) {
      BOOST_TEST_CONTEXT(leaves[i].name) {
        BOOST_CHECK_LT(relative_difference(loaded.model.gradient(i), dump.tensor("gradients/" + leaves[i].name)), 2e-5);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
