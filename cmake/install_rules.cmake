# `cmake --install build --prefix DIR`: the command line, its workers, and what they read at run time.
# The Python runtimes are installed by the user into share/edgesage/.venv from requirements.lock.
install(TARGETS edgesage RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS edgesage_worker_litert RUNTIME DESTINATION libexec/edgesage)
install(DIRECTORY devices predictors DESTINATION ${CMAKE_INSTALL_DATADIR}/edgesage)
install(DIRECTORY workers DESTINATION ${CMAKE_INSTALL_DATADIR}/edgesage
  FILES_MATCHING PATTERN "*.py" PATTERN "__pycache__" EXCLUDE PATTERN "litert" EXCLUDE)
install(FILES requirements.lock DESTINATION ${CMAKE_INSTALL_DATADIR}/edgesage)
install(FILES README.md LICENSE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY schemas DESTINATION ${CMAKE_INSTALL_DATADIR}/edgesage FILES_MATCHING PATTERN "*.json")
# Man pages and completion are made by the program itself.
if(NOT CMAKE_CROSSCOMPILING)
  install(CODE "
    set(share \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}\")
    set(program \"$<TARGET_FILE:edgesage>\")
    file(MAKE_DIRECTORY \"\${share}/bash-completion/completions\" \"\${share}/zsh/site-functions\"
      \"\${share}/fish/vendor_completions.d\")
    foreach(arguments \"man;--write;\${share}/man/man1\"
        \"completion;bash;-o;\${share}/bash-completion/completions/edgesage\"
        \"completion;zsh;-o;\${share}/zsh/site-functions/_edgesage\"
        \"completion;fish;-o;\${share}/fish/vendor_completions.d/edgesage.fish\")
      execute_process(COMMAND \"\${program}\" \${arguments} COMMAND_ERROR_IS_FATAL ANY)
    endforeach()")
endif()
