# Targets of this project: one static library a layer, one executable a test file.
include(GNUInstallDirs)

add_library(edgesage_options INTERFACE)
target_compile_features(edgesage_options INTERFACE cxx_std_20)
target_compile_options(edgesage_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wold-style-cast -Wnon-virtual-dtor
  -Wimplicit-fallthrough
  -Wno-missing-field-initializers  # designated initialisers name what differs from the default
  $<$<BOOL:${EDGESAGE_WERROR}>:-Werror>)
# Reference results must not depend on whether a compiler fuses multiply and add; kernels choose
# for themselves.
target_compile_options(edgesage_options INTERFACE -ffp-contract=off)
if(EDGESAGE_SANITIZE)
  target_compile_options(edgesage_options INTERFACE -fsanitize=${EDGESAGE_SANITIZE}
    -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(edgesage_options INTERFACE -fsanitize=${EDGESAGE_SANITIZE})
endif()

# edgesage_layer(name SOURCES a.cc ... [DEPENDS layer ...] [LIBRARIES target ...])
# A layer `src/<name>`; DEPENDS are the layers it may include (see CONTRIBUTING.md; a test checks
# the includes themselves).
function(edgesage_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LIBRARIES" ${ARGN})
  add_library(edgesage_${name} STATIC ${ARG_SOURCES})
  target_include_directories(edgesage_${name} PUBLIC
    ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
  list(TRANSFORM ARG_DEPENDS PREPEND edgesage_)
  target_link_libraries(edgesage_${name}
    PUBLIC ${ARG_DEPENDS} tl::expected ${ARG_LIBRARIES}
    PRIVATE $<BUILD_INTERFACE:edgesage_options> fmt::fmt)
endfunction()

# edgesage_test(layer/name [LABELS ...] [LIBRARIES target ...]): tests/<layer>/<name>.cc against
# its layer.
function(edgesage_test path)
  cmake_parse_arguments(ARG "" "TIMEOUT" "LABELS;LIBRARIES" ${ARGN})
  get_filename_component(layer ${path} DIRECTORY)
  get_filename_component(name ${path} NAME)
  set(target test_${layer}_${name})
  add_executable(${target} ${PROJECT_SOURCE_DIR}/tests/${path}.cc)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_link_libraries(${target} PRIVATE edgesage_options edgesage_${layer} edgesage_test_support
    ${ARG_LIBRARIES} fmt::fmt GTest::gtest GTest::gtest_main)
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_test(NAME ${layer}/${name} COMMAND ${target})
  set_tests_properties(${layer}/${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT}
    SKIP_REGULAR_EXPRESSION "EDGESAGE_SKIP_ALL")
endfunction()
