// `stc-host bench --data FILE`: how fast the loader alone makes the batches of a run file, by workers and prefetch.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <vector>

#include "host/app/commands.hpp"
#include "host/app/composition.hpp"
#include "host/app/config_arguments.hpp"

namespace stc::host {
namespace {

using Clock = std::chrono::steady_clock;

struct Setting {
  int64_t num_workers = 0;
  int64_t prefetch_factor = 2;
};

/// The user's own setting first, then the sweep.
std::vector<Setting> settings_to_try(const DataSettings& own) {
  std::vector<Setting> out = {{own.num_workers, own.prefetch_factor}};
  for (const int64_t workers : {0, 1, 2, 4}) {
    for (const int64_t prefetch : {2, 8}) {
      if (workers == 0 && prefetch != 2) continue;  // nothing is prefetched
      if (workers != own.num_workers || (workers > 0 && prefetch != own.prefetch_factor))
        out.push_back({workers, prefetch});
    }
  }
  return out;
}

struct Rate {
  int64_t batches = 0;
  int64_t tokens = 0;
  double seconds = 0;
};

/// Batches for `seconds`, after the first one, which starts threads and opens files.
Rate measure(Run& run, const Setting& setting, double seconds) {
  DataSettings data = run.settings.data;
  data.num_workers = setting.num_workers;
  data.prefetch_factor = setting.prefetch_factor;
  Loader loader(*run.dataset, run.tokenizer.get(), data, "train", {});
  loader.next();
  Rate rate;
  const auto begin = Clock::now();
  do {
    const std::shared_ptr<const Batch> batch = loader.next();
    ++rate.batches;
    rate.tokens += batch->tokens;
    rate.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  } while (rate.seconds < seconds);
  return rate;
}

Value to_value(const Setting& setting, const Rate& rate) {
  return {{"num_workers", setting.num_workers},
          {"prefetch_factor", setting.prefetch_factor},
          {"tokens_per_sec", static_cast<double>(rate.tokens) / rate.seconds},
          {"batches_per_sec", static_cast<double>(rate.batches) / rate.seconds},
          {"seconds", rate.seconds}};
}

void print_row(const Value& row) {
  char line[128];
  std::snprintf(line, sizeof line, "%7lld  %8lld  %14.0f  %11.0f\n",
                static_cast<long long>(row["num_workers"].get<int64_t>()),
                static_cast<long long>(row["prefetch_factor"].get<int64_t>()), row["tokens_per_sec"].get<double>(),
                row["batches_per_sec"].get<double>());
  std::cout << line << std::flush;
}

}  // namespace

int bench_data_command(const BenchArguments& arguments) {
  Registry& registry = process_registry(arguments.plugin_paths);
  Run run;
  run.config = load_and_warn(arguments, Depth::kRun, registry);
  run.settings = make_settings(run.config);
  Composition composition(run, registry, ComposeMode::kCheck);
  composition.prepare_context();
  composition.build_data();

  const DataSettings& data = run.settings.data;
  const bool text = arguments.format == "text";
  if (text) {
    std::cout << "dataset " << data.plugin << ", batches of " << data.micro_batch_size << " x " << data.block_size
              << " tokens, " << arguments.seconds << " s each; the first line is the file's own setting\n"
              << "workers  prefetch        tokens/s    batches/s\n";
  }
  Value rows = Value::array();
  for (const Setting& setting : settings_to_try(data)) {
    rows.push_back(to_value(setting, measure(run, setting, arguments.seconds)));
    if (text) print_row(rows.back());
  }
  if (!text) {
    std::cout << Value{{"dataset", data.plugin},
                       {"micro_batch_size", data.micro_batch_size},
                       {"block_size", data.block_size},
                       {"data", rows}}
                     .dump(2)
              << "\n";
  }
  return kExitDone;
}

}  // namespace stc::host
