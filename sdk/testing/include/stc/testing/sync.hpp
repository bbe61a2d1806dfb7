/// \file
/// Conformance of sync plugins.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "stc/testing/folder.hpp"
#include "stc/testing/subject.hpp"

namespace stc::testing {

using SyncInstance = Instance<stc_sync_api, stc_sync>;

namespace detail {

/// Calls of the table with C++ types; errors are kept in `error`.
class SyncCalls {
 public:
  explicit SyncCalls(const SyncInstance& sync) : sync_(sync) {}
  SlotError error;

  std::string poll() {
    char version[128] = {};
    error = sync_.call(sync_.api().poll, version);
    return version;
  }
  /// A value of nothing deletes the path.
  std::string commit(const std::map<std::string, std::optional<std::string>>& files, const char* expected) {
    std::vector<stc_sync_operation> operations;
    for (const auto& [path, data] : files) {
      operations.push_back({STC_SIZE_TO_END(stc_sync_operation, file), data ? STC_SYNC_PUT : STC_SYNC_DELETE,
                            path.c_str(), data ? data->data() : nullptr, data ? data->size() : 0, nullptr});
    }
    return commit(operations, expected);
  }
  std::string commit(const std::vector<stc_sync_operation>& operations, const char* expected) {
    char version[128] = {};
    error = sync_.call(sync_.api().commit, operations.data(), static_cast<uint32_t>(operations.size()),
                       static_cast<uint32_t>(sizeof(stc_sync_operation)), expected, "a commit of the test", uint32_t{0},
                       version);
    return version;
  }
  std::map<std::string, uint64_t> list(const char* prefix, const char* version = nullptr) {
    std::map<std::string, uint64_t> entries;
    const stc_sync_entry_fn add = [](void* ctx, const stc_sync_entry* entry) -> stc_error* {
      (*static_cast<std::map<std::string, uint64_t>*>(ctx))[entry->path] = entry->size;
      return nullptr;
    };
    error = sync_.call(sync_.api().list, prefix, version, add, static_cast<void*>(&entries));
    return entries;
  }
  std::string read(const char* path, const char* version = nullptr) {
    std::string data;
    const stc_sync_chunk_fn add = [](void* ctx, const void* piece, uint64_t size) -> stc_error* {
      static_cast<std::string*>(ctx)->append(static_cast<const char*>(piece), size);
      return nullptr;
    };
    error = sync_.call(sync_.api().read, path, version, add, static_cast<void*>(&data));
    return data;
  }

 private:
  const SyncInstance& sync_;
};

inline stc_sync_operation put(const char* path) {
  return {STC_SIZE_TO_END(stc_sync_operation, file), STC_SYNC_PUT, path, "x", 1, nullptr};
}

inline void check_sync_versions(Report& report, SyncCalls& calls) {
  report.context("commit");
  const std::string big(3 << 20, 'b');
  const std::string first =
      calls.commit({{"a/one", "1"}, {"a/two", std::string("2\0x", 3)}, {"b/big", big}, {"empty", ""}}, nullptr);
  report.expect(!calls.error && !first.empty() && first.size() < 128, "first commit: " + calls.error.message);
  report.expect(calls.poll() == first, "poll does not give the version of the commit");
  report.context("list");
  report.expect(calls.list("") ==
                    std::map<std::string, uint64_t>{{"a/one", 1}, {"a/two", 3}, {"b/big", big.size()}, {"empty", 0}},
                "a listing of all differs from what was committed");
  report.expect(calls.list("a/") == std::map<std::string, uint64_t>{{"a/one", 1}, {"a/two", 3}},
                "a listing of a prefix is wrong");
  report.expect(calls.list("none/").empty() && !calls.error, "a prefix without files is an empty listing");
  report.context("read");
  report.expect(calls.read("a/two") == std::string("2\0x", 3), "bytes came back changed");
  report.expect(calls.read("b/big") == big, "a large file came back changed");
  report.expect(calls.read("empty").empty() && !calls.error, "an empty file came back changed");
  calls.read("a/none");
  report.expect(calls.error.code == STC_ERROR_NOT_FOUND, "a file that does not exist: expected NOT_FOUND");

  report.context("versions");
  const std::string second = calls.commit({{"a/one", "changed"}, {"a/two", std::nullopt}}, first.c_str());
  report.expect(!calls.error && second != first, "second commit: " + calls.error.message);
  report.expect(calls.read("a/one") == "changed", "the newest version has the old bytes");
  report.expect(calls.read("a/one", first.c_str()) == "1", "the first version has changed");
  report.expect(calls.list("a/") == std::map<std::string, uint64_t>{{"a/one", 7}}, "a deleted file is still listed");
  report.expect(calls.list("a/", first.c_str()).size() == 2, "a file is gone from the first version");
  calls.commit({{"c", "late"}}, first.c_str());
  report.expect(calls.error.code == STC_ERROR_CONFLICT, "a commit on an old version: expected CONFLICT");
  report.expect(calls.list("c").empty(), "a commit that failed left a file");
  report.expect(calls.poll() == second, "a commit that failed made a version");
  for (const char* path : {"../outside", "/absolute", "a/../../b", ""}) {
    const std::vector<stc_sync_operation> operations{put("good"), put(path)};
    calls.commit(operations, nullptr);
    report.expect(static_cast<bool>(calls.error), std::string("path \"") + path + "\" was accepted");
  }
  report.expect(calls.list("good").empty() && calls.poll() == second, "a commit with a bad path left a part of itself");
}

inline void check_sync_race(Report& report, const Subject& subject, FakeHost& host, const Section& config) {
  report.context("race");
  SyncInstance one(subject, host, config), two(subject, host, config);
  for (int round = 0; round < 10; ++round) {
    const std::string before = SyncCalls(one).poll();
    std::atomic<int> won{0}, lost{0};
    std::vector<std::thread> threads;
    for (const SyncInstance* sync : {&one, &two}) {
      threads.emplace_back([&, sync] {
        SyncCalls calls(*sync);
        calls.commit({{"race", "of " + std::to_string(reinterpret_cast<uintptr_t>(sync))}}, before.c_str());
        won += calls.error.code == 0 ? 1 : 0;
        lost += calls.error.code == STC_ERROR_CONFLICT ? 1 : 0;
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    report.expect(won == 1 && lost == 1, "two commits on one version: " + std::to_string(won) + " won, " +
                                             std::to_string(lost) + " had a conflict");
  }
}

}  // namespace detail

/// \param config of a place that does not exist yet; relative paths start in \p root.
inline Report check_sync(const Subject& subject, const Section& config, const std::string& root) {
  Report report = check_declaration(subject);
  FakeHost host;
  host.root = root;
  {
    SyncInstance sync(subject, host, config);
    report.context("ensure");
    if (!report.expect(!sync.error(), "create: " + sync.error().message)) {
      return report;
    }
    SlotError error = sync.call(sync.api().ensure, 0, 1);
    report.expect(static_cast<bool>(error), "a place that does not exist was found");
    error = sync.call(sync.api().ensure, 1, 1);
    report.expect(!error, "create: " + error.message);
    error = sync.call(sync.api().ensure, 1, 1);
    report.expect(!error, "again: " + error.message);
    report.context("identity");
    stc_sync_identity identity{};
    identity.struct_size = STC_SIZE_TO_END(stc_sync_identity, place);
    error = sync.call(sync.api().identity, &identity);
    report.expect(!error && identity.place != nullptr && (identity.rights & STC_SYNC_CAN_READ) != 0,
                  "has no place or cannot be read");
    detail::SyncCalls calls(sync);
    detail::check_sync_versions(report, calls);
    detail::check_sync_race(report, subject, host, config);
    if (sync.api().limits != nullptr) {
      report.context("limits");
      stc_sync_limits limits{};
      limits.struct_size = STC_SIZE_TO_END(stc_sync_limits, min_poll_interval_s);
      report.expect(!sync.call(sync.api().limits, &limits) && limits.min_poll_interval_s >= 0,
                    "failed, or a negative interval");
    }
  }
  report.context("");
  report.expect(host.errors_alive() == 0, "errors were not freed");
  return report;
}

}  // namespace stc::testing
