// `stc-host tune FILE`: short paired trials of the user's config on the user's machine. A change is taken when it is
// faster in every pair and the losses stay near those of the reference: fp32 through autograd.

#include "host/app/tune.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <thread>

#include "host/app/commands.hpp"
#include "host/app/config_arguments.hpp"
#include "host/app/median.hpp"
#include "host/app/signals.hpp"
#include "host/app/temporary_folder.hpp"
#include "host/app/trial.hpp"
#include "host/app/tuned_file.hpp"
#include "host/config/document.hpp"

namespace stc::host {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// A trial lasts about this long in its measured steps, so that a slow step gets fewer of them.
constexpr double kTrialSeconds = 5;
constexpr int64_t kFewestSteps = 4;
constexpr int64_t kFirstSteps = 10;  // of the first look

std::string output_of(const TuneArguments& arguments) {
  if (!arguments.output.empty()) return arguments.output;
  fs::path path = arguments.file;
  if (is_yaml(path) || path.extension() == ".json") path.replace_extension();
  return path.string() + ".tuned.yaml";
}

std::string row(const TuneResult& result, const std::string& verdict) {
  char line[256];
  if (result.gains.empty()) {
    std::snprintf(line, sizeof line, "%-36s %-42s", result.text.c_str(), "");
  } else {
    const auto [low, high] = std::minmax_element(result.gains.begin(), result.gains.end());
    std::snprintf(line, sizeof line, "%-36s x%6.3f (%.3f .. %.3f)  x%5.2f  %8.1e ", result.text.c_str(),
                  median(result.gains), *low, *high, result.memory, result.distance);
  }
  return line + verdict;
}

/// A copy of the run file as it was at the begin, under its name, which says its format.
std::string copy_of(const TuneArguments& arguments, const TunedFile& file, const std::string& work) {
  const fs::path folder = fs::path(work) / "config";
  fs::create_directory(folder);
  const std::string path = (folder / fs::path(arguments.file).filename()).string();
  std::ofstream out(path, std::ios::binary);
  out << file.text();
  out.close();
  if (!out) throw Error("tune: " + path + ": cannot be written");
  return path;
}

/// What the run computed in, which `auto` leaves open.
std::string precision_of(const Trial& trial) { return trial.start.value("precision", "fp32"); }
std::string path_of(const Trial& trial) { return trial.start.value("path", "autograd"); }

/// The host reads no such field: it is the optimizer's own.
bool fused_optimizer(const Config& config) { return config.at("optimizer.fused") != Value(false); }

class Tuner {
 public:
  Tuner(const TuneArguments& arguments, const Config& config, std::string folder, const std::atomic<int>& stop,
        TunedFile& file)
      : arguments_(arguments),
        settings_(make_settings(config)),
        fused_optimizer_(fused_optimizer(config)),
        folder_(std::move(folder)),
        of_trials_(arguments),
        stop_(stop),
        file_(file) {
    of_trials_.file = copy_of(arguments, file, folder_);
  }

  /// To its end, or until told to stop.
  void run();
  bool measured() const { return !best_.step_s.empty(); }

 private:
  Trial trial(const KeyValues& changes);
  std::string told(std::string text) const;
  void measure_baseline();
  TuneResult compare(const std::string& text, const KeyValues& before, const KeyValues& with, Trial& last);
  void compare_with_the_file();
  void conclude(const std::string& end);
  void pull(Lever lever);
  void try_candidate(const TuneCandidate& candidate, bool checkpointing);
  TuneState state() const;
  static void print(const std::string& line) { std::cout << line << "\n" << std::flush; }
  /// Also into the file.
  void say(const std::string& line) {
    lines_.push_back(line);
    print(line);
  }
  bool over_memory(const Trial& trial) const {
    return arguments_.memory && static_cast<double>(trial.peak_bytes) > *arguments_.memory * 1024 * 1024 * 1024;
  }

  const TuneArguments& arguments_;
  const Settings settings_;
  const bool fused_optimizer_;
  std::string folder_;
  TuneArguments of_trials_;  // with the copy as its file
  const std::atomic<int>& stop_;
  TunedFile& file_;
  int64_t steps_ = 0;  // measured in a trial
  int64_t trials_ = 0;
  Clock::time_point end_;
  KeyValues changes_;  // taken so far
  Trial best_;
  int64_t taken_ = 0;           // changes
  std::vector<double> losses_;  // of the reference
  std::vector<std::string> lines_;
};

Trial Tuner::trial(const KeyValues& changes) {
  const std::string own = folder_ + "/" + std::to_string(trials_++);
  try {
    return run_trial(
        {"tune", of_trials_, changes, steps_, arguments_.warmup, settings_.scheduler.max_steps, own, &stop_}, end_);
  } catch (const TrainError& error) {
    throw TrainError(told(error.what()), told(error.hint()));
  } catch (const Error& error) {
    throw Error(told(error.what()), told(error.hint()));
  }
}

/// With the user's name of the run file in place of its copy's.
std::string Tuner::told(std::string text) const {
  const size_t at = text.find(of_trials_.file);
  return at == std::string::npos ? text : text.replace(at, of_trials_.file.size(), arguments_.file);
}

/// The file as it is, and the reference where that is another run.
void Tuner::measure_baseline() {
  steps_ = std::min(kFirstSteps, arguments_.steps);
  const double seconds = trial({}).seconds();
  steps_ = std::clamp(static_cast<int64_t>(kTrialSeconds / seconds), std::min(kFewestSteps, arguments_.steps),
                      arguments_.steps);
  best_ = trial({});
  const std::string precision = precision_of(best_), path = path_of(best_);
  const bool is_reference = precision == "fp32" && path == "autograd";
  losses_ = is_reference ? best_.losses : trial({{"precision.mode", "fp32"}, {"run.fast_path", "off"}}).losses;
  char line[200];
  std::snprintf(line, sizeof line,
                "the file as it is: %.0f tokens/s, %.0f MiB, %s, %s path, loss within %.1e of fp32 through autograd; "
                "trials of %lld + %lld steps",
                best_.tokens_per_second(), static_cast<double>(best_.peak_bytes) / (1024 * 1024), precision.c_str(),
                path.c_str(), loss_distance(best_.losses, losses_), static_cast<long long>(arguments_.warmup),
                static_cast<long long>(steps_));
  say(line);
  if (over_memory(best_)) say("- it needs more than --memory: what brings it below is taken also when it is slower");
  std::snprintf(line, sizeof line, "%-36s %-26s  %-6s  %-8s", "change", "tokens/s to the best", "memory", "loss");
  say(line);
}

TuneState Tuner::state() const {
  TuneState out;
  const auto number = [this](const std::string& key, int64_t otherwise) {
    const std::string* taken = find_value(changes_, key);
    return taken == nullptr ? otherwise : std::stoll(*taken);
  };
  const DataSettings& data = settings_.data;
  out.target_batch = data.micro_batch_size * data.accumulation_steps;
  out.micro_batch = number("data.micro_batch_size", data.micro_batch_size);
  out.workers = number("data.num_workers", data.num_workers);
  out.threads = best_.start.value("threads", int64_t{1});
  out.cores = std::max<int64_t>(1, std::thread::hardware_concurrency());
  const auto found = best_.phases.find("data");
  out.data_share = found == best_.phases.end() ? 0 : found->second / best_.seconds();
  out.checkpointing = settings_.gradient_checkpointing;
  out.over_memory = over_memory(best_);
  out.fused_optimizer = fused_optimizer_;
  out.fast_path_off = settings_.run.fast_path == "off";
  out.fused_path = path_of(best_) == "fused";
  out.no_fused_path = best_.no_fused;
  out.precision = precision_of(best_);
  out.device = best_.start.value("device", "cpu");
  return out;
}

/// \param last  set to the last trial of `with`.
TuneResult Tuner::compare(const std::string& text, const KeyValues& before, const KeyValues& with, Trial& last) {
  TuneResult result;
  result.text = text;
  try {
    double memory_before = 0;
    for (int64_t i = 0; i < arguments_.pairs; ++i) {
      const Trial first = trial(before);
      last = trial(with);
      result.gains.push_back(last.tokens_per_second() / first.tokens_per_second());
      result.distance = std::max(result.distance, loss_distance(last.losses, losses_));
      memory_before = static_cast<double>(first.peak_bytes);
    }
    result.memory = static_cast<double>(last.peak_bytes) / memory_before;
  } catch (const Error& error) {
    const std::string message = error.what();
    result.gains.clear();
    result.failure = message.substr(0, message.find('\n'));
  }
  return result;
}

void Tuner::try_candidate(const TuneCandidate& candidate, bool checkpointing) {
  KeyValues with = changes_;
  for (const auto& [key, value] : candidate.changes) put_value(with, key, value);
  Trial last;
  TuneResult result = compare(candidate.text, changes_, with, last);
  const bool saves_memory = over_memory(best_) && result.memory < 1;
  result.fits = !over_memory(last) || (checkpointing && saves_memory);
  std::string verdict;
  const bool taken = is_taken(result, arguments_.distance, saves_memory, verdict);
  say(row(result, verdict));
  if (!taken) return;
  changes_ = std::move(with);
  best_ = std::move(last);
  ++taken_;
  file_.write(changes_, lines_);
}

/// The changes were measured one after the other: here they are all together, against none of them.
void Tuner::compare_with_the_file() {
  if (taken_ < 2) return;
  Trial last;
  const TuneResult result = compare("all that is taken", {}, changes_, last);
  const bool slower = !result.failure && median(result.gains) < 1;
  say(row(result, slower ? "slower than the file as it is: look again" : "to the file as it is"));
}

void Tuner::pull(Lever lever) {
  std::string why_not;
  const std::vector<TuneCandidate> candidates = candidates_of(lever, state(), why_not);
  if (candidates.empty()) say("- " + why_not);
  const bool had_micro_batch = find_value(changes_, "data.micro_batch_size") != nullptr;
  for (const TuneCandidate& candidate : candidates) try_candidate(candidate, lever == Lever::kCheckpointing);
  if (!had_micro_batch && find_value(changes_, "data.micro_batch_size") != nullptr) {
    say("- with another micro-batch a pass over the data may end some samples earlier or later (data.drop_last), and");
    say("  dropout draws other masks; within a pass and without dropout the steps are the same");
  }
}

void Tuner::run() {
  end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(arguments_.time));
  try {
    measure_baseline();
    const auto path = path_of(best_);
    for (const Lever lever : kLevers) pull(lever);
    if (path_of(best_) != path) {
      say("- on the fast path once more, what depends on it:");
      for (const Lever lever : {Lever::kMicroBatch, Lever::kThreads, Lever::kPrecision}) pull(lever);
    }
    compare_with_the_file();
  } catch (const TrialStopped&) {
    conclude(stop_ != 0 ? "stopped by a signal" : "the time is up (--time)");
    return;
  }
  conclude({});
}

/// \param end  why it ended before everything was tried; empty: it did not.
void Tuner::conclude(const std::string& end) {
  if (!end.empty())
    say(end + (measured() ? ": not everything was tried" : " before the file was measured: nothing was tried"));
  if (measured() && over_memory(best_)) say("still above --memory");
  if (file_.written()) {
    file_.write(changes_, lines_);
    print("written to " + file_.path());
  } else if (end.empty()) {
    print("nothing found that is faster: the file is as fast as this knows; nothing was written");
  } else {
    print("nothing was written");
  }
}

}  // namespace

int tune_command(const TuneArguments& arguments) {
  Registry& registry = process_registry(arguments.plugin_paths);
  const Config config = load_and_warn(arguments, Depth::kRun, registry);
  TunedFile file(arguments, output_of(arguments), registry);
  TemporaryFolder work("tune", "stc-tune");
  RunContext context;
  const SignalGuard signals(context);
  Tuner tuner(arguments, config, work.path(), context.stop_signal, file);
  try {
    tuner.run();
  } catch (const TrainError&) {
    work.keep();
    throw;
  }
  return signals.received() != 0 ? 128 + signals.received() : kExitDone;
}

}  // namespace stc::host
