// `stc-host tune FILE`: short paired trials of the user's config on the user's machine. A change is taken when it is
// faster in every pair and the losses stay near those of fp32.

#include "host/app/tune.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <thread>

#include "host/app/commands.hpp"
#include "host/app/config_arguments.hpp"
#include "host/app/median.hpp"
#include "host/app/signals.hpp"
#include "host/app/temporary_folder.hpp"
#include "host/app/trial.hpp"
#include "stc/version.hpp"

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
  const std::string ending = path.extension().string();
  if (ending == ".yaml" || ending == ".yml" || ending == ".json") path.replace_extension();
  return path.string() + ".tuned.yaml";
}

void put(KeyValues& changes, const std::pair<std::string, std::string>& change) {
  const auto found =
      std::find_if(changes.begin(), changes.end(), [&](const auto& item) { return item.first == change.first; });
  if (found == changes.end()) {
    changes.push_back(change);
  } else {
    found->second = change.second;
  }
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

/// What the run computed in, which `auto` leaves open.
std::string precision_of(const Trial& trial) { return trial.start.value("precision", "fp32"); }

class Tuner {
 public:
  Tuner(const TuneArguments& arguments, const Settings& settings, std::string folder, const std::atomic<int>& stop)
      : arguments_(arguments), settings_(settings), folder_(std::move(folder)), stop_(stop) {}

  void run();
  const KeyValues& changes() const { return changes_; }
  const std::vector<std::string>& lines() const { return lines_; }
  double tokens_before() const { return baseline_tokens_; }
  double tokens_now() const { return best_.step_s.empty() ? baseline_tokens_ : best_.tokens_per_second(); }
  bool measured() const { return !best_.step_s.empty(); }

 private:
  Trial trial(const KeyValues& changes);
  void measure_baseline();
  void pull(Lever lever);
  void try_candidate(const TuneCandidate& candidate, bool saves_memory);
  TuneState state() const;
  void say(const std::string& line) {
    lines_.push_back(line);
    std::cout << line << "\n" << std::flush;
  }
  bool over_memory(const Trial& trial) const {
    return arguments_.memory && static_cast<double>(trial.peak_bytes) > *arguments_.memory * 1024 * 1024 * 1024;
  }

  const TuneArguments& arguments_;
  const Settings& settings_;
  std::string folder_;
  const std::atomic<int>& stop_;
  int64_t steps_ = 0;  // measured in a trial
  int64_t trials_ = 0;
  Clock::time_point end_;
  KeyValues changes_;  // taken so far
  Trial best_;
  std::vector<double> losses_;  // of fp32
  double baseline_tokens_ = 0;
  std::vector<std::string> lines_;
};

Trial Tuner::trial(const KeyValues& changes) {
  const std::string own = folder_ + "/" + std::to_string(trials_++);
  return run_trial({"tune", arguments_, changes, steps_, arguments_.warmup, own, &stop_}, end_);
}

/// The file as it is, and in fp32 where it is not.
void Tuner::measure_baseline() {
  steps_ = std::min(kFirstSteps, arguments_.steps);
  const double seconds = trial({}).seconds();
  steps_ = std::clamp(static_cast<int64_t>(kTrialSeconds / seconds), std::min(kFewestSteps, arguments_.steps),
                      arguments_.steps);
  best_ = trial({});
  baseline_tokens_ = best_.tokens_per_second();
  const std::string precision = precision_of(best_);
  losses_ = precision == "fp32" ? best_.losses : trial({{"precision.mode", "fp32"}}).losses;
  char line[160];
  std::snprintf(line, sizeof line, "the file as it is: %.0f tokens/s, %.0f MiB, %s, trials of %lld + %lld steps",
                baseline_tokens_, static_cast<double>(best_.peak_bytes) / (1024 * 1024), precision.c_str(),
                static_cast<long long>(arguments_.warmup), static_cast<long long>(steps_));
  say(line);
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
  out.precision = precision_of(best_);
  out.device = best_.start.value("device", "cpu");
  return out;
}

void Tuner::try_candidate(const TuneCandidate& candidate, bool saves_memory) {
  KeyValues with = changes_;
  for (const auto& change : candidate.changes) put(with, change);
  TuneResult result;
  result.text = candidate.text;
  Trial last, before;
  try {
    for (int64_t i = 0; i < arguments_.pairs; ++i) {
      before = trial(changes_);
      last = trial(with);
      result.gains.push_back(last.tokens_per_second() / before.tokens_per_second());
      result.distance = std::max(result.distance, loss_distance(last.losses, losses_));
    }
    result.memory = static_cast<double>(last.peak_bytes) / static_cast<double>(before.peak_bytes);
    result.fits = !over_memory(last) || (saves_memory && result.memory < 1);
  } catch (const TrainError& error) {
    result.gains.clear();
    result.failure = error.what();
  }
  std::string verdict;
  const bool taken = is_taken(result, arguments_.distance, saves_memory, verdict);
  say(row(result, verdict));
  if (!taken) return;
  changes_ = std::move(with);
  best_ = std::move(last);
}

void Tuner::pull(Lever lever) {
  std::string why_not;
  const std::vector<TuneCandidate> candidates = candidates_of(lever, state(), why_not);
  if (candidates.empty()) say("- " + why_not);
  for (const TuneCandidate& candidate : candidates) try_candidate(candidate, lever == Lever::kCheckpointing);
}

void Tuner::run() {
  end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(arguments_.time));
  try {
    measure_baseline();
    for (const Lever lever : kLevers) pull(lever);
  } catch (const TrialStopped&) {
    say(stop_ != 0 ? "stopped by a signal; what is above stands" : "the time is up (--time); what is above stands");
  }
}

/// What the user gave as flags, then what was found.
KeyValues all_changes(const TuneArguments& arguments, const KeyValues& found) {
  KeyValues out;
  for (const std::string& set : arguments.sets) {
    const size_t equals = set.find('=');
    put(out, {set.substr(0, equals), set.substr(equals + 1)});
  }
  if (arguments.device) put(out, {"run.device", *arguments.device});
  for (const auto& change : found) put(out, change);
  return out;
}

std::string as_words(const KeyValues& changes) {
  std::string out;
  for (const auto& [key, value] : changes) out += " --set " + key + "=" + value;
  return out;
}

/// Writes and reads back; a file that cannot be read is not left behind.
void write_tuned(const TuneArguments& arguments, const Tuner& tuner, const std::string& path, Registry& registry) {
  std::ifstream in(arguments.file, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  std::vector<std::string> header = {"Tuned by stc-host " STC_VERSION " from " + arguments.file +
                                     ": see `stc-host tune --help`."};
  header.insert(header.end(), tuner.lines().begin(), tuner.lines().end());
  const KeyValues changes = all_changes(arguments, tuner.changes());
  const std::string tuned = tuned_yaml(text, changes, header);
  std::ofstream out(path, std::ios::binary);
  out << tuned;
  out.close();
  if (!out)
    throw Error("tune: " + path + ": cannot be written", "the same by flags: stc-host run FILE" + as_words(changes));
  try {
    ConfigArguments written;
    written.file = path;
    written.plugin_paths = arguments.plugin_paths;
    load_and_warn(written, Depth::kRun, registry);
  } catch (const Error& error) {
    std::error_code ignored;
    fs::remove(path, ignored);
    throw Error("tune: the changes cannot be written into the file: " + std::string(error.what()),
                "the same by flags: stc-host run FILE" + as_words(changes));
  }
}

}  // namespace

int tune_command(const TuneArguments& arguments) {
  Registry& registry = process_registry(arguments.plugin_paths);
  const Settings settings = make_settings(load_and_warn(arguments, Depth::kRun, registry));
  const std::string path = output_of(arguments);
  if (std::error_code ignored; fs::exists(path, ignored)) {
    throw Error("tune: " + path + ": is there already", "remove it, or name another file with --output");
  }

  TemporaryFolder work("tune", "stc-tune");
  RunContext context;
  const SignalGuard signals(context);
  Tuner tuner(arguments, settings, work.path(), context.stop_signal);
  try {
    tuner.run();
  } catch (const TrainError&) {
    work.keep();
    throw;
  }
  if (!tuner.measured() && signals.received() != 0) return 128 + signals.received();
  if (tuner.changes().empty()) {
    std::cout << "nothing found that is faster: the file is as fast as this knows; nothing was written\n";
    return kExitDone;
  }
  write_tuned(arguments, tuner, path, registry);
  char line[160];
  std::snprintf(line, sizeof line, "%.0f tokens/s before, %.0f now; written to ", tuner.tokens_before(),
                tuner.tokens_now());
  std::cout << line << path << "\n";
  return kExitDone;
}

}  // namespace stc::host
