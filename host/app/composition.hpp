/// \file
/// The stages of compose(), in their order. Private to host/app.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/app/compose.hpp"

namespace stc::host {

class Composition {
 public:
  Composition(Run& run, Registry& registry, ComposeMode mode);

  /// Threads, device, seeds, and the log (on standard error when only checking).
  void prepare_context();
  /// Spans go to a trace file in the run's folder.
  void record_trace();
  void build_data();
  /// The datasets of data.validation_path. They are read up to their first batch.
  void build_validation();
  /// The compute type; before the model, which may ask for it.
  void build_precision();
  void build_model();
  void build_optimizer();
  /// Takes the checkpoint folder, and finds what to resume from. Nothing is renamed before here.
  void open_store();
  /// Loader, moving average, review, trainer, and the restored state; from here on the checkpoint folder is this run's.
  /// \param allowed  see Trainer::restore.
  void build_trainer(const std::vector<std::string>& allowed);
  /// Sinks, last of all: whatever can be refused has been refused.
  void open_sinks();

 private:
  InstanceSpec spec(int kind, const std::string& name, const std::string& section);
  InstanceSpec optimizer_spec();
  void build_tokenizer(const Dataset& dataset);
  std::string validation_plugin();
  std::unique_ptr<Dataset> validation_dataset(const std::string& plugin, const std::string& path,
                                              const std::string& key);
  void build_review();
  std::function<bool()> stop_predicate();
  void open_log();
  void warn(const std::string& text) const;
  /// Which parameters get which update: on standard error when only checking, else in the log at DEBUG.
  void report_routing() const;

  Run& run_;
  Registry& registry_;
  ComposeMode mode_;
  PrecisionPlan plan_;
  std::string device_name_;
  std::vector<std::unique_ptr<ValidationSet>> validation_;
  bool continues_run_ = false;  // the checkpoint folder is this run's already
  std::optional<LoadedCheckpoint> resume_from_;
};

}  // namespace stc::host
