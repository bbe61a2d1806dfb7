// Optimizer lion: the sign of an interpolated momentum, with decoupled decay. By LibTorch's operators, on any
// device.

#include <string>
#include <vector>

#include <stc/stable/bound.hpp>
#include <stc/stable/update.hpp>

namespace stc::lion {

using stable::Tensor;

struct Slot : stable::BoundInfo {
  Tensor exp_avg;  // m, in the state's type
};

class Lion {
 public:
  struct Params {
    std::vector<double> betas = {0.9, 0.99};
    template <class V>
    static void describe(V& v) {
      v("betas", &Params::betas, "weight of the momentum in the update, and its decay rate", stc::half_open(0.0, 1.0));
    }
  };

  Lion(const Params& params, stc::Host host) : host_(host) {
    if (params.betas.size() != 2) {
      throw Fault::config("betas", "got " + std::to_string(params.betas.size()) + " values, expected 2");
    }
    beta1_ = params.betas[0];
    beta2_ = params.betas[1];
  }

  void bind(const std::vector<stable::BoundParameter>& parameters, const std::vector<Group>& groups) {
    const stable::NoGradGuard no_grad;
    groups_ = groups;
    for (const stable::BoundParameter& parameter : parameters) {
      Slot& slot = slots_.emplace_back();
      static_cast<stable::BoundInfo&>(slot) = stable::describe(host_, parameter, groups.size());
      slot.exp_avg = stable::zeros_like(stable::to(stable::detach(slot.tensor), slot.state_dtype()));
    }
    stable::refuse_shared_memory(slots_);
  }

  void step(const Step& step, const stable::Gradients& gradients) {
    stable::check_count(gradients, slots_.size());
    for (uint32_t i = 0; i < gradients.size(); ++i) {
      if (gradients.has(i)) stable::check_gradient(host_, gradients.raw(i), slots_[i]);
    }
    const stable::NoGradGuard no_grad;
    for (uint32_t i = 0; i < gradients.size(); ++i) {
      if (gradients.has(i)) update(step, slots_[i], gradients[i]);
    }
  }

  /// Per parameter exp_avg, also for those never updated.
  void save(stable::StateWriter& writer) const {
    for (const Slot& slot : slots_) writer.tensor(slot.name + "/exp_avg", slot.exp_avg);
  }
  /// All or nothing. \throws Fault(INVALID_ARGUMENT) naming what is missing or unlike its parameter.
  void load(stable::StateReader& reader) {
    for (const Slot& slot : slots_) stable::state_tensor(reader, slot, "exp_avg", slot.state_dtype());
    const stable::NoGradGuard no_grad;
    for (Slot& slot : slots_) {
      Tensor exp_avg;
      reader.tensor(slot.name + "/exp_avg", exp_avg);
      stable::copy_(slot.exp_avg, exp_avg);
    }
  }
  void reset() {
    const stable::NoGradGuard no_grad;
    for (Slot& slot : slots_) stable::zero_(slot.exp_avg);
  }
  void set_group(uint32_t index, const Group& group) {
    stable::check_group(index, groups_.size());
    groups_[index] = group;
  }

 private:
  void update(const Step& step, Slot& slot, const Tensor& gradient) {
    const Group& group = groups_[slot.group];
    const double rate = step.lr * group.lr_scale;
    const Tensor g = stable::scaled_gradient(gradient, step, slot.state_dtype());
    const Tensor u = stable::sign(stable::add(stable::mul(slot.exp_avg, beta1_), g, 1 - beta1_));
    const Tensor p = stable::mul(stable::to(slot.tensor, slot.state_dtype()), 1 - rate * group.weight_decay);
    stable::write(slot.tensor, stable::add(p, u, -rate), step);
    stable::write(slot.exp_avg, stable::add(stable::mul(slot.exp_avg, beta2_), g, 1 - beta2_), step);
  }

  Host host_;
  double beta1_ = 0, beta2_ = 0;
  std::vector<Group> groups_;
  std::vector<Slot> slots_;
};

}  // namespace stc::lion

STC_OPTIMIZER_PLUGIN(stc::lion::Lion, "lion", "1.0.0",
                     "the sign of an interpolated momentum, with decoupled weight decay")
