/// \file
/// A run composed as `stc-host run` does it, from a configuration in the test, with its records kept.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host/app/compose.hpp"
#include "host/plugins/registry.hpp"
#include "host/services/torch_services.hpp"

namespace stc::test {

/// A folder for the run file and what the run writes; removed at the end.
struct RunFolder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("stc-composed-" + std::to_string(::getpid()));
  RunFolder() { std::filesystem::create_directories(path); }
  ~RunFolder() { std::filesystem::remove_all(path); }
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  /// The file's full name.
  std::string write(const std::string& name, const std::string& text) const {
    const std::string file = (path / name).string();
    std::FILE* out = std::fopen(file.c_str(), "wb");
    std::fwrite(text.data(), 1, text.size(), out);
    std::fclose(out);
    return file;
  }
};

/// The built plugins and the probes.
inline host::Registry& test_registry(const std::vector<std::string>& further = {}) {
  host::install_torch_services();
  const std::string plugins = std::getenv("STC_TEST_PLUGINS");
  std::vector<std::string> paths = further;
  paths.push_back(plugins);
  paths.push_back(plugins + "/../tests/probes/lib");
  return host::process_registry(paths);
}

inline std::unique_ptr<host::Run> composed(const RunFolder& folder, const std::string& yaml,
                                           const std::vector<std::string>& sets, host::ComposeMode mode,
                                           host::Registry& registry = test_registry()) {
  host::LoadRequest request;
  request.path = folder.write("run.yaml", yaml);
  request.sets = sets;
  request.output_dir = (folder.path / "out").string();
  return host::compose(host::load_config(request, registry), registry, mode);
}

/// Keeps names of events, and the numbers of the train_step records.
struct Records {
  std::vector<std::string> names;
  std::vector<std::map<std::string, double>> steps;
};

class Recorder final : public host::EventReceiver {
 public:
  explicit Recorder(std::shared_ptr<Records> records) : records_(std::move(records)) {}
  std::string name() const override { return "recorder"; }
  void on_event(const host::Event& event, double) override {
    records_->names.push_back(event.name);
    if (event.name != "train_step") return;
    auto& step = records_->steps.emplace_back();
    for (const auto& [key, value] : event.fields) {
      if (const auto* number = std::get_if<double>(&value)) step[key] = *number;
      if (const auto* integer = std::get_if<int64_t>(&value)) step[key] = static_cast<double>(*integer);
    }
  }

 private:
  std::shared_ptr<Records> records_;
};

/// Trains to the end. \returns what was recorded on the way. \param result  what fit answered; may be null.
inline Records fit_recorded(host::Run& run, host::FitResult* result = nullptr) {
  auto records = std::make_shared<Records>();
  run.events->add(std::make_unique<Recorder>(records));
  const host::FitResult answer = run.trainer->fit();
  if (result != nullptr) *result = answer;
  run.events->flush();
  return *records;
}

}  // namespace stc::test
