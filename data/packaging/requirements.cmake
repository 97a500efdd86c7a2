# SPDX-License-Identifier: LGPL-2.1-or-later
# Finds the requirements of genv. If one is missing, the configuration ends with a sentence that names its package in
# each distribution. The table is the file `requirements` beside this one.

set(genv_requirements ${CMAKE_CURRENT_LIST_DIR}/requirements)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${genv_requirements})

# genv_lacks(NAME WHAT): records a sentence for genv_check_requirements(). NAME is that of a row, WHAT the missing
# requirement.
function(genv_lacks name what)
  file(STRINGS ${genv_requirements} rows REGEX "^[^#]")
  set(packages "")
  foreach(row IN LISTS rows)
    string(REGEX REPLACE " *\\| *" ";" cells "${row}")
    list(POP_FRONT cells key debian fedora arch)
    if(key STREQUAL name)
      set(packages ": Debian and Ubuntu call it ${debian}, Fedora ${fedora}, Arch ${arch}")
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY GENV_LACKS "genv needs ${what}${packages}")
endfunction()

# genv_find_package(NAME [VERSION] [ARGUMENT]...): find_package().
macro(genv_find_package name)
  find_package(${name} QUIET ${ARGN})
  if(NOT ${name}_FOUND)
    set(genv_what ${name})
    if("${ARGN}" MATCHES "^([0-9.]+)")
      string(APPEND genv_what " ${CMAKE_MATCH_1}")
      if(${name}_CONSIDERED_VERSIONS)
        string(APPEND genv_what " or later, not ${${name}_CONSIDERED_VERSIONS}")
      endif()
    endif()
    genv_lacks(${name} "${genv_what}")
  endif()
endmacro()

# genv_find_modules(PREFIX NAME [MODULE]...): pkg_check_modules() with an imported target. NAME is the module in the
# table, and MODULEs are further modules of its package.
macro(genv_find_modules prefix name)
  if(COMMAND pkg_check_modules)
    pkg_check_modules(${prefix} QUIET IMPORTED_TARGET ${name} ${ARGN})
  endif()
  if(NOT ${prefix}_FOUND)
    genv_lacks(${name} ${name})
  endif()
endmacro()

# genv_find_program(VARIABLE NAME): find_program().
macro(genv_find_program variable name)
  find_program(${variable} ${name})
  if(NOT ${variable})
    genv_lacks(${name} ${name})
  endif()
endmacro()

# genv_check_requirements(): ends the configuration if a requirement was not found.
function(genv_check_requirements)
  get_property(lacks GLOBAL PROPERTY GENV_LACKS)
  if(lacks)
    list(JOIN lacks "\n  " sentences)
    message(FATAL_ERROR "packages for the build of genv are missing\n  ${sentences}")
  endif()
endfunction()
