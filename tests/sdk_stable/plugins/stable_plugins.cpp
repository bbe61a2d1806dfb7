// Plugins of level stable for the tests: a model, an optimizer, and operators of the host.

#include <cmath>
#include <cstring>
#include <random>

#include <stc/stable/autograd.hpp>
#include <stc/stable/model.hpp>
#include <stc/stable/ops.hpp>
#include <stc/stable/optimizer.hpp>

namespace stc::test {

using namespace stc::stable;

/// y = x * x with a gradient of its own, which fails when it is told to.
struct Square {
  bool fails = false;
  std::vector<Tensor> forward(const std::vector<Tensor>& inputs, std::vector<Tensor>& saved) {
    saved = inputs;
    return {mul(inputs[0], inputs[0])};
  }
  std::vector<Tensor> backward(const std::vector<Tensor>& saved, const std::vector<Tensor>& grads) {
    if (fails) throw std::runtime_error("the square refuses");
    return {mul(mul(saved[0], grads[0]), 2.0)};
  }
};

/// Embedding, one hidden layer with a squared gate, logits; labels (B,T), tokens (B,T).
class TinyLm {
 public:
  struct Params {
    int64_t vocab = 16, width = 8;
    bool square_fails = false;
    template <class V>
    static void describe(V& v) {
      v("vocab", &Params::vocab, "tokens", 2, 65536)("width", &Params::width, "channels", 1, 65536);
      v("square_fails", &Params::square_fails, "let the backward pass fail");
    }
  };
  TinyLm(const Params& params, stc::Host host)
      : params_(params),
        host_(host),
        embedding_(Tensor::empty({params.vocab, params.width})),
        norm_(Tensor::empty({params.width})),
        hidden_(Tensor::empty({params.width, params.width})),
        bias_(Tensor::empty({params.width})) {
    for (const Tensor* tensor : {&embedding_, &norm_, &hidden_, &bias_}) tensor->requires_grad();
  }
  void init(uint64_t seed) {
    std::mt19937_64 engine(seed);
    std::normal_distribution<float> normal(0.0F, 0.3F);
    for (const Tensor* tensor : {&embedding_, &norm_, &hidden_, &bias_}) {
      for (int64_t i = 0; i < tensor->numel(); ++i) tensor->data<float>()[i] = normal(engine);
    }
  }
  std::vector<Parameter> parameters() {
    return {{"embed.weight", embedding_, STC_ROLE_EMBEDDING, {"head.weight"}},
            {"norm.weight", norm_, STC_ROLE_NORM, {}},
            {"hidden.weight", hidden_, STC_ROLE_LINEAR, {}},
            {"hidden.bias", bias_, STC_ROLE_BIAS, {}}};
  }
  Outputs forward(const Pass& pass, const Inputs& inputs) {
    const Tensor* ids = inputs.find("input_ids");
    if (ids == nullptr) throw Fault(STC_ERROR_INVALID_ARGUMENT, "the batch has no input_ids");
    const Tensor x = rms_norm(embedding(embedding_, *ids), {params_.width}, norm_, 1e-5);
    const Tensor h = silu(linear(x, hidden_, bias_));
    const Tensor gated = add(x, apply(host_, "square", Square{params_.square_fails}, {h})[0], 0.5);
    Outputs out{{"logits", linear(gated, embedding_)}};
    if (pass.training) out.put("hidden_mean", mean(detach(h)));
    return out;
  }
  std::vector<std::pair<std::string, int64_t>> dimensions() { return {{"hidden.in_features", params_.width}}; }

 private:
  Params params_;
  stc::Host host_;
  Tensor embedding_, norm_, hidden_, bias_;
};

/// Descent with momentum by LibTorch's operators; knows no caution and leaves the gradient scaled.
class Sgd {
 public:
  struct Params {
    double momentum = 0.9;
    template <class V>
    static void describe(V& v) {
      v("momentum", &Params::momentum, "decay rate of the momentum", stc::half_open(0.0, 1.0));
    }
  };
  explicit Sgd(const Params& params) : params_(params) {}
  void bind(const std::vector<BoundParameter>& parameters, const std::vector<Group>& groups) {
    parameters_ = parameters;
    groups_ = groups;
    reset();
  }
  void step(const Step& step, const Gradients& gradients) {
    const NoGradGuard no_grad;
    for (uint32_t i = 0; i < gradients.size(); ++i) {
      if (!gradients.has(i)) continue;
      const Tensor gradient = gradients[i];
      const Tensor p = detach(parameters_[i].tensor);
      const Group& group = groups_[parameters_[i].group];
      const double rate = step.lr * group.lr_scale;
      mul_(gradient, step.grad_factor);
      copy_(momentum_[i], add(mul(momentum_[i], params_.momentum), gradient));
      mul_(p, 1 - rate * group.weight_decay);
      add_(p, momentum_[i], -rate);
    }
  }
  void save(stable::StateWriter& writer) {
    for (size_t i = 0; i < parameters_.size(); ++i) writer.tensor(parameters_[i].name + "/momentum", momentum_[i]);
  }
  void load(stable::StateReader& reader) {
    for (size_t i = 0; i < parameters_.size(); ++i) {
      Tensor state;
      if (reader.tensor(parameters_[i].name + "/momentum", state)) copy_(momentum_[i], state);
    }
  }
  void reset() {
    momentum_.clear();
    for (const BoundParameter& parameter : parameters_) momentum_.push_back(zeros_like(detach(parameter.tensor)));
  }

 private:
  Params params_;
  std::vector<BoundParameter> parameters_;
  std::vector<Group> groups_;
  std::vector<Tensor> momentum_;
};

}  // namespace stc::test

STC_DEFINE_STABLE_MODEL(stc::test::TinyLm, "test_tiny_lm", "1.0.0", "a small language model of the tests")
STC_DEFINE_STABLE_OPTIMIZER(stc::test::Sgd, "test_sgd", "1.0.0", "descent with momentum of the tests")
STC_PLUGIN_LIBRARY(stable, stc::test::TinyLm, stc::test::Sgd)
