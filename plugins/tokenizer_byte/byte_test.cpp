#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "stc/testing/tokenizer.hpp"

using stc::testing::FakeHost;
using stc::testing::Section;
using stc::testing::Subject;
using stc::testing::TokenizerInstance;

namespace {

const Subject& byte() {
  static const Subject subject(&stc_plugin_entry_v1, STC_KIND_TOKENIZER, "byte");
  return subject;
}

std::vector<int32_t> encode(const TokenizerInstance& tokenizer, const std::string& text) {
  stc::testing::Report report;
  const auto ids = stc::testing::detail::encode(report, tokenizer, text);
  BOOST_TEST(report.passed(), report.text());
  return ids;
}

const std::string kAllBytes = [] {
  std::string text;
  for (int c = 0; c < 256; ++c) {
    text += static_cast<char>(c);
  }
  return text;
}();

}  // namespace

BOOST_AUTO_TEST_SUITE(tokenizer_byte)

BOOST_AUTO_TEST_CASE(conforms) {
  for (const int vocab_size : {1, 100, 255, 256, 512}) {
    BOOST_TEST_CONTEXT("vocab_size=" << vocab_size) {
      stc::testing::TokenizerCase given;
      given.config = {{"vocab_size", vocab_size}};
      given.lossless = vocab_size >= 256;
      given.texts = {kAllBytes};
      const auto report = stc::testing::check_tokenizer(byte(), given);
      BOOST_TEST(report.passed(), report.text());
    }
  }
}

BOOST_AUTO_TEST_CASE(ids_are_bytes_modulo_vocab_size) {
  for (const int vocab_size : {1, 7, 128, 255, 256, 257, 50257}) {
    FakeHost host;
    const TokenizerInstance tokenizer(byte(), host, {{"vocab_size", vocab_size}});
    const std::vector<int32_t> ids = encode(tokenizer, kAllBytes);
    BOOST_TEST_REQUIRE(ids.size() == 256u);
    for (int c = 0; c < 256; ++c) {
      BOOST_TEST_REQUIRE(ids[static_cast<size_t>(c)] == c % vocab_size);
    }
  }
}

BOOST_AUTO_TEST_CASE(warns_once_of_folded_bytes_with_their_number) {
  FakeHost host;
  const TokenizerInstance tokenizer(byte(), host, {{"vocab_size", 128}});
  encode(tokenizer, "plain");
  BOOST_TEST(host.log_lines().empty());
  encode(tokenizer, "\xc3\xa9t\xc3\xa9");
  encode(tokenizer, "\xc3\xa9");
  BOOST_TEST_REQUIRE(host.log_lines().size() == 1u);
  BOOST_TEST(host.log_lines()[0].level == STC_LOG_WARNING);
  BOOST_TEST(host.log_lines()[0].message ==
             "vocab_size is 128: bytes from 128 on share the ids of others (byte modulo 128), 4 of the first 10 "
             "bytes; 256 keeps all bytes apart");
}

BOOST_AUTO_TEST_CASE(says_nothing_when_no_byte_can_be_folded) {
  FakeHost host;
  const TokenizerInstance tokenizer(byte(), host, {{"vocab_size", 256}});
  encode(tokenizer, kAllBytes);
  BOOST_TEST(host.log_lines().empty());
}

BOOST_AUTO_TEST_SUITE_END()
