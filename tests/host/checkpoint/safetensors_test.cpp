#include <array>
#include <bit>
#include <cstdio>
#include <ostream>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "host/checkpoint/hash.hpp"
#include "tests/host/checkpoint/store_support.hpp"

using namespace stc::host;
using namespace stc::host::test;

namespace {

const std::vector<int> kAllDtypes = {STC_DTYPE_BOOL,   STC_DTYPE_UINT8,   STC_DTYPE_INT8,     STC_DTYPE_INT16,
                                     STC_DTYPE_UINT16, STC_DTYPE_FLOAT16, STC_DTYPE_BFLOAT16, STC_DTYPE_INT32,
                                     STC_DTYPE_UINT32, STC_DTYPE_FLOAT32, STC_DTYPE_FLOAT64,  STC_DTYPE_INT64};

/// 0..5 as the dtype stores them; f16 and bf16 by their bit patterns.
std::string six_numbers(int dtype) {
  const auto pack = [](auto first, auto convert) {
    std::string bytes;
    for (int i = 0; i < 6; ++i) {
      const decltype(first) value = convert(i);
      bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
    }
    return bytes;
  };
  constexpr std::array<uint16_t, 6> kHalf = {0x0000, 0x3c00, 0x4000, 0x4200, 0x4400, 0x4500};
  constexpr std::array<uint16_t, 6> kBfloat = {0x0000, 0x3f80, 0x4000, 0x4040, 0x4080, 0x40a0};
  switch (dtype) {
    case STC_DTYPE_BOOL: return pack(uint8_t{}, [](int i) { return uint8_t(i % 2); });
    case STC_DTYPE_UINT8:
    case STC_DTYPE_INT8: return pack(uint8_t{}, [](int i) { return uint8_t(i); });
    case STC_DTYPE_INT16:
    case STC_DTYPE_UINT16: return pack(uint16_t{}, [](int i) { return uint16_t(i); });
    case STC_DTYPE_FLOAT16: return pack(uint16_t{}, [&](int i) { return kHalf.at(size_t(i)); });
    case STC_DTYPE_BFLOAT16: return pack(uint16_t{}, [&](int i) { return kBfloat.at(size_t(i)); });
    case STC_DTYPE_INT32:
    case STC_DTYPE_UINT32: return pack(uint32_t{}, [](int i) { return uint32_t(i); });
    case STC_DTYPE_FLOAT32: return pack(float{}, [](int i) { return float(i); });
    case STC_DTYPE_FLOAT64: return pack(double{}, [](int i) { return double(i); });
    default: return pack(int64_t{}, [](int i) { return int64_t(i); });
  }
}

HostTensor numbers_tensor(const std::string& name, int dtype) {
  const std::string bytes = six_numbers(dtype);
  return make_tensor<char>(name, dtype, {2, 3}, std::vector<char>(bytes.begin(), bytes.end()));
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return text;
}

/// The same tensors and metadata that fixtures/make_fixtures.py writes.
std::vector<HostTensor> fixture_tensors() {
  std::vector<HostTensor> tensors;
  for (const int dtype : kAllDtypes) {
    tensors.push_back(numbers_tensor("every." + lower(safetensors_dtype_name(dtype)), dtype));
  }
  tensors.push_back(make_tensor<float>("scalar", STC_DTYPE_FLOAT32, {}, {2.5f}));
  tensors.push_back(make_tensor<float>("empty", STC_DTYPE_FLOAT32, {0, 4}, {}));
  tensors.push_back(make_tensor<int64_t>("gr\u00fc\u00df/\U0001f600 \"quoted\"\n", STC_DTYPE_INT64, {1}, {7}));
  return tensors;
}

std::string with_header(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + data;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(safetensors)

BOOST_AUTO_TEST_CASE(round_trip_of_every_dtype) {
  TemporaryFolder folder;
  const std::string path = folder.file("a.safetensors");
  const auto written = fixture_tensors();
  const Metadata metadata = {{"format", "pt"}, {"note", "a \u00e9 b"}};
  const FileDigest digest = write_safetensors(path, written, metadata);
  const std::string bytes = read_text(path);
  BOOST_TEST(digest.bytes == bytes.size());
  BOOST_TEST(digest.xxh3_128 == xxh3_128_hex(bytes.data(), bytes.size()));

  const SafetensorsFile file(path);
  BOOST_TEST(file.metadata() == metadata);
  BOOST_REQUIRE(file.tensors().size() == written.size());
  for (size_t i = 0; i < written.size(); ++i) {
    BOOST_TEST_CONTEXT(written[i].name) {
      BOOST_TEST(same_tensor(file.tensors()[i], written[i]));  // the order given
      BOOST_TEST(file.find(written[i].name) == &file.tensors()[i]);
    }
  }
  BOOST_TEST(file.find("absent") == nullptr);
}

BOOST_AUTO_TEST_CASE(data_are_aligned_whatever_the_order) {
  TemporaryFolder folder;
  const std::string path = folder.file("a.safetensors");
  std::vector<HostTensor> tensors = {make_tensor<uint8_t>("x", STC_DTYPE_UINT8, {3}, {1, 2, 3}),
                                     make_tensor<double>("a", STC_DTYPE_FLOAT64, {1}, {0.5}),
                                     make_tensor<uint16_t>("q", STC_DTYPE_UINT16, {1}, {9}),
                                     make_tensor<float>("b", STC_DTYPE_FLOAT32, {1}, {1.5f})};
  write_safetensors(path, tensors, {});
  const SafetensorsFile file(path);
  for (const HostTensor& tensor : file.tensors()) {
    BOOST_TEST(reinterpret_cast<uintptr_t>(tensor.data) % stc::dtype_size(tensor.dtype) == 0u);
  }
  const std::string bytes = read_text(path);
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  BOOST_TEST(length % 8 == 0u);
}

BOOST_AUTO_TEST_CASE(views_outlive_the_file_object) {
  TemporaryFolder folder;
  const std::string path = folder.file("a.safetensors");
  write_safetensors(path, {make_tensor<int64_t>("a", STC_DTYPE_INT64, {2}, {5, 6})}, {});
  HostTensor kept;
  { kept = *SafetensorsFile(path).find("a"); }
  std::filesystem::remove(path);
  BOOST_TEST(static_cast<const int64_t*>(kept.data)[1] == 6);
}

BOOST_AUTO_TEST_CASE(equal_input_gives_equal_bytes) {
  TemporaryFolder folder;
  write_safetensors(folder.file("a"), fixture_tensors(), {{"b", "1"}, {"a", "2"}});
  write_safetensors(folder.file("b"), fixture_tensors(), {{"a", "2"}, {"b", "1"}});
  BOOST_TEST((read_text(folder.file("a")) == read_text(folder.file("b"))));
}

BOOST_AUTO_TEST_CASE(reads_what_the_reference_package_wrote) {
  const std::string base = source_folder() + "/tests/host/checkpoint/fixtures/";
  const SafetensorsFile file(base + "every_dtype.safetensors");
  const auto expected = fixture_tensors();
  BOOST_REQUIRE(file.tensors().size() == expected.size());
  for (const HostTensor& tensor : expected) {
    BOOST_TEST_CONTEXT(tensor.name) {
      const HostTensor* found = file.find(tensor.name);
      BOOST_REQUIRE(found != nullptr);
      BOOST_TEST(same_tensor(*found, tensor));
    }
  }
  BOOST_TEST((file.metadata() == Metadata{{"format", "pt"}, {"note", "a \u00e9 b"}}));
  BOOST_TEST(SafetensorsFile(base + "nothing.safetensors").tensors().empty());
}

BOOST_AUTO_TEST_CASE(the_reference_package_reads_ours) {
  const char* chosen = std::getenv("STC_TEST_PYTHON");
  const std::string python = chosen == nullptr ? "python3" : chosen;
  if (std::system((python + " -c 'import torch, safetensors' 2>/dev/null").c_str()) != 0) {
    std::puts("skipped: no python3 with torch and safetensors (STC_TEST_PYTHON names another)");
    return;
  }
  TemporaryFolder folder;
  write_safetensors(folder.file("ours"), fixture_tensors(), {{"format", "pt"}});
  const std::string script = source_folder() + "/tests/host/checkpoint/fixtures/check_ours.py";
  const std::string command = python + " " + script + " " + folder.file("ours") + " > " + folder.file("text");
  BOOST_REQUIRE(std::system(command.c_str()) == 0);
  const std::string text = read_text(folder.file("text"));
  const std::string six = "[2, 3] [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]\n";
  for (const char* line : {"every.u8 uint8 ", "every.i8 int8 ", "every.i16 int16 ", "every.u16 uint16 ",
                           "every.f16 float16 ", "every.bf16 bfloat16 ", "every.i32 int32 ", "every.u32 uint32 ",
                           "every.f32 float32 ", "every.f64 float64 ", "every.i64 int64 "}) {
    BOOST_TEST(text.find(line + six) != std::string::npos, line << " in\n" << text);
  }
  for (const char* line :
       {"metadata format pt\n", "every.bool bool [2, 3] [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]\n", "scalar float32 [] [2.5]\n",
        "empty float32 [0, 4] []\n", "gr\u00fc\u00df/\U0001f600 \"quoted\"\n int64 [1] [7.0]\n"}) {
    BOOST_TEST(text.find(line) != std::string::npos, line << " in\n" << text);
  }
}

struct Hostile {
  const char* label;
  std::string bytes;
  const char* message;
};
std::ostream& operator<<(std::ostream& out, const Hostile& hostile) { return out << hostile.label; }

const std::vector<Hostile>& hostile_files() {
  const std::string one = R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]})";
  static const std::vector<Hostile> files = {
      {"empty", "", "unknown format, not a safetensors file: 0 bytes, expected at least 8"},
      {"seven bytes", "1234567", "7 bytes, expected at least 8"},
      {"no header", with_header("", ""), "the header opens without {"},
      {"header longer than the file", with_header("{}", "").substr(0, 9), "header of 2 bytes in a file of 9"},
      {"length of 2^64-1", std::string(8, '\xff') + "{}", "header of 18446744073709551615 bytes"},
      {"length of 2^64-8", std::string("\xf8") + std::string(7, '\xff') + "{}", "unknown format"},
      {"zip of torch.save", "PK\x03\x04\x14\x00\x08\x08" + std::string(100, 'x'), "unknown format"},
      {"raw pickle", std::string("\x80\x02}q\x00(X\x01\x00\x00\x00", 11) + std::string(100, 'x'), "unknown format"},
      {"padding before the header", with_header("  {}", ""), "the header opens without {"},
      {"list", with_header("[]", ""), "the header opens without {"},
      {"broken JSON", with_header("{\"a\":", ""), "header: not JSON, at byte 6"},
      {"text after JSON", with_header("{}x", ""), "header: not JSON"},
      {"bad UTF-8", with_header("{\"\xff\":{}}", ""), "header: not JSON"},
      {"NUL padding", with_header(std::string("{}\0\0", 4), ""), "header: not JSON"},
      {"deep nesting", with_header("{\"a\":" + std::string(100000, '['), ""), "nested deeper than 3"},
      {"name twice", with_header(one + R"(,"a":{"dtype":"U8","shape":[0],"data_offsets":[4,4]}})", "abcd"),
       "header: key a twice"},
      {"key twice", with_header(R"({"a":{"dtype":"U8","dtype":"I8","shape":[4],"data_offsets":[0,4]}})", "abcd"),
       "header: key dtype twice"},
      {"tensor is a number", with_header(R"({"a":1})", ""), "tensor a: not an object"},
      {"without dtype", with_header(R"({"a":{"shape":[4],"data_offsets":[0,4]}})", "abcd"), "tensor a: without dtype"},
      {"without shape", with_header(R"({"a":{"dtype":"U8","data_offsets":[0,4]}})", "abcd"), "tensor a: without shape"},
      {"without offsets", with_header(R"({"a":{"dtype":"U8","shape":[4]}})", "abcd"), "tensor a: without data_offsets"},
      {"further key", with_header(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":1}})", "abcd"),
       "keys beyond dtype, shape, data_offsets"},
      {"unknown dtype", with_header(R"({"a":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]}})", "abcd"),
       "dtype \"F8_E4M3\", expected one of BOOL, U8"},
      {"dtype is a number", with_header(R"({"a":{"dtype":3,"shape":[4],"data_offsets":[0,4]}})", "abcd"),
       "dtype 3, expected one of"},
      {"shape is a number", with_header(R"({"a":{"dtype":"U8","shape":4,"data_offsets":[0,4]}})", "abcd"),
       "shape is not a list"},
      {"negative size", with_header(R"({"a":{"dtype":"U8","shape":[-4],"data_offsets":[0,4]}})", "abcd"),
       "size -4 in shape"},
      {"fractional size", with_header(R"({"a":{"dtype":"U8","shape":[4.0],"data_offsets":[0,4]}})", "abcd"),
       "size 4.0 in shape"},
      {"size above int64",
       with_header(R"({"a":{"dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,4]}})", "abcd"),
       "size 9223372036854775808 in shape"},
      {"product wraps to 4",
       with_header(R"({"a":{"dtype":"F32","shape":[4611686018427387905,1],"data_offsets":[0,4]}})", "abcd"),
       "need more than 64 bits can count"},
      {"product wraps to 0",
       with_header(R"({"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", ""),
       "need more than 64 bits can count"},
      {"three offsets", with_header(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4,4]}})", "abcd"),
       "expected two offsets"},
      {"negative offset", with_header(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[-4,0]}})", "abcd"),
       "expected two offsets"},
      {"offsets turned round", with_header(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[4,0]}})", "abcd"),
       "data_offsets [4,0] in data of 4 bytes"},
      {"end outside", with_header(R"({"a":{"dtype":"U8","shape":[5],"data_offsets":[0,5]}})", "abcd"),
       "data_offsets [0,5] in data of 4 bytes"},
      {"length unlike shape", with_header(R"({"a":{"dtype":"U16","shape":[4],"data_offsets":[0,4]}})", "abcd"),
       "4 bytes, dtype U16 and shape [4] need 8"},
      {"hole at the front", with_header(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})", "abcd"),
       "begins at 2, the data before it end at 0"},
      {"hole between", with_header(one + R"(,"b":{"dtype":"U8","shape":[1],"data_offsets":[5,6]}})", "abcdef"),
       "tensor b: begins at 5, the data before it end at 4"},
      {"overlap", with_header(one + R"(,"b":{"dtype":"U8","shape":[2],"data_offsets":[3,5]}})", "abcde"),
       "tensor b: begins at 3, the data before it end at 4"},
      {"same bytes twice", with_header(one + R"(,"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", "abcd"),
       "begins at 0, the data before it end at 4"},
      {"bytes after the end", with_header(one + "}", "abcdef"), "2 bytes after the last tensor"},
      {"bytes of no tensor", with_header("{}", "ab"), "2 bytes after the last tensor"},
      {"metadata is a list", with_header(R"({"__metadata__":[]})", ""), "__metadata__: not an object"},
      {"metadata holds a number", with_header(R"({"__metadata__":{"a":1}})", ""), "__metadata__.a: not a string"},
  };
  return files;
}

BOOST_DATA_TEST_CASE(refuses_hostile_files, boost::unit_test::data::make(hostile_files()), hostile) {
  TemporaryFolder folder;
  const std::string path = folder.file("a.safetensors");
  write_text(path, hostile.bytes);
  BOOST_CHECK_EXCEPTION(SafetensorsFile{path}, CheckpointError, says(hostile.message));
  BOOST_CHECK_EXCEPTION(SafetensorsFile{path}, CheckpointError, says(path));
}

BOOST_AUTO_TEST_CASE(accepts_padding_and_any_order_of_the_header) {
  TemporaryFolder folder;
  const std::string path = folder.file("a");
  write_text(path, with_header(R"({"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]},)"
                               R"("z":{"dtype":"F64","shape":[0],"data_offsets":[1,1]},)"
                               R"("a":{"data_offsets":[0,1],"shape":[],"dtype":"U8"}}   )",
                               "abc"));
  const SafetensorsFile file(path);
  BOOST_TEST(file.tensors()[0].name == "b");
  BOOST_TEST(bytes_of(*file.find("b")) == "bc");
  BOOST_TEST(bytes_of(*file.find("a")) == "a");
  BOOST_TEST(file.find("z")->bytes == 0u);
}

BOOST_AUTO_TEST_CASE(every_single_damaged_byte_of_a_header_is_survived) {
  TemporaryFolder folder;
  const std::string path = folder.file("a");
  write_safetensors(path, {make_tensor<float>("w", STC_DTYPE_FLOAT32, {2}, {1, 2})}, {{"k", "v"}});
  const std::string good = read_text(path);
  for (size_t at = 0; at < good.size(); ++at) {
    for (const int flip : {1, 0x20, 0x80}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ flip);
      write_text(path, bad);
      try {
        const SafetensorsFile file(path);
        // What is still a valid file must stay inside the mapping.
        for (const HostTensor& tensor : file.tensors()) {
          BOOST_TEST(bytes_of(tensor).size() == tensor.bytes);
        }
      } catch (const CheckpointError&) {
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(refuses_what_is_no_regular_file) {
  TemporaryFolder folder;
  BOOST_CHECK_EXCEPTION(SafetensorsFile{folder.str()}, CheckpointError, says("not a regular file"));
  BOOST_CHECK_EXCEPTION(SafetensorsFile{folder.file("absent")}, CheckpointError,
                        says("open failed: No such file or directory"));
  write_safetensors(folder.file("real"), {}, {});
  std::filesystem::create_symlink("real", folder.file("link"));
  BOOST_CHECK_EXCEPTION(SafetensorsFile{folder.file("link")}, CheckpointError, says("a symbolic link"));
  BOOST_REQUIRE(std::system(("mkfifo " + folder.file("pipe")).c_str()) == 0);
  BOOST_CHECK_EXCEPTION(SafetensorsFile{folder.file("pipe")}, CheckpointError, says("not a regular file"));
}

BOOST_AUTO_TEST_CASE(writer_refuses_what_cannot_be_read_back) {
  TemporaryFolder folder;
  const std::string path = folder.file("a");
  const auto good = make_tensor<float>("w", STC_DTYPE_FLOAT32, {2}, {1, 2});
  const auto fails = [&](std::vector<HostTensor> tensors, const Metadata& metadata, const char* message) {
    BOOST_CHECK_EXCEPTION(write_safetensors(path, tensors, metadata), CheckpointError, says(message));
    BOOST_TEST(!std::filesystem::exists(path));
  };
  fails({good, good}, {}, "tensor w: given twice");
  auto bad = good;
  bad.name = "__metadata__";
  fails({bad}, {}, "reserved by the format");
  bad = good;
  bad.name = "\xff";
  fails({bad}, {}, "is not UTF-8");
  fails({good}, {{"a", "\xc0\xaf"}}, "is not UTF-8");
  bad = good;
  bad.shape = {3};
  fails({bad}, {}, "8 bytes, shape [3] needs 12");
  bad = good;
  bad.shape = {-1};
  fails({bad}, {}, "have no size");
  bad = good;
  bad.dtype = 99;
  fails({bad}, {}, "dtype 99");
  bad = good;
  bad.data = nullptr;
  fails({bad}, {}, "0 bytes, shape [2] needs 8");
}

BOOST_AUTO_TEST_CASE(hash_is_the_canonical_xxh3) {
  // xxhsum -H2 of the empty input and of "abc" (xxHash 0.8).
  BOOST_TEST(xxh3_128_hex("", 0) == "99aa06d3014798d86001c324468d497f");
  BOOST_TEST(xxh3_128_hex("abc", 3) == "06b05ab6733a618578af5f94892f3950");
}

BOOST_AUTO_TEST_SUITE_END()
