/// \file
/// Adapter of sink plugins, as a receiver of the event bus.
#pragma once

#include <memory>
#include <string>

#include "host/events/bus.hpp"
#include "host/plugins/instance.hpp"
#include "stc/abi/sink.h"

namespace stc::host {

struct SinkRun {
  std::string run_id, run_name, run_dir, config_json;
  uint64_t start_step = 0;
};

class Sink : public Instance, public EventReceiver {
 public:
  /// \throws ConfigError, PluginError.
  explicit Sink(InstanceSpec spec);
  /// Once, before the first event. \throws PluginError.
  void open(const SinkRun& run);
  ~Sink() override;
  std::string name() const override;
  void on_event(const Event& event, double unix_time_s) override;
  void flush() override;
  void close() override;

 private:
  stc_sink* raw_ = nullptr;
  bool open_ = false;
};

}  // namespace stc::host
