// Level stable: gradient descent with momentum, v = momentum v + g, p = p - lr v.
#include <stc/stable/ops.hpp>
#include <stc/stable/optimizer.hpp>

#include <string>
#include <vector>

namespace stable = stc::stable;

struct Descent {
  struct Params {
    double momentum = 0.9;
    template <class V>
    static void describe(V& v) {
      v("momentum", &Params::momentum, "share of the last update that goes on", stc::half_open(0, 1));
    }
  };
  explicit Descent(const Params& params) : params_(params) {}

  void bind(const std::vector<stable::BoundParameter>& parameters, const std::vector<stable::Group>& groups) {
    parameters_ = parameters;
    groups_ = groups;
    velocity_.resize(parameters.size());
  }
  void step(const stable::Step& info, const stable::Gradients& gradients) {
    const stable::NoGradGuard no_grad;
    for (uint32_t i = 0; i < gradients.size(); ++i) {
      if (!gradients.has(i)) {
        continue;
      }
      stable::Tensor& velocity = velocity_[i];
      if (!velocity.defined()) {
        velocity = stable::zeros_like(parameters_[i].tensor);
      }
      stable::mul_(velocity, params_.momentum);
      stable::add_(velocity, gradients[i], info.grad_factor);
      stable::add_(parameters_[i].tensor, velocity, -info.lr * groups_[parameters_[i].group].lr_scale);
    }
  }
  void save(stable::StateWriter& state) {
    for (std::size_t i = 0; i < velocity_.size(); ++i) {
      if (velocity_[i].defined()) {
        state.tensor(parameters_[i].name + "/velocity", velocity_[i]);
      }
    }
  }
  void load(stable::StateReader& state) {
    for (std::size_t i = 0; i < velocity_.size(); ++i) {
      stable::Tensor saved;
      if (state.tensor(parameters_[i].name + "/velocity", saved)) {
        velocity_[i] = stable::clone(saved);
      }
    }
  }
  void reset() { velocity_.assign(velocity_.size(), {}); }

 private:
  Params params_;
  std::vector<stable::BoundParameter> parameters_;
  std::vector<stable::Group> groups_;
  std::vector<stable::Tensor> velocity_;
};

STC_OPTIMIZER_PLUGIN(Descent, "descent", "1.0.0", "gradient descent with momentum")
