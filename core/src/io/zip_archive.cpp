// SPDX-License-Identifier: Apache-2.0
//
// Zip through minizip, whose file functions read the mapping.
#include "io/zip_archive.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include <libdeflate.h>
#include <zlib.h>

#include <fmt/format.h>

namespace ferry::io {
namespace {

// Deflate cannot do better than this; a record that claims more is a bomb.
constexpr uint64_t kMostExpansion = 1032;
constexpr uint64_t kExpansionRoom = 1024;
constexpr uLong kEncrypted = 1;

}  // namespace

/// The file functions of minizip; `stream` is the Source.
struct SourceFunctions {
  using Source = ZipArchive::Source;

  static voidpf ZCALLBACK open(voidpf opaque, const void*, int) { return opaque; }
  static uLong ZCALLBACK read(voidpf, voidpf stream, void* buffer, uLong size) {
    Source& source = *static_cast<Source*>(stream);
    const uint64_t count = std::min<uint64_t>(size, source.file->size() - source.cursor);
    if (count > 0) std::memcpy(buffer, source.file->bytes().data() + source.cursor, count);
    source.cursor += count;
    return count;
  }
  static uLong ZCALLBACK write(voidpf, voidpf, const void*, uLong) { return 0; }
  static ZPOS64_T ZCALLBACK tell(voidpf, voidpf stream) {
    return static_cast<Source*>(stream)->cursor;
  }
  static long ZCALLBACK seek(voidpf, voidpf stream, ZPOS64_T offset, int origin) {
    Source& source = *static_cast<Source*>(stream);
    const uint64_t size = source.file->size();
    uint64_t base = 0;
    if (origin == ZLIB_FILEFUNC_SEEK_CUR) base = source.cursor;
    if (origin == ZLIB_FILEFUNC_SEEK_END) base = size;
    if (offset > size - base) return -1;
    source.cursor = base + offset;
    return 0;
  }
  static int ZCALLBACK close(voidpf, voidpf) { return 0; }
  static int ZCALLBACK error(voidpf, voidpf) { return 0; }
};

namespace {

/// Whether the last record of a zip archive ends where the file ends. minizip
/// takes one that was cut for whole.
bool has_whole_end(Bytes bytes) noexcept {
  constexpr std::string_view kSignature = "PK\x05\x06";
  constexpr size_t kEndBytes = 22;
  constexpr size_t kMostComment = 0xffff;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (size_t comment = 0; comment <= kMostComment; ++comment) {
    if (text.size() < kEndBytes + comment) return false;
    const std::string_view end = text.substr(text.size() - kEndBytes - comment);
    if (!end.starts_with(kSignature)) continue;
    const auto byte = [&](size_t at) { return static_cast<unsigned char>(end[at]); };
    if (byte(20) + 256u * byte(21) == comment) return true;
  }
  return false;
}

[[noreturn]] void fail_cut(const MappedFile& file) {
  file.fail(
      "begins as a zip archive, as PyTorch writes them, but the directory at its end is missing "
      "or damaged; download incomplete?");
}

/// Closes the record that minizip has open, at the end of the scope.
class OpenRecord {
 public:
  explicit OpenRecord(unzFile zip) : zip_(zip) {}
  ~OpenRecord() {
    if (zip_ != nullptr) unzCloseCurrentFile(zip_);
  }
  OpenRecord(const OpenRecord&) = delete;
  OpenRecord& operator=(const OpenRecord&) = delete;
  /// Whether everything was right, its checksum too.
  bool close() { return unzCloseCurrentFile(std::exchange(zip_, nullptr)) == UNZ_OK; }

 private:
  unzFile zip_;
};

}  // namespace

ZipArchive::ZipArchive(const MappedFile& file) : file_(file) {
  if (!has_whole_end(file.bytes())) fail_cut(file);
  using F = SourceFunctions;
  zlib_filefunc64_def functions{F::open, F::read,  F::write, F::tell,
                                F::seek, F::close, F::error, &source_};
  zip_ = unzOpen2_64(file.path().c_str(), &functions);
  if (zip_ == nullptr) fail_cut(file);
  try {
    add_records();
  } catch (...) {
    unzClose(zip_);
    throw;
  }
}

ZipArchive::~ZipArchive() { unzClose(zip_); }

ZipRecord ZipArchive::current_record() const {
  std::array<char, 1024> name{};
  unz_file_info64 info{};
  if (unzGetCurrentFileInfo64(zip_, &info, name.data(), name.size() - 1, nullptr, 0, nullptr, 0) !=
      UNZ_OK) {
    file_.fail("the directory of the zip archive is damaged");
  }
  if (info.size_filename >= name.size() - 1) file_.fail("a record's name in the archive is absurd");
  ZipRecord record;
  record.name.assign(name.data(), info.size_filename);
  record.size = info.uncompressed_size;
  record.compressed = info.compressed_size;
  record.crc = static_cast<uint32_t>(info.crc);
  record.deflated = info.compression_method == Z_DEFLATED;
  if ((info.flag & kEncrypted) != 0) damaged(record, "it is encrypted");
  if (info.compression_method != 0 && !record.deflated) {
    damaged(record, fmt::format("it is compressed with method {}, which is not deflate",
                                info.compression_method));
  }
  if (!record.deflated && record.size != record.compressed) {
    damaged(record, "it is not compressed and yet has two sizes");
  }
  if (record.compressed > file_.size()) {
    damaged(record, "it is larger than the file; download incomplete?");
  }
  if (record.deflated && record.size > record.compressed * kMostExpansion + kExpansionRoom) {
    damaged(record, fmt::format("{} bytes cannot hold the {} that it promises", record.compressed,
                                record.size));
  }
  if (unzGetFilePos64(zip_, &record.position) != UNZ_OK) damaged(record, "it has no place");
  return record;
}

void ZipArchive::add_records() {
  unz_global_info64 global{};
  if (unzGetGlobalInfo64(zip_, &global) != UNZ_OK) file_.fail("the zip archive is damaged");
  if (global.number_entry == 0) return;
  uint64_t total = 0;
  int status = unzGoToFirstFile(zip_);
  for (; status == UNZ_OK; status = unzGoToNextFile(zip_)) {
    records_.push_back(current_record());
    total += records_.back().compressed;
    // Records that overlap would let a small file hold a huge one many times.
    if (total > file_.size()) file_.fail("the records of the zip archive overlap");
  }
  if (status != UNZ_END_OF_LIST_OF_FILE || records_.size() != global.number_entry) {
    file_.fail("the directory of the zip archive is damaged");
  }
  index_.reserve(records_.size());
  for (size_t i = 0; i < records_.size(); ++i) {
    if (!index_.emplace(records_[i].name, i).second) {
      damaged(records_[i], "the archive has two of that name");
    }
  }
}

const ZipRecord* ZipArchive::find(std::string_view name) const noexcept {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &records_[found->second];
}

void ZipArchive::damaged(const ZipRecord& record, const std::string& reason) const {
  file_.fail(fmt::format("record {}: {}", in_quotes(record.name), reason));
}

void ZipArchive::read(const ZipRecord& record, const Sink& sink) const {
  if (!record.deflated) return read_stored(record, sink);
  if (unzGoToFilePos64(zip_, &record.position) != UNZ_OK) damaged(record, "it cannot be found");
  read_deflated(record, sink);
}

Bytes ZipArchive::stored(const ZipRecord& record) const {
  if (record.deflated) return {};
  if (unzGoToFilePos64(zip_, &record.position) != UNZ_OK) damaged(record, "it cannot be found");
  int method = 0, level = 0;
  if (unzOpenCurrentFile2(zip_, &method, &level, 1) != UNZ_OK) {
    damaged(record, "its header is damaged");
  }
  const uint64_t begin = unzGetCurrentFileZStreamPos64(zip_);
  unzCloseCurrentFile(zip_);
  if (!file_.contains(begin, record.size)) {
    damaged(record, "it reaches beyond the file's end; download incomplete?");
  }
  return file_.bytes().subspan(begin, record.size);
}

void ZipArchive::read_stored(const ZipRecord& record, const Sink& sink) const {
  const Bytes contents = stored(record);
  uint32_t crc = 0;
  for (uint64_t done = 0; done < record.size; done += kPartBytes) {
    const Bytes part = contents.subspan(done, std::min(kPartBytes, record.size - done));
    crc = libdeflate_crc32(crc, part.data(), part.size());
    sink(part);
    file_.drop(part);
  }
  // PyTorch can be told to leave checksums out.
  if (crc != record.crc && record.crc != 0) damaged(record, "its contents do not fit its checksum");
}

void ZipArchive::read_deflated(const ZipRecord& record, const Sink& sink) const {
  if (unzOpenCurrentFile(zip_) != UNZ_OK) damaged(record, "its header is damaged");
  OpenRecord open(zip_);
  const uint64_t part_bytes = std::min(kPartBytes, record.size);
  const auto part = std::make_unique_for_overwrite<std::byte[]>(part_bytes);
  for (uint64_t done = 0; done < record.size;) {
    const uint64_t count = std::min(part_bytes, record.size - done);
    const int got = unzReadCurrentFile(zip_, part.get(), static_cast<unsigned>(count));
    if (got < 0 || static_cast<uint64_t>(got) != count) {
      damaged(record, "its compressed contents are damaged");
    }
    sink(Bytes(part.get(), count));
    done += count;
  }
  if (!open.close()) damaged(record, "its contents do not fit its checksum");
}

std::vector<std::byte> ZipArchive::read(const ZipRecord& record) const {
  std::vector<std::byte> contents;
  contents.reserve(record.size);
  read(record, [&](Bytes part) { contents.insert(contents.end(), part.begin(), part.end()); });
  return contents;
}

}  // namespace ferry::io
