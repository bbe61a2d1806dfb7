// `stc-host verify-resume FILE`: a short run of the user's own config, and the same one killed and resumed, compared
// bit by bit.

#include "host/app/step_records.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <random>
#include <thread>

#include "host/app/child_run.hpp"
#include "host/app/commands.hpp"
#include "host/app/config_arguments.hpp"
#include "host/app/signals.hpp"
#include "host/app/temporary_folder.hpp"
#include "host/checkpoint/compare.hpp"
#include "host/config/settings.hpp"

namespace stc::host {
namespace {

namespace fs = std::filesystem;

std::string log_of(const std::string& folder) { return folder + "/log.jsonl"; }

int64_t save_every(const VerifyResumeArguments& arguments) { return std::max<int64_t>(1, arguments.steps / 8); }

/// The command line of one run into `folder`. Sinks, targets by time and early ends are the user's run's own business.
std::vector<std::string> words_of(const VerifyResumeArguments& arguments, const std::string& folder) {
  KeyValues fixed = keys_of_a_quiet_run(log_of(folder));
  put_value(fixed, "checkpoint.enabled", "true");
  put_value(fixed, "checkpoint.resume", "auto");
  put_value(fixed, "checkpoint.every_steps", std::to_string(save_every(arguments)));
  put_value(fixed, "checkpoint.keep_last", "2");
  put_value(fixed, "checkpoint.directory", "checkpoints");
  return run_words(arguments, folder, arguments.steps, fixed);
}

bool has_checkpoint(const std::string& folder) {
  std::error_code ignored;
  return fs::exists(folder + "/checkpoints/latest.json", ignored);
}

/// \throws Cancelled when a signal has told this command to stop.
void wait_a_moment(const SignalGuard& signals) {
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  if (signals.received() != 0) throw Cancelled("verify-resume: stopped by a signal");
}

void run_whole(const VerifyResumeArguments& arguments, const std::string& folder, const SignalGuard& signals) {
  ChildRun child("verify-resume", words_of(arguments, folder), folder + ".txt");
  while (child.running()) wait_a_moment(signals);
  wait_a_moment(signals);  // a terminal sends its signal to the run as well, perhaps a little earlier
  child.expect_success();
}

/// Kills the run after a random step, at a random moment of the next one. \returns the number of kills that met it
/// alive.
int64_t run_with_kills(const VerifyResumeArguments& arguments, const std::string& folder, uint64_t seed,
                       const SignalGuard& signals) {
  std::mt19937_64 engine(seed);
  StepFollower log(log_of(folder));
  int64_t kills = 0;
  for (int64_t left = arguments.kills; left > 0; --left) {
    const int64_t from = log.last_step();
    // Before the first save there is nothing to resume from.
    const int64_t earliest = std::max(from, save_every(arguments)) + 1;
    if (earliest >= arguments.steps) break;
    const int64_t goal = std::uniform_int_distribution<int64_t>(earliest, arguments.steps - 1)(engine);
    ChildRun child("verify-resume", words_of(arguments, folder), folder + ".txt");
    const auto started = std::chrono::steady_clock::now();
    while (child.running() && (log.last_step() < goal || !has_checkpoint(folder))) wait_a_moment(signals);
    const double per_step = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count() /
                            static_cast<double>(goal - from);
    std::this_thread::sleep_for(
        std::chrono::duration<double>(std::uniform_real_distribution<double>(0, std::min(per_step, 2.0))(engine)));
    if (!child.running()) {
      wait_a_moment(signals);
      child.expect_success();
      break;
    }
    child.kill_and_wait();
    ++kills;
    std::cout << "killed after step " << log.last_step() << "\n" << std::flush;
  }
  run_whole(arguments, folder, signals);
  return kills;
}

}  // namespace

int verify_resume_command(const VerifyResumeArguments& arguments) {
  Registry& registry = process_registry(arguments.plugin_paths);
  load_and_warn(arguments, Depth::kRun, registry);  // a mistake in the file is told here, once

  RunContext context;
  const SignalGuard signals(context);
  TemporaryFolder work("verify-resume", "stc-verify-resume");  // of both runs; kept when there is something to look at
  const std::string whole = work.path() + "/unbroken", broken = work.path() + "/resumed";
  const uint64_t seed = arguments.seed ? *arguments.seed : std::random_device{}();
  std::cout << "seed of the kills: " << seed << "\n" << std::flush;
  int64_t kills = 0;
  std::optional<std::string> difference;
  try {
    run_whole(arguments, whole, signals);
    kills = run_with_kills(arguments, broken, seed, signals);
    difference = first_difference(read_step_records(log_of(whole)), read_step_records(log_of(broken)));
  } catch (const Cancelled&) {
    return 128 + signals.received();
  } catch (const TrainError&) {
    work.keep();
    throw;
  } catch (const CheckpointError& error) {
    difference = error.what();
  }
  if (kills == 0 && !difference) {
    throw TrainError("verify-resume: the run ended before it could be killed, so nothing is proved",
                     "more steps: --steps " + std::to_string(10 * arguments.steps));
  }
  Value comparison = compare_checkpoints(open_checkpoint(whole), open_checkpoint(broken));
  drop_names(comparison);
  if (!difference && comparison["equal"].get<bool>()) {
    std::cout
        << "exact: " << arguments.steps << " steps with " << kills
        << " kills gave the bits of an unbroken run: weights, optimizer, counters, data position and every loss\n";
    return kExitDone;
  }
  work.keep();
  std::cout << "not exact: " << difference.value_or("the records are equal, the checkpoints are not") << "\n"
            << comparison_text(comparison) << "both runs are in " << work.path() << "\n";
  return kExitDiffers;
}

}  // namespace stc::host
