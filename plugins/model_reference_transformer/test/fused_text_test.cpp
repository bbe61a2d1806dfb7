// 600 steps on real text by the fused pass and by autograd: the losses stay together.
#include <fstream>
#include <iterator>

#include "fixture.hpp"

namespace stc::reference_transformer {
namespace {

constexpr int kSteps = 600;
constexpr int64_t kRows = 4;
constexpr int64_t kTime = 32;

std::string read_text() {
  std::ifstream in(STC_TEST_TEXT, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  BOOST_REQUIRE_GT(text.size(), 10000U);
  return text;
}

/// Windows of bytes at places that follow from the step.
Batch text_batch(const std::string& text, uint64_t step) {
  Batch out;
  out.ids = at::empty({kRows, kTime}, at::kLong);
  out.labels = at::empty({kRows, kTime}, at::kLong);
  for (int64_t i = 0; i < kRows * kTime; ++i) {
    const auto row = static_cast<uint64_t>(i / kTime);
    const uint64_t begin = random64(5, step * kRows + row) % (text.size() - kTime - 1);
    const size_t at = begin + static_cast<uint64_t>(i % kTime);
    out.ids.data_ptr<int64_t>()[i] = static_cast<unsigned char>(text[at]);
    out.labels.data_ptr<int64_t>()[i] = static_cast<unsigned char>(text[at + 1]);
  }
  return out;
}

/// Adam (arXiv:1412.6980) over the packed buffers.
class Adam {
 public:
  explicit Adam(Transformer& model)
      : model_(model), m_(at::zeros_like(model.parameters().values)), v_(at::zeros_like(m_)) {}
  void step() {
    const at::NoGradGuard no_grad;
    model_.parameters().settle_all();
    const at::Tensor& g = model_.parameters().gradients;
    ++count_;
    m_.mul_(0.9).add_(g, 0.1);
    v_.mul_(0.95).addcmul_(g, g, 0.05);
    const at::Tensor root = (v_ / (1 - std::pow(0.95, count_))).sqrt_().add_(1e-8);
    model_.parameters().values.addcdiv_(m_, root, -rate() / (1 - std::pow(0.9, count_)));
    model_.parameters_changed();
  }

 private:
  /// Falls to nothing: a constant rate makes rounding grow into differences of loss that say nothing of the gradients.
  double rate() const { return 1e-3 * (1 - static_cast<double>(count_) / (kSteps + 1)); }

  Transformer& model_;
  at::Tensor m_, v_;
  int count_ = 0;
};

/// Losses of all steps.
std::vector<double> train(const std::string& text, bool fused) {
  Config config = small_config();
  config.vocab_size = 256;
  config.dropout = 0.1;
  Transformer model(config);
  model.init(3);
  Adam adam(model);
  std::vector<double> losses;
  for (uint64_t step = 0; step < kSteps; ++step) {
    const Batch batch = text_batch(text, step);
    const ForwardPass pass{true, false, step};
    if (fused) {
      losses.push_back(model.loss_and_grad(pass, 1.0, batch.ids, batch.labels, at::Tensor()).item<double>());
    } else {
      const at::Tensor loss = model.forward(pass, batch.ids, batch.labels, at::Tensor()).loss;
      loss.backward();
      losses.push_back(loss.item<double>());
    }
    adam.step();
  }
  return losses;
}

double mean_of_last(const std::vector<double>& losses, size_t count) {
  double sum = 0;
  for (size_t i = losses.size() - count; i < losses.size(); ++i) sum += losses[i];
  return sum / static_cast<double>(count);
}

BOOST_AUTO_TEST_SUITE(fused_text)

BOOST_AUTO_TEST_CASE(losses_of_600_steps_are_those_of_autograd) {
  const std::string text = read_text();
  const std::vector<double> fused = train(text, true);
  const std::vector<double> autograd = train(text, false);
  BOOST_CHECK_LT(mean_of_last(fused, 50), fused[0] - 2.0);
  for (size_t i = 0; i < 20; ++i) BOOST_CHECK_SMALL(fused[i] - autograd[i], 1e-5);
  BOOST_TEST_MESSAGE("at the end: " << mean_of_last(fused, 50) << " and " << mean_of_last(autograd, 50));
  BOOST_CHECK_SMALL(mean_of_last(fused, 50) - mean_of_last(autograd, 50), 1e-4);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::reference_transformer
