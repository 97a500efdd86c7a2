# SPDX-License-Identifier: LGPL-2.1-or-later
# genv_add_bus_test(NAME name [BROKER] [AS_SHIPPED] [TIMEOUT seconds] [LABELS label...] [OPTIONS option...]
#                   COMMAND command...)
# registers a test that runs `command` as root on a private system bus with the real polkitd and the policy files that
# this project ships. BROKER runs it under dbus-broker; OPTIONS go to private-bus. AS_SHIPPED is for tests of other
# parts than C++ (a shell, Python): they run without sanitizers, which slow everything down, and without a second bus.
# The test carries the label `bus` in addition to LABELS.
# If the first word of `command` is a target, it stands for the target's program, as in add_test(). Without namespaces
# (no root) the test is skipped, with the reason in its output.

function(genv_add_bus_test)
  cmake_parse_arguments(PARSE_ARGV 0 TEST "BROKER;AS_SHIPPED" "NAME;TIMEOUT" "LABELS;OPTIONS;COMMAND")
  if(NOT TEST_NAME OR NOT TEST_COMMAND OR TEST_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "genv_add_bus_test needs NAME and COMMAND: ${ARGV}")
  endif()
  if(GENV_SANITIZE AND (TEST_BROKER OR TEST_AS_SHIPPED))
    return()
  endif()
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 600)
  endif()
  set(broker "")
  if(TEST_BROKER)
    set(broker --broker)
  endif()

  set(preload "")
  if(GENV_POLKITD_PRELOAD)
    set(preload --polkitd-preload ${GENV_POLKITD_PRELOAD})
  endif()

  # CMake resolves a target only as the first word of add_test's COMMAND, and here that is the harness.
  list(POP_FRONT TEST_COMMAND program)
  if(TARGET ${program})
    set(program "$<TARGET_FILE:${program}>")
  endif()

  add_test(NAME ${TEST_NAME}
    COMMAND ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/private-bus ${broker}
      --dbus-policy ${CMAKE_SOURCE_DIR}/data/dbus/dev.genv.Manager.conf
      --polkit-actions ${CMAKE_SOURCE_DIR}/data/polkit
      ${preload} ${TEST_OPTIONS} -- ${program} ${TEST_COMMAND})
  set_tests_properties(${TEST_NAME} PROPERTIES
    SKIP_RETURN_CODE 77
    TIMEOUT ${TEST_TIMEOUT}
    LABELS "bus;${TEST_LABELS}")
endfunction()
