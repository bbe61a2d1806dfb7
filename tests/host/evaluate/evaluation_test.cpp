#include "host/evaluate/evaluation.hpp"

#include <cmath>
#include <cstring>

#include <ATen/ops/zeros.h>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "host/services/tensor_handle.hpp"
#include "tests/host/evaluate/fake_model.hpp"

namespace stc::host::test {
namespace {

struct Scene {
  stc::testing::Folder folder;
  Fake fake;
  std::unique_ptr<Tokenizer> tokenizer;
  std::string text;

  Scene() {
    for (int i = 0; i < 500; ++i) text += static_cast<char>('a' + i * i % 26);
  }
  ValidationSet set(int64_t micro_batch_size) {
    DataSettings settings;
    settings.micro_batch_size = micro_batch_size;
    settings.block_size = 16;
    settings.vocab_size = 256;
    tokenizer = std::make_unique<Tokenizer>(
        spec_of(built_plugin(STC_KIND_TOKENIZER, "byte"), {{"vocab_size", 256}}, fake.context));
    return ValidationSet(
        "v",
        std::make_unique<Dataset>(spec_of(built_plugin(STC_KIND_DATASET, "text"),
                                          {{"text_path", write_file(folder, "v.txt", text)}}, fake.context)),
        tokenizer.get(), settings, {});
  }
  EvaluationParts parts(std::function<bool()> stop = [] { return false; }) {
    EvaluationParts parts;
    parts.model = &fake.model;
    parts.device_name = "cpu";
    parts.capacity = 16;
    parts.stop = std::move(stop);
    return parts;
  }
};

at::Tensor input(const stc_tensor_list& inputs, const char* name) {
  for (uint64_t i = 0; i < inputs.count; ++i) {
    if (std::strcmp(inputs.items[i].name, name) == 0) return to_tensor(inputs.items[i].tensor);
  }
  return {};
}

BOOST_AUTO_TEST_SUITE(evaluation)

// A model that knows nothing needs 8 bits for a byte: ln 256 nats, perplexity 256.
BOOST_AUTO_TEST_CASE(uniform_logits_cost_eight_bits_a_byte) {
  Scene scene;
  scene.fake.state.forward = [](const stc_pass_info& info, const stc_tensor_list& inputs,
                                const stc_output_writer& outputs) {
    BOOST_TEST((info.flags & STC_PASS_TRAINING) == 0u);
    const at::Tensor ids = input(inputs, "input_ids");
    outputs.put(outputs.ctx, "logits", to_handle(at::zeros({ids.size(0), ids.size(1), 256})));
  };
  ValidationSet set = scene.set(3);
  const Score score = evaluate(scene.parts(), set).value();
  BOOST_TEST(score.tokens == 470u);  // 29 blocks of 17 bytes give 464 labels, the 7 left give 6
  BOOST_TEST(score.bytes.value() == 470u);
  BOOST_TEST(std::abs(score.loss - std::log(256.0)) < 1e-6);
  BOOST_TEST(std::abs(score.perplexity() - 256.0) < 1e-3);
  BOOST_TEST(std::abs(score.bits_per_byte().value() - 8.0) < 1e-5);
}

// A model whose loss is the mean of its labels: then the set's loss is the mean of all labels,
// whatever the batches.
BOOST_DATA_TEST_CASE(every_label_weighs_alike, boost::unit_test::data::make({1, 2, 7, 29, 64}), micro_batch) {
  Scene scene;
  double sum = 0;
  for (size_t i = 0; i < scene.text.size(); ++i) sum += i % 17 == 0 ? 0.0 : scene.text[i];
  scene.fake.state.forward = [](const stc_pass_info&, const stc_tensor_list& inputs, const stc_output_writer& outputs) {
    const at::Tensor labels = input(inputs, "labels");
    const at::Tensor valid = labels.ne(-100);
    outputs.put(outputs.ctx, "loss",
                to_handle(labels.mul(valid).sum().to(at::kDouble).div(valid.sum().to(at::kDouble))));
  };
  ValidationSet set = scene.set(micro_batch);
  const Score score = evaluate(scene.parts(), set).value();
  BOOST_TEST(score.tokens == 470u);
  BOOST_TEST(std::abs(score.loss - sum / 470.0) < 1e-9);
}

BOOST_AUTO_TEST_CASE(a_signal_ends_it_before_the_next_batch) {
  Scene scene;
  int forwards = 0;
  scene.fake.state.forward = [&](const stc_pass_info&, const stc_tensor_list&, const stc_output_writer& outputs) {
    ++forwards;
    outputs.put(outputs.ctx, "loss", to_handle(at::zeros({})));
  };
  ValidationSet set = scene.set(1);
  BOOST_TEST(!evaluate(scene.parts([&] { return forwards == 5; }), set).has_value());
  BOOST_TEST(forwards == 5);
  forwards = 0;
  BOOST_TEST(evaluate(scene.parts(), set).has_value());  // the whole set again
  BOOST_TEST(forwards == 30);
}

BOOST_AUTO_TEST_CASE(without_text_there_are_no_bits_per_byte) {
  Score score;
  score.loss = 1.0;
  score.tokens = 10;
  BOOST_TEST(!score.bits_per_byte().has_value());
  score.bytes = 40;
  BOOST_TEST(std::abs(score.bits_per_byte().value() - 10.0 / (std::log(2.0) * 40.0)) < 1e-15);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::host::test
