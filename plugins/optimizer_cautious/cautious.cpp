// Optimizer cautious: applies only what agrees in sign with the gradient, around any optimizer.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <stc/stable/bound.hpp>
#include <stc/stable/inner_optimizer.hpp>

#include "mask.hpp"

namespace stc::cautious {

namespace {

std::string base_name(const Config& section) {
  Value name;
  if (!section.find("name", name) || !name.is_string()) {
    throw Fault::config("name", "is missing, it says which optimizer is made cautious");
  }
  if (name.as_string() == "cautious") {
    throw Fault::config("name", "got cautious, which wraps another optimizer; name that one");
  }
  return std::string(name.as_string());
}

}  // namespace

class Cautious {
 public:
  /// None of its own: the section is the base's.
  struct Params {
    template <class V>
    static void describe(V&) {}
  };

  Cautious(const Params&, stc::Host host, stc::Config section)
      : host_(host), base_(host, base_name(section), section) {}

  void bind(const std::vector<stable::BoundParameter>& parameters, const std::vector<Group>& groups) {
    parameters_ = parameters;
    base_.bind(parameters, groups);
    if (!base_.set_cautious(true)) mask_.emplace(host_, parameters_);
  }

  void step(const Step& step, const stable::Gradients& gradients) {
    stable::check_count(gradients, parameters_.size());
    if (mask_) mask_->snapshot(gradients);
    base_.step(step, gradients.data(), gradients.size());
    if (mask_) mask_->revert(gradients, step.grad_factor_t != nullptr || step.grad_factor != 0);
  }

  void save(stable::StateWriter& writer) { base_.save(writer); }
  void load(stable::StateReader& reader) { base_.load(reader); }
  void reset() { base_.reset(); }
  void set_mode(int32_t mode) { base_.set_mode(mode); }
  void set_group(uint32_t index, const Group& group) { base_.set_group(index, group); }
  const char* algorithm(uint32_t index) const { return base_.algorithm(index); }

 private:
  Host host_;
  std::vector<stable::BoundParameter> parameters_;
  stable::InnerOptimizer base_;
  std::optional<Mask> mask_;
};

}  // namespace stc::cautious

STC_OPTIMIZER_PLUGIN(stc::cautious::Cautious, "cautious", "1.0.0",
                     "applies only updates that agree in sign with the gradient, around any optimizer")
