#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "plugins/dataset_text/translate.hpp"
#include "stc/testing/dataset.hpp"
#include "stc/testing/folder.hpp"

using stc::testing::DatasetInstance;
using stc::testing::FakeHost;
using stc::testing::Folder;
using stc::testing::Section;
using stc::testing::Subject;
using stc::text::BadUtf8;
using stc::text::translate;
namespace data = boost::unit_test::data;
namespace fs = std::filesystem;
using namespace std::string_literals;

namespace {

const Subject& text_plugin() {
  static const Subject subject(&stc_plugin_entry_v1, STC_KIND_DATASET, "text");
  return subject;
}

/// The rule in its shortest form.
std::string with_line_feeds(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r') {
      out += '\n';
      i += i + 1 < text.size() && text[i + 1] == '\n';
    } else {
      out += text[i];
    }
  }
  return out;
}

const std::vector<std::string> kTexts{
    "ab\r\ncd\r\n",
    "ab\rcd\r",
    "\r",
    "\r\n",
    "\r\r\n\n\r",
    "\n\n\n\n",
    "ab\0cd\0"s,
    "a",
    "\xc3\xa9\r\xe2\x82\xac\r\n\xf0\x9f\x98\x80\r",
    "twelve bytes\r\nand then some, to pass the eight-byte steps\rof the plain way\xe2\x82\xac",
    "\xf4\x8f\xbf\xbf\xee\x80\x80\xed\x9f\xbf\xe0\xa0\x80\xf0\x90\x80\x80\xc2\x80\xdf\xbf",
};

/// A random text of what can go wrong at edges.
std::string random_text(unsigned seed, size_t parts) {
  const std::vector<std::string> alphabet{
      "a", "b", "\r", "\n", "\r\n", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "plain words, many of them", "\0"s};
  std::mt19937 random(seed);
  std::string text = "x";
  for (size_t i = 0; i < parts; ++i) {
    text += alphabet[random() % alphabet.size()];
  }
  return text;
}

struct Piece {
  std::string text;
  uint64_t cursor;
  uint32_t flags;
};

/// One open stream over a file.
class Reader {
 public:
  explicit Reader(const fs::path& path) : dataset_(text_plugin(), host, {{"text_path", path.string()}}) {
    if (!dataset_.error()) {
      error = host.take(dataset_.api().open(dataset_.get(), "train", 0, 1, &stream_));
    } else {
      error = dataset_.error();
    }
  }
  ~Reader() {
    if (stream_ != nullptr) {
      dataset_.api().close(stream_);
    }
  }
  /// One call of next into `capacity` bytes. False at the end or on an error.
  bool next(uint64_t capacity, std::vector<Piece>& out, uint32_t n = 8) {
    std::string room(capacity, '\0');
    std::vector<uint64_t> offsets(n + 1), cursors(n);
    std::vector<uint32_t> flags(n);
    uint32_t rows = 0;
    int32_t end = 0;
    stc_row_buffer buffer{sizeof(stc_row_buffer), 0, room.data(), capacity, offsets.data(), 0};
    error = host.take(dataset_.api().next(stream_, n, &buffer, cursors.data(), flags.data(), &rows, &end));
    if (error) {
      return false;
    }
    if (rows == 0 && end == 0) {
      BOOST_REQUIRE_GT(buffer.needed_bytes, capacity);
      return next(buffer.needed_bytes, out, n);
    }
    for (uint32_t i = 0; i < rows; ++i) {
      out.push_back({room.substr(offsets[i], offsets[i + 1] - offsets[i]), cursors[i], flags[i]});
    }
    return end == 0;
  }
  std::vector<Piece> rest(uint64_t capacity) {
    std::vector<Piece> pieces;
    while (next(capacity, pieces)) {
    }
    return pieces;
  }
  void seek(uint64_t cursor) { error = host.take(dataset_.api().seek(stream_, cursor)); }
  std::string fingerprint() {
    const stc_dataset_info* info = nullptr;
    BOOST_REQUIRE(!host.take(dataset_.api().describe(dataset_.get(), &info)));
    return info->fingerprint;
  }

  FakeHost host;
  stc::testing::SlotError error;

 private:
  DatasetInstance dataset_;
  stc_stream* stream_ = nullptr;
};

std::string joined(const std::vector<Piece>& pieces) {
  std::string text;
  for (const Piece& piece : pieces) {
    text += piece.text;
  }
  return text;
}

fs::path write(const Folder& folder, const std::string& name, const std::string& content) {
  const fs::path path = folder.path() / name;
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

std::string create_error(const fs::path& path) {
  FakeHost host;
  const DatasetInstance dataset(text_plugin(), host, {{"text_path", path.string()}});
  BOOST_CHECK_EQUAL(dataset.error().code, STC_ERROR_INVALID_CONFIG);
  BOOST_CHECK_EQUAL(dataset.error().key, "text_path");
  return dataset.error().message;
}

struct BadText {
  std::string name, text;
  size_t offset;
  std::string reason;
};
std::ostream& operator<<(std::ostream& out, const BadText& bad) { return out << bad.name; }

const std::vector<BadText> kBadTexts{
    {"overlong slash", "ab\xc0\xaf", 2, "byte 0xc0: an overlong form"},
    {"overlong of three", "\xe0\x9f\xbf", 0, "byte 0xe0: an overlong form"},
    {"overlong of four", "\xf0\x8f\xbf\xbf", 0, "byte 0xf0: an overlong form"},
    {"surrogate", "x\xed\xa0\x80", 1, "byte 0xed: a surrogate"},
    {"above the last", "\xf4\x90\x80\x80", 0, "byte 0xf4: above U+10FFFF"},
    {"five bytes", "\xf8\x88\x80\x80\x80", 0, "byte 0xf8: never part of UTF-8"},
    {"0xf5", "abc\xf5\x80\x80\x80", 3, "byte 0xf5: above U+10FFFF"},
    {"cut at the end", "abc\xf0\x9f\x98", 3, "byte 0xf0: its character is cut short by the end of the file"},
    {"cut in the middle", "abc\xf0\x9f\x98z", 3, "byte 0xf0: its character is cut short"},
    {"cut after the first", "ab\xc3\r\n", 2, "byte 0xc3: its character is cut short"},
    {"stray continuation", "\x80", 0, "byte 0x80: a continuation byte without a first byte"},
    {"Latin-1", "caf\xe9 au lait", 3, "byte 0xe9: its character is cut short"},
    {"after newlines", "\r\n\r\n\xff", 4, "byte 0xff: never part of UTF-8"},
    {"far in", std::string(70000, 'a') + "\xff", 70000, "byte 0xff: never part of UTF-8"},
};

}  // namespace

BOOST_AUTO_TEST_SUITE(translation)

// Input in two parts at every place, output of every capacity: always the same text.
BOOST_DATA_TEST_CASE(does_not_depend_on_edges, data::make(kTexts), text) {
  const std::string expected = with_line_feeds(text);
  for (size_t split = 0; split <= text.size(); ++split) {
    for (size_t capacity = 1; capacity <= text.size() + 1; ++capacity) {
      std::string out;
      std::vector<char> room(capacity);
      size_t begin = 0, end = split;
      size_t needed = capacity;
      while (begin < text.size()) {
        const bool last = end == text.size();
        const auto done = translate(std::string_view(text).substr(begin, end - begin), last, room.data(), needed);
        out.append(room.data(), done.written);
        begin += done.used;
        if (done.used == 0 && !last) {
          ++end;  // undecided: one more byte
        } else if (done.used == 0) {
          BOOST_REQUIRE_LT(needed, 4u);
          room.resize(++needed);
        } else if (begin == end) {
          end = text.size();
        }
      }
      BOOST_REQUIRE_EQUAL(out, expected);
    }
  }
}

BOOST_DATA_TEST_CASE(names_what_is_wrong_and_where, data::make(kBadTexts), bad) {
  std::vector<char> room(bad.text.size() + 1);
  BOOST_CHECK_EXCEPTION(translate(bad.text, true, room.data(), room.size()), BadUtf8, [&](const BadUtf8& e) {
    BOOST_CHECK_EQUAL(e.offset, bad.offset);
    BOOST_CHECK_EQUAL(e.reason, bad.reason);
    return true;
  });
}

// Every sequence of up to two bytes, and every first pair of longer ones, against the table of the
// Unicode Standard written out.
BOOST_AUTO_TEST_CASE(accepts_what_the_standard_calls_well_formed) {
  const auto well_formed = [](unsigned a, unsigned b) {
    if (a < 0x80) {
      return b < 0x80;
    }
    const unsigned low = a == 0xe0 ? 0xa0 : a == 0xf0 ? 0x90 : 0x80;
    const unsigned high = a == 0xed ? 0x9f : a == 0xf4 ? 0x8f : 0xbf;
    return a >= 0xc2 && a <= 0xf4 && b >= low && b <= high;
  };
  for (unsigned a = 0; a < 256; ++a) {
    for (unsigned b = 0; b < 256; ++b) {
      std::string text{static_cast<char>(a), static_cast<char>(b)};
      text.append(a >= 0xf0 ? 2 : a >= 0xe0 ? 1 : 0, '\x80');
      char room[8];
      bool accepted = true;
      try {
        translate(text, true, room, sizeof room);
      } catch (const BadUtf8&) {
        accepted = false;
      }
      BOOST_REQUIRE_MESSAGE(accepted == well_formed(a, b), "bytes " << a << " " << b);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(dataset_text)

BOOST_AUTO_TEST_CASE(conforms) {
  const Folder folder;
  write(folder, "long.txt", random_text(1, 60000));
  stc::testing::DatasetCase given;
  given.root = folder.path().string();
  given.config = {{"text_path", "long.txt"}};
  const auto report = stc::testing::check_dataset(text_plugin(), given);
  BOOST_TEST(report.passed(), report.text());
}

BOOST_DATA_TEST_CASE(reads_the_same_text_in_pieces_of_any_size, data::make(kTexts), text) {
  const Folder folder;
  const fs::path path = write(folder, "a.txt", text);
  for (uint64_t capacity = 1; capacity <= text.size() + 4; ++capacity) {
    Reader reader(path);
    BOOST_REQUIRE_EQUAL(joined(reader.rest(capacity)), with_line_feeds(text));
    BOOST_REQUIRE_MESSAGE(!reader.error, reader.error.message);
  }
}

BOOST_AUTO_TEST_CASE(restarts_at_every_cursor) {
  const Folder folder;
  const std::string text = random_text(7, 300);
  const fs::path path = write(folder, "a.txt", text);
  for (const uint64_t capacity : {4u, 5u, 16u, 1000u}) {
    Reader reader(path);
    const std::vector<Piece> all = reader.rest(capacity);
    BOOST_REQUIRE_EQUAL(joined(all), with_line_feeds(text));
    for (size_t i = 0; i < all.size(); ++i) {
      reader.seek(all[i].cursor);
      BOOST_REQUIRE_EQUAL(joined(reader.rest(capacity + 3)),
                          joined({all.begin() + static_cast<std::ptrdiff_t>(i), all.end()}));
      BOOST_REQUIRE_EQUAL((all[i].flags & STC_ROW_CONTINUES) != 0, i + 1 < all.size());
    }
  }
}

BOOST_AUTO_TEST_CASE(pieces_of_a_long_file_do_not_depend_on_where_reading_began) {
  const Folder folder;
  const std::string text = random_text(3, 200000);  // about a megabyte
  const fs::path path = write(folder, "a.txt", text);
  Reader reader(path);
  const std::vector<Piece> all = reader.rest(256 << 10);
  BOOST_REQUIRE_EQUAL(joined(all).size(), with_line_feeds(text).size());
  BOOST_REQUIRE_GT(all.size(), 8u);
  for (size_t i = 0; i < all.size(); ++i) {
    reader.seek(all[i].cursor);
    const std::vector<Piece> rest = reader.rest(256 << 10);
    BOOST_REQUIRE_EQUAL(rest.size(), all.size() - i);
    for (size_t k = 0; k < rest.size(); ++k) {
      BOOST_REQUIRE_EQUAL(rest[k].cursor, all[i + k].cursor);
      BOOST_REQUIRE(rest[k].text == all[i + k].text);
    }
  }
}

BOOST_AUTO_TEST_CASE(drops_a_byte_order_mark_and_notes_it_once) {
  const Folder folder;
  const fs::path path = write(folder, "a.txt",
                              "\xef\xbb\xbf"
                              "ab\xef\xbb\xbf"
                              "c");
  for (const uint64_t capacity : {1u, 3u, 100u}) {
    Reader reader(path);
    for (int pass = 0; pass < 2; ++pass) {
      const std::vector<Piece> pieces = reader.rest(capacity);
      BOOST_CHECK_EQUAL(joined(pieces),
                        "ab\xef\xbb\xbf"
                        "c");  // only the first is a mark
      reader.seek(0);
    }
    BOOST_REQUIRE_EQUAL(reader.host.log_lines().size(), 1u);
    BOOST_CHECK_EQUAL(reader.host.log_lines()[0].message, path.string() + ": byte-order mark at the start is dropped");
  }
  Reader only_mark(write(folder, "mark.txt", "\xef\xbb\xbf"));
  BOOST_CHECK_EQUAL(only_mark.rest(10).size(), 0u);
  BOOST_CHECK(!only_mark.error);
  Reader half_mark(write(folder, "half.txt", "\xef\xbb"));
  half_mark.rest(10);
  BOOST_CHECK_EQUAL(half_mark.error.code, STC_ERROR_IO);
}

BOOST_DATA_TEST_CASE(bad_bytes_name_file_and_offset, data::make(kBadTexts), bad) {
  const Folder folder;
  const fs::path path = write(folder, "bad.txt", bad.text);
  for (const uint64_t capacity : {4u, 100u, 1u << 18}) {
    Reader reader(path);
    reader.rest(capacity);
    BOOST_CHECK_EQUAL(reader.error.code, STC_ERROR_IO);
    BOOST_CHECK_EQUAL(reader.error.message, path.string() + ": not UTF-8 at offset " + std::to_string(bad.offset) +
                                                ", " + bad.reason + "; convert the file (iconv -t utf-8)");
  }
}

BOOST_AUTO_TEST_CASE(utf16_is_recognised) {
  const Folder folder;
  for (const std::string& text : {"\xff\xfe"
                                  "a\0"s,
                                  "\xfe\xff"
                                  "\0a"s}) {
    Reader reader(write(folder, "utf16.txt", text));
    reader.rest(100);
    BOOST_CHECK_NE(reader.error.message.find("it looks like UTF-16"), std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(files_that_cannot_be_read_are_errors_of_the_key) {
  const Folder folder;
  const fs::path missing = folder.path() / "missing.txt";
  BOOST_CHECK_EQUAL(create_error(missing), missing.string() + ": No such file or directory");
  BOOST_CHECK_EQUAL(create_error(folder.path()), folder.path().string() + ": is a folder, expected a text file");
  const fs::path empty = write(folder, "empty.txt", "");
  BOOST_CHECK_EQUAL(create_error(empty), empty.string() + ": is empty");
  const fs::path below_a_file = empty / "a.txt";
  BOOST_CHECK_EQUAL(create_error(below_a_file), below_a_file.string() + ": Not a directory");
  BOOST_CHECK_EQUAL(create_error(""), "got null, expected a text file");
  const fs::path locked = write(folder, "locked.txt", "a");
  fs::permissions(locked, fs::perms::none);
  if (geteuid() != 0) {  // root may read everything
    BOOST_CHECK_EQUAL(create_error(locked), locked.string() + ": Permission denied");
  }
}

BOOST_AUTO_TEST_CASE(a_read_that_fails_names_its_offset) {
  // The memory of this process: a file by its type, whose first page is not there.
  BOOST_TEST(create_error("/proc/self/mem") == "/proc/self/mem: Input/output error, reading at offset 0");
}

BOOST_AUTO_TEST_CASE(has_one_split) {
  const Folder folder;
  FakeHost host;
  const std::string path = write(folder, "a.txt", "text").string();
  const DatasetInstance dataset(text_plugin(), host, {{"text_path", path}});
  const stc::testing::detail::OpenStream stream(dataset, "test");
  BOOST_TEST(stream.error.message == path + ": no split test, it has train");
}

BOOST_AUTO_TEST_CASE(fingerprint_follows_the_content_alone) {
  const Folder folder;
  const std::string text = random_text(5, 100);
  const std::string first = Reader(write(folder, "a.txt", text)).fingerprint();
  const fs::path copy = write(folder, "b.txt", text);
  fs::last_write_time(copy, fs::file_time_type::clock::now() - std::chrono::hours(100));
  BOOST_CHECK_EQUAL(Reader(copy).fingerprint(), first);
  std::string changed = text;
  changed[0] = 'y';
  BOOST_CHECK_NE(Reader(write(folder, "c.txt", changed)).fingerprint(), first);
  BOOST_CHECK_NE(Reader(write(folder, "d.txt", text + "z")).fingerprint(), first);
}

BOOST_AUTO_TEST_CASE(fingerprint_of_a_huge_file_sees_its_ends_and_size) {
  const Folder folder;
  const fs::path path = write(folder, "huge.txt", "head");
  fs::resize_file(path, 300u << 20);  // sparse
  const std::string first = Reader(path).fingerprint();
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-1, std::ios::end);
    file.put('z');
  }
  const std::string last_byte = Reader(path).fingerprint();
  BOOST_CHECK_NE(last_byte, first);
  fs::resize_file(path, (300u << 20) + 1);
  BOOST_CHECK_NE(Reader(path).fingerprint(), last_byte);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(pipe_as_text_path)

struct Pipe {
  Pipe() : path(folder.path() / "pipe") { BOOST_REQUIRE_EQUAL(mkfifo(path.c_str(), 0600), 0); }
  Folder folder;
  fs::path path;
};

BOOST_AUTO_TEST_CASE(a_reader_that_waits_stops_when_the_run_ends) {
  Pipe pipe;
  for (const bool with_writer : {false, true}) {
    Reader reader(pipe.path);
    int writer = -1;
    if (with_writer) {
      writer = ::open(pipe.path.c_str(), O_WRONLY);
      BOOST_REQUIRE_EQUAL(::write(writer, "\xc3", 1), 1);  // half a character
    }
    std::thread signal([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      reader.host.cancelled = true;
    });
    const auto before = std::chrono::steady_clock::now();
    reader.rest(100);
    BOOST_CHECK_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(1));
    BOOST_CHECK_EQUAL(reader.error.code, STC_ERROR_CANCELLED);
    signal.join();
    if (writer >= 0) {
      ::close(writer);
    }
  }
}

BOOST_DATA_TEST_CASE(text_comes_as_it_is_written, data::make({100u, 1u << 18}), capacity) {
  Pipe pipe;
  Reader reader(pipe.path);
  const int writer = ::open(pipe.path.c_str(), O_WRONLY);
  std::vector<Piece> pieces;
  BOOST_REQUIRE_EQUAL(::write(writer, "ab\r", 3), 3);
  BOOST_REQUIRE(reader.next(capacity, pieces));
  BOOST_CHECK_EQUAL(joined(pieces), "ab");  // CR may still be half of a line end
  BOOST_REQUIRE_EQUAL(::write(writer, "\ncd", 3), 3);
  BOOST_REQUIRE(reader.next(capacity, pieces));
  BOOST_CHECK_EQUAL(joined(pieces), "ab\ncd");
  BOOST_REQUIRE_EQUAL(::write(writer, "\r", 1), 1);
  ::close(writer);
  while (reader.next(capacity, pieces)) {
  }
  BOOST_CHECK_EQUAL(joined(pieces), "ab\ncd\n");
}

BOOST_AUTO_TEST_CASE(each_pass_waits_for_a_new_writer) {
  Pipe pipe;
  Reader reader(pipe.path);
  for (const std::string text : {"first", "second"}) {
    std::thread writer([&] {
      const int file = ::open(pipe.path.c_str(), O_WRONLY);
      BOOST_CHECK_EQUAL(::write(file, text.data(), text.size()), static_cast<ssize_t>(text.size()));
      ::close(file);
    });
    BOOST_CHECK_EQUAL(joined(reader.rest(100)), text);
    writer.join();
    reader.seek(0);
    BOOST_CHECK(!reader.error);
  }
  reader.seek(5);
  BOOST_CHECK_EQUAL(reader.error.message,
                    pipe.path.string() + ": cannot continue at offset 5: a pipe has no positions");
}

BOOST_AUTO_TEST_SUITE_END()
