// SPDX-License-Identifier: Apache-2.0
//
// Zip through minizip, whose file functions write the new file.
#include "io/zip_writer.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "ferry/error.h"

namespace ferry::io {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr uint64_t kLocalHeaderBytes = 30;
/// What minizip adds to the local header of a record that may be large.
constexpr uint64_t kZip64Bytes = 20;
constexpr uint64_t kLargeRecord = 0xffffffff;
constexpr uint64_t kExtraHeaderBytes = 4;

/// An extra field, of the kind that PyTorch uses, that makes the contents begin
/// at a multiple of the alignment.
std::string padding(uint64_t contents_at) {
  const uint64_t with_header = contents_at + kExtraHeaderBytes;
  const uint64_t fill =
      (ZipWriter::kAlignment - with_header % ZipWriter::kAlignment) % ZipWriter::kAlignment;
  std::string extra = "FB";
  extra += static_cast<char>(fill);
  extra += '\0';
  return extra + std::string(fill, 'Z');
}

}  // namespace

struct ZipWriter::Functions {
  static voidpf ZCALLBACK open(voidpf opaque, const void*, int) { return opaque; }
  static uLong ZCALLBACK read(voidpf, voidpf, void*, uLong) { return 0; }
  static uLong ZCALLBACK write(voidpf, voidpf stream, const void* data, uLong size) {
    auto& self = *static_cast<ZipWriter*>(stream);
    if (self.error_) return 0;
    try {
      self.append(data, size);
    } catch (...) {
      self.error_ = std::current_exception();
      return 0;
    }
    return size;
  }
  static ZPOS64_T ZCALLBACK tell(voidpf, voidpf stream) {
    return static_cast<ZipWriter*>(stream)->cursor_;
  }
  static long ZCALLBACK seek(voidpf, voidpf stream, ZPOS64_T offset, int origin) {
    auto& self = *static_cast<ZipWriter*>(stream);
    uint64_t base = 0;
    if (origin == ZLIB_FILEFUNC_SEEK_CUR) base = self.cursor_;
    if (origin == ZLIB_FILEFUNC_SEEK_END) base = self.end_;
    self.cursor_ = base + offset;
    return 0;
  }
  static int ZCALLBACK close(voidpf, voidpf) { return 0; }
  static int ZCALLBACK error(voidpf, voidpf) { return 0; }
};

ZipWriter::ZipWriter(AtomicFile& file) : file_(file) {
  buffer_.reserve(kBufferBytes);
  using F = Functions;
  zlib_filefunc64_def functions{F::open, F::read,  F::write, F::tell,
                                F::seek, F::close, F::error, this};
  zip_ = zipOpen2_64("archive", APPEND_STATUS_CREATE, nullptr, &functions);
  if (zip_ == nullptr) throw FileError("save", "the zip archive cannot be begun");
}

ZipWriter::~ZipWriter() {
  if (zip_ != nullptr) zipClose(zip_, nullptr);
}

void ZipWriter::append(const void* data, size_t bytes) {
  const auto* begin = static_cast<const std::byte*>(data);
  if (cursor_ != buffer_at_ + buffer_.size() || buffer_.size() + bytes > kBufferBytes) flush();
  if (buffer_.empty()) buffer_at_ = cursor_;
  buffer_.insert(buffer_.end(), begin, begin + bytes);
  cursor_ += bytes;
  end_ = std::max(end_, cursor_);
}

void ZipWriter::flush() {
  file_.write_at(buffer_at_, buffer_.data(), buffer_.size());
  buffer_.clear();
}

void ZipWriter::check(int status) const {
  if (error_) std::rethrow_exception(error_);
  if (status != ZIP_OK) {
    throw FileError("save", "the zip archive cannot be written: status " + std::to_string(status));
  }
}

void ZipWriter::end_record() {
  if (!std::exchange(open_, false)) return;
  check(zipCloseFileInZip(zip_));
}

void ZipWriter::begin(const std::string& name, uint64_t size) {
  end_record();
  const bool large = size >= kLargeRecord;
  const std::string extra =
      padding(cursor_ + kLocalHeaderBytes + name.size() + (large ? kZip64Bytes : 0));
  const zip_fileinfo info{};
  check(zipOpenNewFileInZip64(zip_, name.c_str(), &info, extra.data(),
                              static_cast<unsigned>(extra.size()), nullptr, 0, nullptr, 0, 0,
                              large ? 1 : 0));
  open_ = true;
}

void ZipWriter::write(Bytes part) {
  constexpr size_t kMostAtOnce = size_t{1} << 30;  // sizes are unsigned ints
  while (!part.empty()) {
    const size_t count = std::min(kMostAtOnce, part.size());
    check(zipWriteInFileInZip(zip_, part.data(), static_cast<unsigned>(count)));
    part = part.subspan(count);
  }
}

void ZipWriter::add(const std::string& name, Bytes contents) {
  begin(name, contents.size());
  write(contents);
}

void ZipWriter::finish() {
  end_record();
  check(zipClose(std::exchange(zip_, nullptr), nullptr));
  try {
    flush();
  } catch (...) {
    buffer_.clear();
    throw;
  }
}

}  // namespace ferry::io
