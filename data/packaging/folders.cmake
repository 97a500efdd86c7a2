# SPDX-License-Identifier: LGPL-2.1-or-later
# The folders of files that other programs look for. Each folder is a cache variable. Its default is the folder in the
# other program's pkg-config file, if that is installed, and otherwise the folder that the program reads on every
# distribution.
include(GNUInstallDirs)

# genv_folder(NAME MODULE VARIABLE DEFAULT WHAT): sets a folder. A folder below the prefix of MODULE is moved below
# CMAKE_INSTALL_PREFIX, so that an installation with another prefix stays in one place. An absolute folder given by
# -DNAME= is kept unchanged.
function(genv_folder name module variable default what)
  set(folder "")
  pkg_get_variable(found ${module} ${variable})
  pkg_get_variable(prefix ${module} prefix)
  if(found AND prefix)
    string(FIND "${found}" "${prefix}/" place)
    if(place EQUAL 0)
      string(LENGTH "${prefix}/" length)
      string(SUBSTRING "${found}" ${length} -1 folder)
    elseif(CMAKE_INSTALL_PREFIX STREQUAL prefix)
      set(folder "${found}")
    endif()
  endif()
  if(NOT folder) # the default also replaces /lib of a systemd outside /usr if the prefix differs
    set(folder "${default}")
  endif()
  set(${name} "${folder}" CACHE STRING "${what}, below the prefix or absolute")
endfunction()

set(share ${CMAKE_INSTALL_DATADIR})
genv_folder(GENV_SYSTEMD_SYSTEM_UNIT_DIR systemd systemd_system_unit_dir lib/systemd/system "Where system units go")
genv_folder(GENV_SYSTEMD_USER_UNIT_DIR systemd systemd_user_unit_dir lib/systemd/user "Where users' units go")
genv_folder(GENV_SYSTEMD_SYSUSERS_DIR systemd sysusers_dir lib/sysusers.d "Where files for systemd-sysusers go")
genv_folder(GENV_SYSTEMD_CATALOG_DIR systemd catalog_dir lib/systemd/catalog "Where journal catalogs go")
genv_folder(GENV_DBUS_SERVICES_DIR dbus-1 system_bus_services_dir ${share}/dbus-1/system-services
  "Where services of the system bus go")
genv_folder(GENV_DBUS_SESSION_SERVICES_DIR dbus-1 session_bus_services_dir ${share}/dbus-1/services
  "Where services of the users' buses go")
genv_folder(GENV_DBUS_INTERFACES_DIR dbus-1 interfaces_dir ${share}/dbus-1/interfaces "Where descriptions of interfaces go")
set(GENV_DBUS_POLICY_DIR "${share}/dbus-1/system.d" CACHE STRING
  "Where policies of the system bus go, below the prefix or absolute")
genv_folder(GENV_POLKIT_ACTIONS_DIR polkit-gobject-1 actiondir ${share}/polkit-1/actions "Where polkit's actions go")
genv_folder(GENV_BASH_COMPLETIONS_DIR bash-completion completionsdir ${share}/bash-completion/completions
  "Where completions for bash go")
genv_folder(GENV_FISH_COMPLETIONS_DIR fish completionsdir ${share}/fish/vendor_completions.d
  "Where completions for fish go")

# Debian's zsh, Python and daemons have separate folders for packages, which only this file knows.
if(EXISTS /etc/debian_version)
  set(zsh vendor-completions)
  set(python lib/python3/dist-packages)
else()
  set(zsh site-functions)
  execute_process(COMMAND ${Python3_EXECUTABLE} -c
      "import sysconfig; print(sysconfig.get_path('purelib', 'posix_prefix', {'base': ''}).lstrip('/'))"
    OUTPUT_VARIABLE python OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
endif()
set(environment /etc/default)
if(NOT EXISTS /etc/debian_version AND EXISTS /etc/sysconfig)
  set(environment /etc/sysconfig)
endif()
set(GENV_ZSH_COMPLETIONS_DIR "${share}/zsh/${zsh}" CACHE STRING
  "Where completions for zsh go, below the prefix or absolute")
set(GENV_COCKPIT_DIR "${share}/cockpit" CACHE STRING "Where pages of Cockpit go, below the prefix or absolute")
set(GENV_PYTHON_DIR "${python}" CACHE STRING "Where Python packages go, below the prefix or absolute")
set(GENV_ENVIRONMENT_DIR "${environment}" CACHE STRING "Where genv-monitor.service reads its options from a file genv-monitor")

# genv_install_link(TARGET LINK): installs a symbolic link.
function(genv_install_link target link)
  if(NOT IS_ABSOLUTE "${link}")
    string(PREPEND link "\${CMAKE_INSTALL_PREFIX}/")
  endif()
  cmake_path(GET link PARENT_PATH folder)
  install(CODE "
    file(MAKE_DIRECTORY \"\$ENV{DESTDIR}${folder}\")
    file(CREATE_LINK \"${target}\" \"\$ENV{DESTDIR}${link}\" SYMBOLIC)")
endfunction()
