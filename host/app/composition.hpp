/// \file
/// The stages of compose(), in their order. Private to host/app.
#pragma once

#include <optional>
#include <string>

#include "host/app/compose.hpp"

namespace stc::host {

class Composition {
 public:
  Composition(Run& run, Registry& registry, ComposeMode mode);

  /// Threads, device, seeds, and the log (on standard error when only checking).
  void prepare_context();
  void build_data();
  void build_model();
  void build_precision();
  void build_optimizer();
  /// Takes the checkpoint folder, and finds what to resume from. Nothing is renamed before here.
  void open_store();
  /// Loader, trainer, and the restored state; from here on the checkpoint folder is this run's.
  void build_trainer();
  /// Sinks, last of all: whatever can be refused has been refused.
  void open_sinks();

 private:
  InstanceSpec spec(int kind, const std::string& name, const std::string& section);
  InstanceSpec optimizer_spec();
  void open_log();
  void warn(const std::string& text) const;
  /// Which parameters get which update: on standard error when only checking, else in the log at DEBUG.
  void report_routing() const;

  Run& run_;
  Registry& registry_;
  ComposeMode mode_;
  PrecisionPlan plan_;
  std::string device_name_;
  bool continues_run_ = false;  // the checkpoint folder is this run's already
  std::optional<LoadedCheckpoint> resume_from_;
};

}  // namespace stc::host
