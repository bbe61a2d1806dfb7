/// \file
/// Snapshots and stores for the checkpoint tests.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "host/checkpoint/layout.hpp"
#include "host/checkpoint/store.hpp"
#include "tests/host/checkpoint/test_support.hpp"

namespace stc::host::test {

/// A small run's state after `step` steps; `salt` makes a run of other numbers.
inline Snapshot make_snapshot(uint64_t step, float salt = 0) {
  const float x = static_cast<float>(step) + salt;
  Snapshot snapshot;
  snapshot.step = step;
  snapshot.model.push_back(make_tensor<float>("wte.weight", STC_DTYPE_FLOAT32, {2, 2}, {x, x + 1, x + 2, x + 3}));
  snapshot.model.push_back(make_tensor<uint16_t>("norm.weight", STC_DTYPE_BFLOAT16, {2}, {0x3f80, 0x4000}));
  snapshot.model_metadata = {{"alias:lm_head.weight", "wte.weight"}};
  snapshot.optimizer.push_back(
      make_tensor<float>("wte.weight/exp_avg", STC_DTYPE_FLOAT32, {2, 2}, {-x, 0.5f, 0.25f, x}));
  snapshot.optimizer.push_back(make_tensor<float>("wte.weight/step", STC_DTYPE_FLOAT32, {}, {x}));
  snapshot.state = {{"step", step},
                    {"samples", step * 8},
                    {"tokens", step * 1024},
                    {"micro_batches", step * 2},
                    {"scale", 0.1 + static_cast<double>(step)},
                    {"seed", 18446744073709551615u},
                    {"config", {{"run", {{"name", "t"}}}}}};
  return snapshot;
}

inline bool same_tensors(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_tensor);
}

inline bool same_content(const LoadedCheckpoint& loaded, const Snapshot& snapshot) {
  return loaded.step == snapshot.step && same_tensors(loaded.model, snapshot.model) &&
         loaded.model_metadata == snapshot.model_metadata && same_tensors(loaded.optimizer, snapshot.optimizer) &&
         same_tensors(loaded.ema, snapshot.ema) && same_tensors(loaded.coordinator, snapshot.coordinator) &&
         loaded.state == snapshot.state;
}

inline StoreOptions options_for(const std::string& directory) {
  StoreOptions options;
  options.directory = directory;
  options.version = "1.2.3";
  return options;
}

/// Saves and waits. The results must hold the one save, without an error.
inline void save_now(CheckpointStore& store, Snapshot snapshot) {
  const uint64_t step = snapshot.step;
  store.save(std::move(snapshot));
  const auto results = store.finish();
  BOOST_REQUIRE(results.size() == 1u);
  BOOST_TEST(results[0].step == step);
  BOOST_REQUIRE_MESSAGE(results[0].error.empty(), results[0].error);
  BOOST_TEST(results[0].warning == "");
}

/// A store that has taken `directory` for run `run_id`.
inline std::unique_ptr<CheckpointStore> new_store(const std::string& directory, const std::string& run_id) {
  auto store = std::make_unique<CheckpointStore>(options_for(directory));
  store->begin_new(run_id, [](const std::string&) {});
  return store;
}

/// Collects what a store tells.
struct Notes {
  std::vector<std::string> lines;
  Note take() {
    return [this](const std::string& text) { lines.push_back(text); };
  }
  std::string all() const {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
  }
  bool has(const std::string& part) const { return all().find(part) != std::string::npos; }
};

/// Names in a folder, sorted.
inline std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

inline std::vector<uint64_t> steps_in(const std::string& directory) {
  std::vector<uint64_t> steps = scan_folder(FileSystem::real(), directory).steps;
  std::sort(steps.begin(), steps.end());
  return steps;
}

/// A predicate for BOOST_CHECK_EXCEPTION: the message holds `part`.
inline std::function<bool(const Error&)> says(const std::string& part) {
  return [part](const Error& error) {
    const std::string message = error.what();
    const bool found = message.find(part) != std::string::npos;
    if (!found) BOOST_TEST_MESSAGE("message: " << message << "\nlacks: " << part);
    return found;
  };
}

}  // namespace stc::host::test
