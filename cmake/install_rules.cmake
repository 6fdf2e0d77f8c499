# `cmake --install build --prefix DIR`: the command line, its workers, and what they read at run time.
# The Python runtimes are installed by the user into share/edgesage/.venv from requirements.lock.
install(TARGETS edgesage RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS edgesage_worker_litert RUNTIME DESTINATION libexec/edgesage)
install(DIRECTORY devices predictors DESTINATION ${CMAKE_INSTALL_DATADIR}/edgesage)
install(DIRECTORY workers DESTINATION ${CMAKE_INSTALL_DATADIR}/edgesage
  FILES_MATCHING PATTERN "*.py" PATTERN "__pycache__" EXCLUDE PATTERN "litert" EXCLUDE)
install(FILES requirements.lock DESTINATION ${CMAKE_INSTALL_DATADIR}/edgesage)
install(FILES README.md LICENSE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
