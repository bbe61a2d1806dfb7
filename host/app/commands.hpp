/// \file
/// The subcommands of stc-host, one source file each. Each returns the exit code and throws Error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stc::host {

/// Options of the commands that read a run file.
struct ConfigArguments {
  std::string file;
  std::vector<std::string> sets;
  std::optional<bool> resume;
  std::optional<std::string> device;
  std::optional<int64_t> max_steps;
  std::optional<std::string> output_dir;
  std::vector<std::string> plugin_paths;
};

struct RunArguments : ConfigArguments {
  bool profile = false;            // records a trace in the run's folder
  std::vector<std::string> allow;  // differences to the checkpoint that are accepted
};
int run_command(const RunArguments& arguments);

struct ValidateArguments : ConfigArguments {
  std::string format = "yaml";  // yaml or json
  bool deep = false;
};
int validate_command(const ValidateArguments& arguments);

struct ExplainArguments : ConfigArguments {
  std::string key;              // empty: all; a section or a key
  std::string format = "text";  // text, json, markdown
};
int explain_command(const ExplainArguments& arguments);

struct PluginsArguments {
  std::vector<std::string> plugin_paths;
  std::string target;  // describe: [kind/]name; check: file
  std::string format = "text";
};
int plugins_describe_command(const PluginsArguments& arguments);
/// `plugins check`: the launcher tries the library in a child process, which gets these further
/// words.
struct PluginsCheckArguments : PluginsArguments {
  int report_fd = -1;   // where the child reports (host/app/check_report.hpp); -1: this is the parent
  std::string scratch;  // an empty folder that the parent removes afterwards
};
/// The child's side: each passed step as a line on standard output, progress and the refusal on
/// report_fd.
int plugins_check_command(const PluginsCheckArguments& arguments);

struct InspectArguments {
  std::string path;
  std::string other;            // a second checkpoint: tell what differs; empty: describe the first
  std::string format = "text";  // text or json
  bool verify = true;
};
int inspect_command(const InspectArguments& arguments);

struct GenerateArguments {
  std::string checkpoint;
  std::string prompt;
  int64_t max_tokens = 100;
  double temperature = 1.0;  // 0: greedy
  int64_t top_k = 0;         // 0: all
  uint64_t seed = 0;
  bool ema = false;  // sample from the moving average of the weights
  std::vector<std::string> plugin_paths;
};
int generate_command(const GenerateArguments& arguments);

struct ReplayArguments {
  std::string path;  // a run's folder, or one record
  std::vector<std::string> plugin_paths;
};
int replay_command(const ReplayArguments& arguments);

struct BenchArguments : ConfigArguments {
  bool data = false;            // the loader alone
  double seconds = 2;           // of each measurement of the loader
  int64_t steps = 20;           // measured in each run
  int64_t warmup = 5;           // steps before them
  int64_t repeats = 3;          // runs
  std::string format = "text";  // text or json
};
/// Whole steps.
int bench_command(const BenchArguments& arguments);
/// The loader alone.
int bench_data_command(const BenchArguments& arguments);

struct TuneArguments : ConfigArguments {
  int64_t steps = 1000;          // measured in each trial, at most
  int64_t warmup = 3;            // steps before them
  int64_t pairs = 3;             // of trials for each change
  double distance = 0.01;        // largest relative difference of a loss to the fp32 baseline's
  double time = 900;             // seconds in all
  std::optional<double> memory;  // most peak memory in GiB
  std::string output;            // empty: FILE with .tuned.yaml for its ending
};
int tune_command(const TuneArguments& arguments);

struct VerifyResumeArguments : ConfigArguments {
  int64_t steps = 12;
  int64_t kills = 3;
  std::optional<uint64_t> seed;  // of the moments; null: another one each time
};
int verify_resume_command(const VerifyResumeArguments& arguments);

}  // namespace stc::host
