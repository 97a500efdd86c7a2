# SPDX-License-Identifier: LGPL-2.1-or-later
# The target `demo` with the programs of ./dev demo, also for a build without tests. Sets demo_targets, and preload and
# preload_options for polkitd.

# Never built with sanitizers: it is loaded into a program without them.
function(genv_add_preload name source)
  add_library(${name} MODULE ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${source})
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Werror)
  target_link_libraries(${name} PRIVATE ${CMAKE_DL_LIBS})
  set_target_properties(${name} PROPERTIES
    PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/private_bus) # where the script demo looks
endfunction()

set(demo_targets genvd genvctl)
# polkitd before 123 loses wake-ups, as "polkit and the bus" in data/doc/faults.md explains. The workaround of tests,
# demo and benchmarks is controlled only here: they preload the library if it has been built.
set(preload)
set(preload_options)
if(POLKIT_VERSION VERSION_LESS 123)
  genv_add_preload(polkitd_spurious_wakeups spurious_wakeups.c)
  set(preload $<TARGET_FILE:polkitd_spurious_wakeups>)
  set(preload_options --polkitd-preload ${preload})
  list(APPEND demo_targets polkitd_spurious_wakeups)
endif()
add_custom_target(demo DEPENDS ${demo_targets})
