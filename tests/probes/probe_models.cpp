// Models with exactly known gradients: probe_lin, and probe_nan, which goes wrong when it is told to.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <stc/stable/autograd.hpp>
#include <stc/stable/model.hpp>
#include <stc/stable/ops.hpp>

namespace stc::probe {

using namespace stc::stable;

Tensor ones(int64_t count) {
  Tensor tensor = Tensor::empty({count});
  std::fill_n(tensor.data<float>(), count, 1.0F);
  tensor.requires_grad();
  return tensor;
}

/// One weight w, 1 at the start. loss = w * mean of the valid label values, so dw is that mean.
class Linear {
 public:
  struct Params {
    template <class V>
    static void describe(V&) {}
  };
  explicit Linear(const Params&) : w_(ones(1)) {}
  void init(uint64_t) {}
  std::vector<Parameter> parameters() { return {{"w", w_, STC_ROLE_OTHER, {}}}; }
  Outputs forward(const Inputs& inputs) {
    const Tensor* labels = inputs.find("labels");
    if (labels == nullptr) throw Fault(STC_ERROR_INVALID_ARGUMENT, "the batch has no labels");
    double sum = 0, count = 0;
    const auto* values = labels->data<int64_t>();
    for (int64_t i = 0; i < labels->numel(); ++i) {
      if (values[i] == -100) continue;
      sum += static_cast<double>(values[i]);
      count += 1;
    }
    return {{"loss", mul(mean(w_), count > 0 ? sum / count : 0.0)}};
  }

 private:
  Tensor w_;
};

/// x, with a gradient whose first element is `value`.
struct Spoiled {
  double value;
  std::vector<Tensor> forward(const std::vector<Tensor>& inputs, std::vector<Tensor>&) {
    return {stable::clone(inputs[0])};
  }
  std::vector<Tensor> backward(const std::vector<Tensor>&, const std::vector<Tensor>& grads) {
    Tensor spoiled = stable::clone(grads[0]);
    spoiled.data<float>()[0] = static_cast<float>(value);
    return {spoiled};
  }
};

/// loss = mean(w * w) of eight weights, whatever the batch; in the training passes `at` (counted from 0)
/// the loss, or one element of the gradient, is not finite.
class Nan {
 public:
  struct Params {
    std::vector<int64_t> at;
    int64_t divisor = 0;
    std::string what = "loss";
    std::string value = "nan";
    template <class V>
    static void describe(V& v) {
      v("at", &Params::at, "training passes that go wrong, from 0");
      v("divisor", &Params::divisor, "a batch whose labels sum up to a multiple of it goes wrong; 0: none", 0, 1 << 20);
      v.choice("what", &Params::what, "what goes wrong", {"loss", "gradient"});
      v.choice("value", &Params::value, "what it becomes", {"nan", "inf"});
    }
  };
  Nan(const Params& params, stc::Host host) : params_(params), host_(host), w_(ones(8)) {}
  void init(uint64_t) {}
  std::vector<Parameter> parameters() { return {{"w", w_, STC_ROLE_LINEAR, {}}}; }
  Outputs forward(const Pass& pass, const Inputs& inputs) {
    const bool wrong =
        pass.training && (std::count(params_.at.begin(), params_.at.end(), passes_) > 0 || is_multiple(inputs));
    if (pass.training) ++passes_;
    const double value =
        params_.value == "nan" ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
    Tensor w = w_;
    if (wrong && params_.what == "gradient") w = apply(host_, "spoiled", Spoiled{value}, {w_})[0];
    const Tensor loss = mean(mul(w, w));
    if (wrong && params_.what == "loss") return {{"loss", mul(loss, value)}};
    return {{"loss", loss}};
  }

 private:
  bool is_multiple(const Inputs& inputs) const {
    const Tensor* labels = inputs.find("labels");
    if (params_.divisor == 0 || labels == nullptr) return false;
    const auto* values = labels->data<int64_t>();
    return std::accumulate(values, values + labels->numel(), int64_t{0}) % params_.divisor == 0;
  }

  Params params_;
  stc::Host host_;
  Tensor w_;
  int64_t passes_ = 0;
};

}  // namespace stc::probe

STC_DEFINE_STABLE_MODEL(stc::probe::Linear, "probe_lin", "1.0.0", "one weight, gradient known exactly")
STC_DEFINE_STABLE_MODEL(stc::probe::Nan, "probe_nan", "1.0.0", "a loss or gradient that is not finite when told")
STC_PLUGIN_LIBRARY(stable, stc::probe::Linear, stc::probe::Nan)
