# SPDX-License-Identifier: LGPL-2.1-or-later
# Tests of GoogleTest programs, one for each suite: a process for each case would need more time than most cases.

# genv_find_suites(VARIABLE source...): finds the GoogleTest suites in these sources, so that none is forgotten if each
# is a test of its own.
function(genv_find_suites variable)
  set(suites "")
  foreach(source ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    file(STRINGS ${source} tests REGEX "^TEST(_F|_P)?\\([A-Za-z0-9]+,")
    foreach(test ${tests})
      string(REGEX REPLACE "^[A-Z_]+\\(([A-Za-z0-9]+),.*" "\\1" suite "${test}")
      list(APPEND suites ${suite})
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES suites)
  set(${variable} ${suites} PARENT_SCOPE)
endfunction()

# genv_add_suites(program PREFIX prefix [LABELS label] [TIMEOUT seconds]): adds a test for each suite of a program, and one
# for the suites that genv_find_suites does not find.
function(genv_add_suites program)
  cmake_parse_arguments(PARSE_ARGV 1 TEST "" "PREFIX;LABELS;TIMEOUT" "")
  if(NOT TEST_PREFIX OR TEST_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "genv_add_suites needs PREFIX: ${ARGV}")
  endif()
  get_target_property(sources ${program} SOURCES)
  genv_find_suites(suites ${sources})
  set(found "")
  set(tests ${TEST_PREFIX}${program})
  foreach(suite ${suites})
    # With those of the suite's instances.
    set(filter "${suite}.*:*/${suite}.*")
    string(APPEND found ":${filter}")
    list(APPEND tests ${TEST_PREFIX}${suite})
    add_test(NAME ${TEST_PREFIX}${suite} COMMAND ${program} --gtest_filter=${filter})
  endforeach()
  add_test(NAME ${TEST_PREFIX}${program} COMMAND ${program} --gtest_filter=-${found})
  set_tests_properties(${tests} PROPERTIES LABELS "${TEST_LABELS}")
  if(TEST_TIMEOUT)
    set_tests_properties(${tests} PROPERTIES TIMEOUT ${TEST_TIMEOUT})
  endif()
endfunction()
