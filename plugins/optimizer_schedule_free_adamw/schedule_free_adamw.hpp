/// \file
/// Schedule-free AdamW: gradients are taken at y, between the fast iterate z and the average x that is to
/// be used. By LibTorch's operators, on any device.
///
/// The parameters hold y in mode train and x in the modes eval and save. Only z is kept beside them: x is
/// y + (1 - 1/b1)(z - y). y cannot be had back from x bit by bit, so it is kept while the parameters hold x.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <stc/stable/bound.hpp>

namespace stc::schedule_free_adamw {

/// What a parameter's average has seen.
struct Counters {
  int64_t updates = 0;
  double weight_sum = 0;
  double lr_max = 0;
};

struct Slot : stable::BoundInfo {
  Counters counters;
  Counters before;               // the last update, which a device may turn out to have skipped
  stable::Tensor z, exp_avg_sq;  // in the state's type; z counts from the first update on
  stable::Tensor kept_y;         // in the parameter's type, while the parameter holds x
};

class ScheduleFreeAdamW {
 public:
  struct Params {
    std::vector<double> betas = {0.9, 0.95};
    double eps = 1e-8;
    double weight_lr_power = 2.0;
    template <class V>
    static void describe(V& v) {
      v("betas", &Params::betas, "weight of the average in y, and decay rate of the second moment",
        stc::half_open(0.0, 1.0));
      v("eps", &Params::eps, "added to the root of the second moment", stc::above(0.0));
      v("weight_lr_power", &Params::weight_lr_power,
        "an iterate's weight in the average is its largest rate so far to this power", stc::at_least(0.0));
    }
  };

  ScheduleFreeAdamW(const Params& params, stc::Host host);
  void bind(const std::vector<stable::BoundParameter>& parameters, const std::vector<Group>& groups);
  /// \throws Fault(STATE) unless in mode train.
  void step(const Step& step, const stable::Gradients& gradients);
  /// STC_MODE_*
  void set_mode(int32_t mode);
  /// Per parameter z, exp_avg_sq, step, weight_sum and lr_max; in mode save also y, once it differs from x.
  void save(stable::StateWriter& writer) const;
  /// All or nothing. Puts y into the parameters where the state has it.
  void load(stable::StateReader& reader);
  void reset();
  void set_group(uint32_t index, const Group& group);

 private:
  void update(const Step& step, Slot& slot, const stable::Tensor& gradient);
  void show_average(Slot& slot);

  Host host_;
  double beta1_ = 0.9, beta2_ = 0.95, eps_ = 1e-8, weight_lr_power_ = 2.0;
  int32_t mode_ = STC_MODE_TRAIN;
  std::vector<Group> groups_;
  std::vector<Slot> slots_;
  std::optional<uint64_t> last_step_;
  std::vector<uint32_t> last_indices_;
};

}  // namespace stc::schedule_free_adamw
