// Optimizer cautious: applies only what agrees in sign with the gradient, around any optimizer.

#include <memory>
#include <optional>
#include <vector>

#include <stc/stable/optimizer.hpp>

#include "base.hpp"
#include "mask.hpp"

namespace stc::cautious {

class Cautious {
 public:
  /// None of its own: the section is the base's.
  struct Params {
    template <class V>
    static void describe(V&) {}
  };

  Cautious(const Params&, stc::Host host, stc::Config section) : host_(host), base_(host, section) {}

  void bind(const std::vector<stable::BoundParameter>& parameters, const std::vector<Group>& groups) {
    parameters_ = parameters;  // the base borrows their handles until it is destroyed
    std::vector<stc_bound_parameter> bound;
    for (const stable::BoundParameter& p : parameters_) {
      bound.push_back({STC_SIZE_TO_END(stc_bound_parameter, reserved), p.role, p.name.c_str(), p.tensor.get(), p.group, 0});
    }
    std::vector<stc_group> raw_groups;
    for (const Group& group : groups) raw_groups.push_back(raw(group));
    Base::check(base_.api().bind(base_.get(), bound.data(), static_cast<uint32_t>(bound.size()),
                                 sizeof(stc_bound_parameter), raw_groups.data(),
                                 static_cast<uint32_t>(raw_groups.size()), sizeof(stc_group)));
    if (!base_.mask_itself()) mask_.emplace(host_, parameters_);
  }

  void step(const Step& step, const stable::Gradients& gradients) {
    if (gradients.size() != parameters_.size()) {
      throw Fault(STC_ERROR_INVALID_ARGUMENT, "step: got " + std::to_string(gradients.size()) + " gradients, expected " +
                                                  std::to_string(parameters_.size()));
    }
    stc_step_info info{};
    info.struct_size = STC_SIZE_TO_END(stc_step_info, found_inf);
    info.lr = step.lr;
    info.step = step.step;
    info.grad_factor = step.grad_factor;
    info.grad_factor_t = step.grad_factor_t;
    info.found_inf = step.found_inf;
    if (mask_) mask_->snapshot(gradients);
    Base::check(base_.api().step(base_.get(), &info, gradients.data(), gradients.size()));
    if (mask_) mask_->revert(gradients, step.grad_factor_t != nullptr || step.grad_factor != 0);
  }

  void save(stable::StateWriter& writer) { Base::check(base_.api().state_save(base_.get(), writer.raw())); }
  void load(stable::StateReader& reader) { Base::check(base_.api().state_load(base_.get(), reader.raw())); }
  void reset() { base_.api().reset(base_.get()); }
  void set_mode(int32_t mode) {
    if (base_.api().set_mode != nullptr) base_.api().set_mode(base_.get(), mode);
  }
  void set_group(uint32_t index, const Group& group) {
    if (base_.api().set_group == nullptr) {
      throw Fault(STC_ERROR_UNSUPPORTED, std::string("optimizer ") + base_.name() + " has no set_group");
    }
    const stc_group item = raw(group);
    Base::check(base_.api().set_group(base_.get(), index, &item));
  }

 private:
  static stc_group raw(const Group& group) {
    return {STC_SIZE_TO_END(stc_group, weight_decay), 0, group.lr_scale, group.weight_decay};
  }

  Host host_;
  std::vector<stable::BoundParameter> parameters_;
  Base base_;
  std::optional<Mask> mask_;
};

}  // namespace stc::cautious

STC_OPTIMIZER_PLUGIN(stc::cautious::Cautious, "cautious", "1.0.0", "applies only updates that agree in sign with the gradient, around any optimizer")
