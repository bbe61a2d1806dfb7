/// \file
/// Conformance of tokenizers.
#pragma once

#include <string>
#include <thread>
#include <vector>

#include "stc/testing/subject.hpp"

namespace stc::testing {

using TokenizerInstance = Instance<stc_tokenizer_api, stc_tokenizer>;

struct TokenizerCase {
  Section config;
  /// Whether decode(encode(text)) gives the bytes back, whatever the text.
  bool lossless = true;
  /// Tried beside the built-in ones.
  std::vector<std::string> texts;
};

namespace detail {

inline std::vector<std::string> sample_texts() {
  return {"",
          "a",
          "Hello, world",
          "  leading, trailing  ",
          "tabs\tand\nnew\r\nlines\n\n",
          "1234567890 3.14159 -1e-9",
          "\xc3\xa9t\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xe4\xbd\xa0\xe5\xa5\xbd",
          std::string("nul\0inside", 10),
          "bad utf-8: \xff\xfe \xc3 \xe2\x82",
          std::string(5000, 'x') + " end"};
}

/// Ids of a text by the two-call protocol.
inline std::vector<int32_t> encode(Report& report, const TokenizerInstance& instance, const std::string& text) {
  const auto slot = instance.api().encode;
  uint64_t count = 0;
  SlotError error =
      instance.call(slot, text.data(), uint64_t{text.size()}, static_cast<int32_t*>(nullptr), uint64_t{0}, &count);
  if (!report.expect(!error, "size query: " + error.message)) {
    return {};
  }
  std::vector<int32_t> ids(count + 1, -77);
  uint64_t again = 0;
  if (count > 0) {
    error = instance.call(slot, text.data(), uint64_t{text.size()}, ids.data(), count - 1, &again);
    report.expect(!error && again == count, "one id too little room: expected the count and no error");
    report.expect(std::count(ids.begin(), ids.end(), -77) == static_cast<std::ptrdiff_t>(ids.size()),
                  "wrote ids that do not fit");
  }
  error = instance.call(slot, text.data(), uint64_t{text.size()}, ids.data(), count, &again);
  report.expect(!error && again == count, "the second call gave another count");
  report.expect(ids.back() == -77, "wrote past the capacity");
  ids.pop_back();
  return ids;
}

inline std::string decode(Report& report, const TokenizerInstance& instance, const std::vector<int32_t>& ids) {
  const auto slot = instance.api().decode;
  uint64_t size = 0;
  SlotError error =
      instance.call(slot, ids.data(), uint64_t{ids.size()}, static_cast<char*>(nullptr), uint64_t{0}, &size);
  if (!report.expect(!error, "size query: " + error.message)) {
    return {};
  }
  std::string text(size, '\0');
  uint64_t again = 0;
  error = instance.call(slot, ids.data(), uint64_t{ids.size()}, text.data(), size, &again);
  report.expect(!error && again == size, "the second call gave another size");
  return text;
}

inline void check_safe_cut(Report& report, const TokenizerInstance& instance, const std::string& text) {
  report.context("safe_cut");
  const std::vector<int32_t> whole = encode(report, instance, text);
  for (std::size_t end = 0; end <= text.size(); end += 1 + text.size() / 64) {
    const uint64_t cut = instance.api().safe_cut(instance.get(), text.data(), end);
    if (!report.expect(cut <= end, "got " + std::to_string(cut) + " of " + std::to_string(end) + " bytes")) {
      continue;
    }
    std::vector<int32_t> parts = encode(report, instance, text.substr(0, cut));
    const std::vector<int32_t> rest = encode(report, instance, text.substr(cut));
    parts.insert(parts.end(), rest.begin(), rest.end());
    report.expect(parts == whole, "a cut at byte " + std::to_string(cut) + " changes the ids");
  }
}

inline void check_text(Report& report, const TokenizerInstance& instance, const std::string& text, bool lossless) {
  report.context("encode");
  const std::vector<int32_t> ids = encode(report, instance, text);
  const uint64_t size = instance.api().size(instance.get());
  for (int32_t id : ids) {
    if (!report.expect(id >= 0 && static_cast<uint64_t>(id) < size,
                       "id " + std::to_string(id) + " of " + std::to_string(size))) {
      break;
    }
  }
  report.context("decode");
  const std::string back = decode(report, instance, ids);
  report.expect(!lossless || back == text,
                "got \"" + back.substr(0, 80) + "\", encoded \"" + text.substr(0, 80) + "\"");
  if (instance.api().max_token_bytes != nullptr) {
    const uint64_t most = instance.api().max_token_bytes(instance.get());
    report.expect(text.size() <= ids.size() * most || !lossless,
                  "a token is longer than max_token_bytes " + std::to_string(most));
  }
  if (instance.api().safe_cut != nullptr) {
    check_safe_cut(report, instance, text);
  }
}

}  // namespace detail

/// Ids are in range, the two-call protocol holds, nothing is lost, cuts are safe, many threads
/// agree.
inline Report check_tokenizer(const Subject& subject, const TokenizerCase& given = {}) {
  Report report = check_declaration(subject);
  FakeHost host;
  {
    TokenizerInstance instance(subject, host, given.config);
    report.context("create");
    if (!report.expect(!instance.error(), instance.error().message)) {
      return report;
    }
    std::vector<std::string> texts = detail::sample_texts();
    texts.insert(texts.end(), given.texts.begin(), given.texts.end());
    report.context("size");
    const uint64_t size = instance.api().size(instance.get());
    report.expect(size > 0 && size <= INT32_MAX, "got " + std::to_string(size) + ", expected 1 to 2147483647");
    for (const std::string& text : texts) {
      detail::check_text(report, instance, text, given.lossless);
    }

    report.context("decode");
    for (int64_t wrong : {int64_t{-1}, static_cast<int64_t>(size)}) {
      const auto id = static_cast<int32_t>(wrong);
      uint64_t bytes = 0;
      const SlotError error =
          instance.call(instance.api().decode, &id, uint64_t{1}, static_cast<char*>(nullptr), uint64_t{0}, &bytes);
      report.expect(static_cast<bool>(error),
                    "id " + std::to_string(wrong) + " of " + std::to_string(size) + " gave no error");
    }
    if (instance.api().special_token != nullptr) {
      report.context("special_token");
      for (const char* role : {"bos", "eos", "pad", "unk", "no such role"}) {
        const int32_t id = instance.api().special_token(instance.get(), role);
        report.expect(id >= -1 && (id < 0 || static_cast<uint64_t>(id) < size),
                      std::string(role) + " is " + std::to_string(id));
      }
    }

    report.context("threads");
    std::vector<Report> reports(4);
    std::vector<std::thread> threads;
    for (Report& own : reports) {
      threads.emplace_back([&] {
        for (int round = 0; round < 20; ++round) {
          for (const std::string& text : texts) {
            own.expect(!given.lossless || detail::decode(own, instance, detail::encode(own, instance, text)) == text,
                       "a text came back changed while other threads encode");
          }
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    for (const Report& own : reports) {
      report.merge(own);
    }
  }
  report.context("");
  report.expect(host.errors_alive() == 0, "errors were not freed");
  return report;
}

}  // namespace stc::testing
