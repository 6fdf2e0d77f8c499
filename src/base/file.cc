#include "src/base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace edgesage {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

std::string reason() { return std::strerror(errno); }

Result<std::vector<std::byte>> read_all(int fd, const std::string& name, ErrorCode code) {
  std::vector<std::byte> bytes;
  std::byte chunk[1 << 16];
  for (;;) {
    const ssize_t count = ::read(fd, chunk, sizeof(chunk));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return make_error(code, name, fmt::format("cannot be read: {}", reason()));
    if (count == 0) return bytes;
    bytes.insert(bytes.end(), chunk, chunk + count);
  }
}

}  // namespace

Result<OpenFile> OpenFile::open(const std::filesystem::path& path, ErrorCode code) {
  const bool standard_input = path == "-";
  std::string name = standard_input ? "standard input" : path.string();
  const int file = standard_input ? ::dup(0) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return make_error(code, name, fmt::format("cannot be opened: {}", reason()));
  return OpenFile(file, std::move(name), code);
}

OpenFile::OpenFile(OpenFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      name_(std::move(other.name_)),
      code_(other.code_) {}

OpenFile::~OpenFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool OpenFile::read_at(size_t offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t count = ::pread(descriptor_, to.data(), to.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    offset += static_cast<size_t>(count);
    to = to.subspan(static_cast<size_t>(count));
  }
  return true;
}

Result<std::shared_ptr<const MappedFile>> OpenFile::map() const {
  struct stat info {};
  if (::fstat(descriptor_, &info) != 0)
    return make_error(code_, name_, fmt::format("cannot be read: {}", reason()));
  if (S_ISDIR(info.st_mode))
    return make_error(code_, name_, "is a directory; give the path of a file");

  std::shared_ptr<MappedFile> mapped(new MappedFile());
  const auto size = static_cast<size_t>(info.st_size);
  if (S_ISREG(info.st_mode) && size > 0) {
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor_, 0);
    if (address != MAP_FAILED) {
      mapped->bytes_ = {static_cast<const std::byte*>(address), size};
      return std::shared_ptr<const MappedFile>(std::move(mapped));
    }
  }
  EDGESAGE_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes,
                            read_all(descriptor_, name_, code_));
  return MappedFile::holding(bytes);
}

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::filesystem::path& path,
                                                           ErrorCode code) {
  EDGESAGE_ASSIGN_OR_RETURN(const OpenFile file, OpenFile::open(path, code));
  return file.map();
}

std::shared_ptr<const MappedFile> MappedFile::holding(std::span<const std::byte> bytes) {
  std::shared_ptr<MappedFile> held(new MappedFile());
  held->owned_ = std::make_unique<std::byte[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), held->owned_.get());
  held->bytes_ = {held->owned_.get(), bytes.size()};
  return held;
}

MappedFile::~MappedFile() {
  if (owned_ == nullptr && !bytes_.empty())
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

Result<std::string> read_text(const std::filesystem::path& path, ErrorCode code) {
  EDGESAGE_ASSIGN_OR_RETURN(const auto file, MappedFile::open(path, code));
  const std::span<const std::byte> bytes = file->bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Status write_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  const std::string name = path.string();
  const std::string temporary = fmt::format("{}.{}.tmp", name, ::getpid());
  {
    const Descriptor file(
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (file.get() < 0)
      return make_error(ErrorCode::kInvalidArgument, name,
                        fmt::format("cannot be written: {}", reason()));
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t count = ::write(file.get(), bytes.data() + done, bytes.size() - done);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) {
        const std::string why = reason();
        ::unlink(temporary.c_str());
        return make_error(ErrorCode::kInvalidArgument, name,
                          fmt::format("cannot be written: {}", why));
      }
      done += static_cast<size_t>(count);
    }
  }
  if (::rename(temporary.c_str(), name.c_str()) != 0) {
    const std::string why = reason();
    ::unlink(temporary.c_str());
    return make_error(ErrorCode::kInvalidArgument, name, fmt::format("cannot be written: {}", why));
  }
  return {};
}

Status write_text(const std::filesystem::path& path, std::string_view text) {
  return write_file(path, std::as_bytes(std::span(text)));
}

}  // namespace edgesage
