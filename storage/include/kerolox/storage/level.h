// How safe a message is: what an append asks for, and what a receipt says was really reached.
#pragma once

#include <compare>
#include <cstdint>

namespace kerolox::storage {

enum class LocalLevel : std::uint8_t {
  kMemory,  // handed to the kernel: survives the death of the process, not of the machine
  kDisk,    // synced: survives power loss
};

enum class ReplicaLevel : std::uint8_t {
  kNone,     // on this machine alone
  kWritten,  // in the memory of replicas
  kSynced,   // on the disks of replicas
};

struct Level {
  LocalLevel local = LocalLevel::kMemory;
  ReplicaLevel replicas = ReplicaLevel::kNone;
  std::int32_t replica_count = 0;  // beside this machine; 0 with kNone

  friend constexpr bool operator==(const Level&, const Level&) = default;
};

// Whether `reached` is at least as safe as `wanted`.
constexpr bool satisfies(const Level& reached, const Level& wanted) {
  return reached.local >= wanted.local &&
         (wanted.replicas == ReplicaLevel::kNone ||
          (reached.replicas >= wanted.replicas && reached.replica_count >= wanted.replica_count));
}

}  // namespace kerolox::storage
