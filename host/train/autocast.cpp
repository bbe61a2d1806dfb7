#include "host/train/autocast.hpp"

#include <ATen/autocast_mode.h>

#include "host/train/tensor_bridge.hpp"

namespace stc::host {

AutocastGuard::AutocastGuard(const PrecisionPlan& plan, const at::Device& device)
    : active_(plan.autocast), device_(device.type()) {
  if (!active_) return;
  before_enabled_ = at::autocast::is_autocast_enabled(device_);
  before_dtype_ = at::autocast::get_autocast_dtype(device_);
  at::autocast::set_autocast_enabled(device_, true);
  at::autocast::set_autocast_dtype(device_, to_scalar_type(plan.compute_dtype));
  at::autocast::increment_nesting();
}

AutocastGuard::~AutocastGuard() {
  if (!active_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, before_enabled_);
  at::autocast::set_autocast_dtype(device_, before_dtype_);
}

}  // namespace stc::host
