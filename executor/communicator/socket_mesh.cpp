#include "executor/communicator/socket_mesh.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <system_error>

namespace executor {

std::vector<std::vector<int>> socket_mesh(int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  std::vector<std::vector<int>> mesh(n, std::vector<int>(n, -1));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      int pair[2];
      if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        throw std::system_error(errno, std::generic_category(), "socketpair");
      }
      mesh[i][j] = pair[0];
      mesh[j][i] = pair[1];
    }
  }
  return mesh;
}

}  // namespace executor
