/// \file
/// Sync in C++: the place where nodes meet, a versioned tree of files with atomic commits. Members
/// may be called from any thread, two at once. Every wait obeys stc::Host::cancelled and cancel().
///
///   struct Folder {
///     stc::SyncIdentity identity();
///     // A failed read throws; it is never an empty listing. No version: the newest.
///     void list(std::string_view prefix, std::optional<std::string_view> version, const
///     stc::SyncListing& out);
///     // Fault(STC_ERROR_NOT_FOUND) only when the place answered that the file does not exist.
///     void read(std::string_view path, std::optional<std::string_view> version, const
///     stc::SyncChunks& out);
///     // All or none; the new version. Fault(STC_ERROR_CONFLICT) when another commit came first.
///     std::string commit(const stc::SyncCommit& commit);
///     std::string poll();                            // the newest version, cheaply
///     void ensure(bool create, bool is_private);     // creates the place if it is missing
///     // optional
///     stc::SyncLimits limits();
///     void cancel();
///     void compact(const std::vector<std::string>& keep);
///   };
///   STC_SYNC_PLUGIN(Folder, "folder", "1.0.0", "a shared folder")
#pragma once

#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stc/abi/sync.h"
#include "stc/plugin.hpp"

namespace stc {

struct SyncIdentity {
  uint32_t rights = 0;  // STC_SYNC_CAN_*
  std::string user;     // empty: unknown
  std::string place;    // for messages; no secret in it
};

struct SyncLimits {
  uint64_t max_file_bytes = 0;  // 0: none known
  uint64_t max_operations = 0;
  double min_poll_interval_s = 0;
};

/// Where list puts its entries.
class SyncListing {
 public:
  SyncListing(Host host, stc_sync_entry_fn fn, void* ctx) : host_(host), fn_(fn), ctx_(ctx) {}
  /// \param hash "<algorithm>:<hex>"; null: unknown. Throws what the receiver answers; let it pass.
  void add(const char* path, uint64_t size, const char* hash = nullptr) const {
    const stc_sync_entry entry{STC_SIZE_TO_END(stc_sync_entry, hash), 0, path, size, hash};
    host_.check(fn_(ctx_, &entry));
  }

 private:
  Host host_;
  stc_sync_entry_fn fn_;
  void* ctx_;
};

/// Where read puts the file, piece by piece.
class SyncChunks {
 public:
  SyncChunks(Host host, stc_sync_chunk_fn fn, void* ctx) : host_(host), fn_(fn), ctx_(ctx) {}
  void add(const void* data, uint64_t size) const { host_.check(fn_(ctx_, data, size)); }

 private:
  Host host_;
  stc_sync_chunk_fn fn_;
  void* ctx_;
};

/// One change of a commit. Text and data are borrowed for the call.
struct SyncOperation {
  int32_t kind = STC_SYNC_PUT;  // STC_SYNC_PUT or _DELETE
  std::string_view path;        // relative, "/"-separated, no ".."
  std::string_view data;        // PUT: the bytes, unless file is given
  const char* file = nullptr;   // PUT: a local file that holds the bytes
};

struct SyncCommit {
  std::vector<SyncOperation> operations;
  std::optional<std::string_view> expected_version;  // nothing: whatever is newest
  std::string_view message;
  bool as_proposal = false;
};

namespace detail {

inline std::optional<std::string_view> optional_text(const char* text) {
  return text == nullptr ? std::nullopt : std::optional<std::string_view>(text);
}

inline void write_version(const std::string& version, char (&out)[128]) {
  if (version.size() >= sizeof out) {
    throw Fault(STC_ERROR_INTERNAL,
                "version: got " + std::to_string(version.size()) + " bytes, at most 127 are allowed");
  }
  std::memcpy(out, version.c_str(), version.size() + 1);
}

template <class T>
struct SyncSlots : Slots<T, stc_sync> {
  using Base = Slots<T, stc_sync>;
  static_assert(
      requires(T & t, std::string_view text, std::optional<std::string_view> version, const SyncListing& entries,
               const SyncChunks& chunks, const SyncCommit& commit) {
        { t.identity() } -> std::convertible_to<SyncIdentity>;
        t.list(text, version, entries);
        t.read(text, version, chunks);
        { t.commit(commit) } -> std::convertible_to<std::string>;
        { t.poll() } -> std::convertible_to<std::string>;
        t.ensure(true, true);
      },
      "a sync has identity, list, read, commit, poll and ensure, as in the head of "
      "stc/plain/sync.hpp");

  static stc_error* identity(stc_sync* self, stc_sync_identity* out) noexcept {
    return Base::call(self, [&](T& sync) {
      thread_local SyncIdentity kept;
      kept = sync.identity();
      stc_sync_identity raw{};
      raw.rights = kept.rights;
      raw.user = kept.user.empty() ? nullptr : kept.user.c_str();
      raw.place = kept.place.c_str();
      export_to(out, raw);
    });
  }
  static stc_error* list(stc_sync* self, const char* prefix, const char* version, stc_sync_entry_fn fn,
                         void* ctx) noexcept {
    return Base::call(self, [&](T& sync) {
      const SyncListing entries(Base::box(self).host(), fn, ctx);
      sync.list(std::string_view(prefix == nullptr ? "" : prefix), optional_text(version), entries);
    });
  }
  static stc_error* read(stc_sync* self, const char* path, const char* version, stc_sync_chunk_fn fn,
                         void* ctx) noexcept {
    return Base::call(self, [&](T& sync) {
      const SyncChunks chunks(Base::box(self).host(), fn, ctx);
      sync.read(std::string_view(path), optional_text(version), chunks);
    });
  }
  static stc_error* commit(stc_sync* self, const stc_sync_operation* operations, uint32_t n, uint32_t stride,
                           const char* expected_version, const char* message, uint32_t flags,
                           char out_version[128]) noexcept {
    return Base::call(self, [&](T& sync) {
      SyncCommit commit;
      commit.operations.reserve(n);
      for (uint32_t i = 0; i < n; ++i) {
        const char* at = reinterpret_cast<const char*>(operations) + static_cast<std::size_t>(i) * stride;
        const stc_sync_operation raw = imported(reinterpret_cast<const stc_sync_operation*>(at));
        commit.operations.push_back(
            {raw.kind, raw.path,
             std::string_view(static_cast<const char*>(raw.data), raw.data == nullptr ? 0 : raw.size), raw.file});
      }
      commit.expected_version = optional_text(expected_version);
      commit.message = message == nullptr ? "" : message;
      commit.as_proposal = (flags & STC_SYNC_AS_PROPOSAL) != 0;
      write_version(sync.commit(commit), *reinterpret_cast<char(*)[128]>(out_version));
    });
  }
  static stc_error* poll(stc_sync* self, char out_version[128]) noexcept {
    return Base::call(self, [&](T& sync) { write_version(sync.poll(), *reinterpret_cast<char(*)[128]>(out_version)); });
  }
  static stc_error* ensure(stc_sync* self, int32_t create, int32_t is_private) noexcept {
    return Base::call(self, [&](T& sync) { sync.ensure(create != 0, is_private != 0); });
  }
  static stc_error* limits(stc_sync* self, stc_sync_limits* out) noexcept {
    return Base::call(self, [&](T& sync) {
      const SyncLimits limits = sync.limits();
      stc_sync_limits raw{};
      raw.max_file_bytes = limits.max_file_bytes;
      raw.max_operations = limits.max_operations;
      raw.min_poll_interval_s = limits.min_poll_interval_s;
      export_to(out, raw);
    });
  }
  static void cancel(stc_sync* self) noexcept {
    Base::call_void(self, "cancel", [](T& sync) { sync.cancel(); });
  }
  static stc_error* compact(stc_sync* self, const char* const* keep, uint32_t n) noexcept {
    return Base::call(self, [&](T& sync) { sync.compact(std::vector<std::string>(keep, keep + n)); });
  }
};

template <class T>
const stc_sync_api* sync_table() {
  using S = SyncSlots<T>;
  static const stc_sync_api table = [] {
    stc_sync_api api{};
    api.struct_size = STC_SIZE_TO_END(stc_sync_api, compact);
    api.create = &S::create;
    api.destroy = &S::destroy;
    api.identity = &S::identity;
    api.list = &S::list;
    api.read = &S::read;
    api.commit = &S::commit;
    api.poll = &S::poll;
    api.ensure = &S::ensure;
    if constexpr (requires(T & t) {
                    { t.limits() } -> std::convertible_to<SyncLimits>;
                  }) {
      api.limits = &S::limits;
    }
    if constexpr (requires(T & t) { t.cancel(); }) {
      api.cancel = &S::cancel;
    }
    if constexpr (requires(T & t, const std::vector<std::string>& keep) { t.compact(keep); }) {
      api.compact = &S::compact;
    }
    return api;
  }();
  return &table;
}

}  // namespace detail
}  // namespace stc

#define STC_DEFINE_SYNC(Type, name, version, doc) \
  STC_DEFINE_PLUGIN(STC_KIND_SYNC, ::stc::detail::sync_table<Type>(), Type, name, version, doc)
#define STC_SYNC_PLUGIN(Type, name, version, doc) \
  STC_DEFINE_SYNC(Type, name, version, doc);      \
  STC_PLUGIN_LIBRARY(plain, Type)
