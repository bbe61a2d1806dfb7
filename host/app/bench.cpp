// `stc-host bench [FILE]`: how fast the user's own config trains here, with what that is to be compared with.

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "host/app/bench_config.hpp"
#include "host/app/commands.hpp"
#include "host/app/config_arguments.hpp"
#include "host/app/gemm_rate.hpp"
#include "host/app/median.hpp"
#include "host/app/model_matrices.hpp"
#include "host/app/signals.hpp"
#include "host/app/temporary_folder.hpp"
#include "host/app/trial.hpp"
#include "stc/version.hpp"

namespace stc::host {
namespace {

struct Spread {
  double middle, low, high;
};

template <class Get>
Spread spread_of(const std::vector<Trial>& trials, Get&& get) {
  std::vector<double> values;
  for (const Trial& trial : trials) values.push_back(get(trial));
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {median(values), *low, *high};
}

Value to_value(const Spread& spread) { return {{"median", spread.middle}, {"min", spread.low}, {"max", spread.high}}; }

__attribute__((format(printf, 1, 2))) void print(const char* format, ...) {
  char line[256];
  va_list values;
  va_start(values, format);
  std::vsnprintf(line, sizeof line, format, values);
  va_end(values);
  std::cout << line << "\n";
}

std::vector<Trial> run_trials(const BenchArguments& arguments, int64_t schedule_steps, const std::string& folder,
                              const std::atomic<int>& stop) {
  std::vector<Trial> trials;
  if (arguments.format != "json") {
    std::cout << "measuring " << arguments.steps << " steps after " << arguments.warmup << " others, "
              << arguments.repeats << (arguments.repeats == 1 ? " time\n" : " times\n") << std::flush;
  }
  for (int64_t i = 0; i < arguments.repeats; ++i) {
    const std::string own = folder + "/" + std::to_string(i);
    trials.push_back(run_trial({"bench", arguments, {}, arguments.steps, arguments.warmup, schedule_steps, own, &stop},
                               std::chrono::steady_clock::time_point::max()));
    if (arguments.format != "json") {
      print("  run %lld: %.0f tokens/s", static_cast<long long>(i + 1), trials.back().tokens_per_second());
      std::cout.flush();
    }
  }
  return trials;
}

Value phases_of(const std::vector<Trial>& trials) {
  Value out = Value::object();
  for (const auto& [name, unused] : trials.front().phases) {
    out[name] = spread_of(trials, [&key = name](const Trial& trial) { return trial.phases.at(key); }).middle;
  }
  return out;
}

/// The products of a step's linear layers, each timed alone: what the step would take if nothing else had to be done.
/// Null where they are not made by this processor.
Value products_of(const Config& config, Registry& registry, const Trial& trial) {
  if (trial.start.value("device", "") != "cpu") return {};
  const Settings settings = make_settings(config);
  const int64_t positions = settings.data.micro_batch_size * settings.data.block_size;
  const double seconds =
      products_seconds(matrices_of_model(config, registry), positions, trial.start.value("precision", "") == "bf16",
                       trial.start.value("threads", int64_t{1}));
  return seconds * static_cast<double>(settings.data.accumulation_steps);
}

Value summary(const BenchArguments& arguments, const std::vector<Trial>& trials, const GemmRate& gemm,
              const Value& products_s) {
  const Trial& first = trials.front();
  const double parameters = first.start.at("parameters").get<double>();
  const double step = spread_of(trials, [](const Trial& trial) { return trial.seconds(); }).middle;
  const double flops = 6.0 * parameters * first.tokens / step;
  Value out = Value::object();
  out["version"] = STC_VERSION;
  out["config"] = arguments.file.empty() ? "built in" : arguments.file;
  for (const char* key : {"parameters", "device", "precision", "optimizer", "dataset", "path", "threads"}) {
    out[key] = first.start.value(key, Value());
  }
  out["runs"] = trials.size();
  out["steps"] = arguments.steps;
  out["warmup"] = arguments.warmup;
  out["tokens_per_step"] = first.tokens;
  out["tokens_per_sec"] = to_value(spread_of(trials, [](const Trial& trial) { return trial.tokens_per_second(); }));
  out["step_s"] = to_value(spread_of(trials, [](const Trial& trial) { return trial.seconds(); }));
  out["first_step_s"] = to_value(spread_of(trials, [](const Trial& trial) { return trial.first_step_s; }));
  out["peak_bytes"] =
      to_value(spread_of(trials, [](const Trial& trial) { return static_cast<double>(trial.peak_bytes); }));
  out["phases_s"] = phases_of(trials);
  out["gemm"] = {{"flops_per_sec", gemm.flops},
                 {"routine", gemm.routine},
                 {"rows", kGemmRows},
                 {"inner", kGemmInner},
                 {"cols", kGemmCols}};
  out["model_flops_per_sec"] = flops;
  out["gemm_share"] = flops / gemm.flops;
  out["products_s"] = products_s;
  out["products_share"] = products_s.is_null() ? Value() : Value(products_s.get<double>() / step);
  return out;
}

void print_spread(const char* name, const Value& spread, double scale, const char* unit) {
  print("%-16s %12.3f %-8s (%.3f .. %.3f)", name, spread["median"].get<double>() * scale, unit,
        spread["min"].get<double>() * scale, spread["max"].get<double>() * scale);
}

void print_table(const Value& out) {
  constexpr double kMebibyte = 1.0 / (1024 * 1024);
  print("%s: %lld parameters, %s, %s, %s path, %lld threads, %s", out["config"].get<std::string>().c_str(),
        out["parameters"].get<long long>(), out["optimizer"].get<std::string>().c_str(),
        out["precision"].get<std::string>().c_str(), out["path"].get<std::string>().c_str(),
        out["threads"].get<long long>(), out["device"].get<std::string>().c_str());
  print("%lld runs of %lld + %lld steps of %.0f tokens; the median of the runs, the least and the most",
        out["runs"].get<long long>(), out["warmup"].get<long long>(), out["steps"].get<long long>(),
        out["tokens_per_step"].get<double>());
  print_spread("tokens/s", out["tokens_per_sec"], 1, "");
  print_spread("step", out["step_s"], 1e3, "ms");
  const double step = out["step_s"]["median"].get<double>();
  for (const auto& [name, value] : out["phases_s"].items()) {
    const auto seconds = value.get<double>();
    if (seconds > 0) print("  %-14s %12.3f ms       %5.1f %%", name.c_str(), seconds * 1e3, 100 * seconds / step);
  }
  print_spread("first step", out["first_step_s"], 1, "s");
  print_spread("peak memory", out["peak_bytes"], kMebibyte, "MiB");
  const Value& gemm = out["gemm"];
  print("%-16s %12.1f GFLOP/s  (fp32, %s, %lld x %lld x %lld)", "matrix product",
        gemm["flops_per_sec"].get<double>() * 1e-9, gemm["routine"].get<std::string>().c_str(),
        gemm["rows"].get<long long>(), gemm["inner"].get<long long>(), gemm["cols"].get<long long>());
  print("%-16s %12.1f GFLOP/s  %.1f %% of it, counting 6 x parameters x tokens", "training",
        out["model_flops_per_sec"].get<double>() * 1e-9, 100 * out["gemm_share"].get<double>());
  if (out["products_s"].is_null()) return;
  print("%-16s %12.3f ms       %.1f %% of the step: its linear layers, each product timed alone", "products",
        out["products_s"].get<double>() * 1e3, 100 * out["products_share"].get<double>());
}

/// The arguments with a file: without one, configs/bench/small.yaml as it was when this program was built.
BenchArguments with_a_file(BenchArguments arguments, const std::string& folder) {
  if (!arguments.file.empty()) return arguments;
  arguments.file = folder + "/bench.yaml";
  std::ofstream(arguments.file) << kBenchConfig;
  return arguments;
}

}  // namespace

int bench_command(const BenchArguments& arguments) {
  if (arguments.data) return bench_data_command(arguments);
  Registry& registry = process_registry(arguments.plugin_paths);
  RunContext context;
  const SignalGuard signals(context);
  TemporaryFolder work("bench", "stc-bench");
  const BenchArguments measured = with_a_file(arguments, work.path());
  const Config config = load_and_warn(measured, Depth::kRun, registry);  // a mistake in the file is told here, once
  std::vector<Trial> trials;
  try {
    trials = run_trials(measured, make_settings(config).scheduler.max_steps, work.path(), context.stop_signal);
  } catch (const TrialStopped&) {
    return 128 + signals.received();
  } catch (const TrainError&) {
    work.keep();
    throw;
  }
  const GemmRate gemm = measure_gemm(trials.front().start.value("threads", int64_t{1}));
  const Value products_s = products_of(config, registry, trials.front());
  if (signals.received() != 0) return 128 + signals.received();
  const Value out = summary(arguments, trials, gemm, products_s);
  if (arguments.format == "json") {
    std::cout << out.dump(2) << "\n";
  } else {
    print_table(out);
  }
  return kExitDone;
}

}  // namespace stc::host
