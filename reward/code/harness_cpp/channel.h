// Messages of descriptor 3: four bytes of length, little-endian, and a value.
namespace sluice_harness {

// By names that the program cannot have as well.
extern "C" long sluice_harness_read(int, void*, std::size_t) __asm__("read");
extern "C" long sluice_harness_write(int, const void*, std::size_t) __asm__("write");
extern "C" [[noreturn]] void sluice_harness_exit(int) __asm__("_exit");

inline void Send(const Writer& message) {
  Writer framed;
  framed.Size(message.bytes.size());
  framed.bytes += message.bytes;
  for (std::size_t at = 0; at < framed.bytes.size();) {
    long n = sluice_harness_write(3, framed.bytes.data() + at, framed.bytes.size() - at);
    if (n <= 0) sluice_harness_exit(0);
    at += static_cast<std::size_t>(n);
  }
}

inline void ReceiveAll(char* to, std::size_t size) {
  for (std::size_t at = 0; at < size;) {
    long n = sluice_harness_read(3, to + at, size - at);
    if (n <= 0) sluice_harness_exit(0);
    at += static_cast<std::size_t>(n);
  }
}

inline std::string Receive() {
  unsigned char head[4];
  ReceiveAll(reinterpret_cast<char*>(head), 4);
  std::string message(head[0] | head[1] << 8 | head[2] << 16 | static_cast<std::size_t>(head[3]) << 24, 0);
  ReceiveAll(&message[0], message.size());
  return message;
}

}  // namespace sluice_harness
