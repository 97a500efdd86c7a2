// SPDX-License-Identifier: LGPL-2.1-or-later
// The journal fields and identifiers of genv: a MESSAGE_ID for each kind of event and the names of
// the fields. The writers of records and the reader of the history both use this file. genvd(8)
// documents it for users, and the catalog explains each MESSAGE_ID. Ids and names are a contract,
// because users' scripts may depend on them, such as on `journalctl MESSAGE_ID=...`.
#pragma once

#include <array>
#include <string_view>

namespace genv::service::journal {

/// A kind of event: its name, which is also the value of GENV_EVENT, and its MESSAGE_ID.
struct Kind {
    std::string_view name;
    std::string_view messageId; ///< 32 hexadecimal digits
};

inline constexpr std::array kinds{
    Kind{"environment-started", "3ea1f737c81048758e4e3c7d1a9d51f4"},
    Kind{"environment-ended", "40eaec41f0d940cd98f9d930230d8b6c"},
    Kind{"lingering", "56de4cdbd7c34753b787fce765794ae6"},
    Kind{"attached", "abbad66f316f4f20bd8708fc8c055508"},
    Kind{"detached", "00fb4819bdbf4466938bfaf0d565e639"},
    Kind{"in-use", "12d5f6c44ad5480e8026f9bacb2f34b5"},
    Kind{"idle", "10f5479ea45a4716a83af6e3234cf182"},
    Kind{"wait-started", "12f3bb38b28648d585b20bf5fe1fe5de"},
    Kind{"wait-granted", "e34db4a9685040a78fe33491e3431be3"},
    Kind{"wait-ended", "13a78f0fe6ec436f99ea64b471b00a88"},
    Kind{"process-terminated", "89050ef7f4b349d5b843638ccb103e37"},
    Kind{"refused", "547b887bd5884166b4bb2e35993e31d3"},
    Kind{"policy-changed", "5adc86c6277347f0a9b4e732951c1ca7"},
    Kind{"lease-ending", "ab1652836d5443cdaa8672caca42d428"},
    Kind{"rule-warning", "39375cc829ee433495d5990b5255804a"},
    Kind{"device-health", "26dfaa5b07e841d78cc59aacfd94e3d0"},
    Kind{"device-added", "2e8f536cdc3d4bb4b8bab5b00925cf2d"},
    Kind{"device-removed", "13b258e4168e4c5f8f204e9c7b73ba0a"},
    Kind{"open-refused", "9d6f6a6c1f8b4d0c8a52e6b1f6f3c7de"},
    Kind{"isolation-changed", "b64a2f0d77ce4f1a8b0f3c5d92e4a618"},
    Kind{"parked", "c5d1a7e0b9f04c7f8d2b6a3e41f0c916"},
    Kind{"resumed", "7e0f3b52d6c94a1e9b8a5f2c13d7e604"},
    Kind{"parking-failed", "a41c9d7e52b84f60b3e7d0c6f18a2953"},
    Kind{"resume-delayed", "1b6e8f04c3a7429d85f2d9b07ce4613a"},
    Kind{"process-lost", "e92d5c71f0b64a8396c1d7fe24b8035d"},
    Kind{"parked-long", "5fa3c2e86d1b4079a4e8b6f29d0c7135"},
    Kind{"taking-began", "8224f771a7a041c4ab0d2fff74ad4e2c"},
    Kind{"taking-ended", "9e7e669a22c74ab6a71621859e0a1414"},
    Kind{"loan-ending", "73c547c74cd941c7ba28a520302962ad"},
};

/// The names of the fields. A number is decimal; a list is separated by commas.
namespace field {
inline constexpr std::string_view messageId = "MESSAGE_ID";
inline constexpr std::string_view event = "GENV_EVENT";             ///< a name of `kinds`
inline constexpr std::string_view environment = "GENV_ENVIRONMENT"; ///< id
inline constexpr std::string_view environmentName = "GENV_ENVIRONMENT_NAME";
inline constexpr std::string_view parent = "GENV_PARENT"; ///< id of the outer environment, if any
inline constexpr std::string_view job = "GENV_JOB";       ///< of Slurm, if the environment is a job
inline constexpr std::string_view uid = "GENV_UID";       ///< owner of the environment or process
inline constexpr std::string_view user = "GENV_USER";     ///< name of that owner
inline constexpr std::string_view device = "GENV_DEVICE"; ///< index, or a list of indices
inline constexpr std::string_view deviceUuid = "GENV_DEVICE_UUID"; ///< one for each index
inline constexpr std::string_view deviceModel = "GENV_DEVICE_MODEL";
inline constexpr std::string_view share =
    "GENV_SHARE_BYTES"; ///< share of the memory; absent: the whole device
inline constexpr std::string_view overSubscribed = "GENV_OVER_SUBSCRIBED"; ///< "1", else absent
inline constexpr std::string_view reason = "GENV_REASON";                  ///< as in signals
inline constexpr std::string_view callerUid =
    "GENV_CALLER_UID"; ///< who made the request; 0 also for the service itself
inline constexpr std::string_view callerUser = "GENV_CALLER_USER";
inline constexpr std::string_view callerLogin =
    "GENV_CALLER_LOGIN"; ///< the login uid of a caller who acted as root, if known
inline constexpr std::string_view callerLoginUser = "GENV_CALLER_LOGIN_USER";
inline constexpr std::string_view method =
    "GENV_METHOD"; ///< the refused D-Bus method, with its interface
inline constexpr std::string_view action = "GENV_ACTION"; ///< polkit's action for a refusal
inline constexpr std::string_view error = "GENV_ERROR";   ///< the D-Bus error of a refusal
inline constexpr std::string_view pid = "GENV_PID";       ///< PID, or a list of PIDs
inline constexpr std::string_view command =
    "GENV_COMMAND"; ///< the name of the process with this PID
inline constexpr std::string_view rule = "GENV_RULE";
inline constexpr std::string_view health = "GENV_HEALTH";
inline constexpr std::string_view count =
    "GENV_COUNT"; ///< number of requested devices, or of refused opens
inline constexpr std::string_view waited = "GENV_WAITED_USEC"; ///< duration of the wait
inline constexpr std::string_view held = "GENV_HELD_USEC";     ///< duration of the attachment
inline constexpr std::string_view since =
    "GENV_SINCE_USEC"; ///< start of the reported state, µs since the epoch
inline constexpr std::string_view left = "GENV_LEFT_USEC"; ///< until a lease ends or a rule acts
inline constexpr std::string_view memory =
    "GENV_MEMORY_BYTES"; ///< that parked processes hold on the host
inline constexpr std::string_view took =
    "GENV_TOOK_USEC"; ///< how long parking took, or it was parked
inline constexpr std::string_view problem =
    "GENV_PROBLEM"; ///< why parking or a resume does not work
inline constexpr std::string_view takerUid =
    "GENV_TAKER_UID"; ///< owner of the request for which an environment is parked or ends
inline constexpr std::string_view takerUser = "GENV_TAKER_USER"; ///< name of that owner
inline constexpr std::string_view takerEnvironment =
    "GENV_TAKER_ENVIRONMENT"; ///< id of the environment of that request
inline constexpr std::string_view taken =
    "GENV_TAKEN_ENVIRONMENT"; ///< ids of the environments that are parked for a request
inline constexpr std::string_view isolation = "GENV_ISOLATION"; ///< the mode in force
inline constexpr std::string_view settings =
    "GENV_SETTINGS"; ///< changed settings, as `Key=value` separated by blanks
} // namespace field

} // namespace genv::service::journal
