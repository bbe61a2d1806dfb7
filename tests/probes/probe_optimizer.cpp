// probe_sgd: p -= lr * g, with decoupled decay and nothing else, so that a wrong factor on a gradient shows.
// Fails in step, or keeps a state that it does not save, when it is told to;
// so it does with the locale of the process.

#include <locale>
#include <string>
#include <vector>

#include <stc/stable/ops.hpp>
#include <stc/stable/optimizer.hpp>

namespace stc::probe {

using namespace stc::stable;

/// 1.234,5 for 1234.5.
struct Punctuation : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

class Sgd {
 public:
  struct Params {
    bool refuse = false;
    bool forgets = false;
    bool locale = false;
    template <class V>
    static void describe(V& v) {
      v("refuse", &Params::refuse, "whether step fails");
      v("forgets", &Params::forgets, "whether the rate grows with the steps that this process made");
      v("locale", &Params::locale,
        "whether it writes numbers of the whole process with commas and dots, as in 1.234,5");
    }
  };
  explicit Sgd(const Params& params) : params_(params) {
    if (params_.locale) std::locale::global(std::locale(std::locale::classic(), new Punctuation));
  }
  void bind(const std::vector<BoundParameter>& parameters, const std::vector<Group>& groups) {
    parameters_ = parameters;
    groups_ = groups;
  }
  void step(const Step& step, const Gradients& gradients) {
    if (params_.refuse) throw Fault(STC_ERROR_INTERNAL, "the step was refused");
    const NoGradGuard no_grad;
    if (step.found_inf != nullptr && *Tensor::share(step.found_inf).data<float>() != 0) return;
    double factor = step.grad_factor_t != nullptr ? *Tensor::share(step.grad_factor_t).data<float>() : step.grad_factor;
    if (params_.forgets) factor *= 1 + 0.01 * static_cast<double>(steps_++);
    for (uint32_t i = 0; i < gradients.size(); ++i) {
      if (!gradients.has(i)) continue;
      const Tensor p = detach(parameters_[i].tensor);
      const Group& group = groups_[parameters_[i].group];
      mul_(p, 1 - step.lr * group.lr_scale * group.weight_decay);
      add_(p, gradients[i], -step.lr * group.lr_scale * factor);
    }
  }
  void save(stable::StateWriter&) {}
  void load(stable::StateReader&) {}
  void reset() {}

 private:
  Params params_;
  int64_t steps_ = 0;
  std::vector<BoundParameter> parameters_;
  std::vector<Group> groups_;
};

}  // namespace stc::probe

STC_OPTIMIZER_PLUGIN(stc::probe::Sgd, "probe_sgd", "1.0.0", "p -= lr * g")
