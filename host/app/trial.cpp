#include "host/app/trial.hpp"

#include <algorithm>
#include <fstream>
#include <thread>

#include "host/app/median.hpp"
#include "host/app/step_records.hpp"
#include "host/errors/error.hpp"

namespace stc::host {
namespace {

using Clock = std::chrono::steady_clock;

std::string log_of(const TrialRequest& request) { return request.folder + "/log.jsonl"; }

std::vector<std::string> words_of(const TrialRequest& request) {
  KeyValues fixed = keys_of_a_quiet_run(log_of(request));
  put_value(fixed, "checkpoint.enabled", "false");
  put_value(fixed, "run.eval_every", "null");
  put_value(fixed, "logging.sample_prompts", "[]");
  put_value(fixed, "scheduler.max_steps", std::to_string(request.schedule_steps));
  fixed.insert(fixed.end(), request.changes.begin(), request.changes.end());
  return run_words(request.arguments, request.folder, request.warmup + request.steps, fixed);
}

bool told_to_stop(const TrialRequest& request) { return request.stop != nullptr && *request.stop != 0; }

/// Runs it to its end. \returns the seconds until its log told of the first step.
double run_to_the_end(const TrialRequest& request, Clock::time_point deadline, Trial& trial) {
  StepFollower log(log_of(request));
  const Clock::time_point begin = Clock::now();
  ChildRun child(request.subject, words_of(request), request.folder + ".txt");
  double first = 0;
  while (child.running()) {
    if (first == 0 && log.last_step() > 0) first = std::chrono::duration<double>(Clock::now() - begin).count();
    if (told_to_stop(request) || Clock::now() > deadline) throw TrialStopped{};
    std::this_thread::sleep_for(std::chrono::milliseconds(first == 0 ? 1 : 5));
  }
  if (told_to_stop(request)) throw TrialStopped{};  // a terminal sends its signal to the run as well
  child.expect_success();
  trial.peak_bytes = child.peak_bytes();
  return first > 0 ? first : std::chrono::duration<double>(Clock::now() - begin).count();
}

void read_log(const TrialRequest& request, Trial& trial) {
  std::ifstream in(log_of(request), std::ios::binary);
  std::map<std::string, std::vector<double>> phases;
  double before = 0;
  int64_t steps = 0;
  for (std::string line; std::getline(in, line);) {
    const Value record = Value::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!record.is_object()) continue;
    const std::string event = record.value("event", "");
    if (event == "train_start") trial.start = record;
    if (event == "compile") trial.no_fused = record.value("reason", "");
    if (event != "train_step") continue;
    const double now = record.at("elapsed_s").get<double>();
    trial.losses.push_back(record.at("loss").get<double>());
    if (steps++ >= request.warmup) {
      trial.step_s.push_back(now - before);
      for (const auto& [key, value] : record.items()) {
        if (key.ends_with("_s") && key != "elapsed_s") {
          phases[key.substr(0, key.size() - 2)].push_back(value.get<double>());
        }
      }
      trial.tokens = record.at("tokens").get<double>() / static_cast<double>(steps);
    }
    before = now;
  }
  for (const auto& [name, values] : phases) trial.phases[name] = median(values);
}

}  // namespace

double Trial::seconds() const { return median(step_s); }

Trial run_trial(const TrialRequest& request, Clock::time_point deadline) {
  Trial trial;
  trial.first_step_s = run_to_the_end(request, deadline, trial);
  read_log(request, trial);
  if (trial.step_s.empty()) {
    throw TrainError(request.subject + ": the run made no step after the first " + std::to_string(request.warmup),
                     "lower --warmup, or look whether something in the file ends the run earlier");
  }
  return trial;
}

}  // namespace stc::host
