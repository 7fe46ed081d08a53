# SPDX-License-Identifier: Apache-2.0
# The knitr chunk option spoor=TRUE, which shows the usage of a chunk after the chunk.

chunk_hook <- function(before, options, envir) {
  if (before) {
    arguments <- if (is.list(options$spoor)) options$spoor
    state$chunk <- do.call(spoor_start, arguments %||% list())
    return(NULL)
  }
  usage <- spoor_stop(state$chunk)
  text <- paste0(options$comment, if (!is.null(options$comment)) " ", strsplit(
    usage$text %||% usage$reason, "\n", fixed = TRUE)[[1]], collapse = "\n")
  knitr::knit_hooks$get("output")(paste0(text, "\n"), options)
}

set_chunk_hook <- function(...) knitr::knit_hooks$set(spoor = chunk_hook)

.onLoad <- function(libname, pkgname) {
  if (isNamespaceLoaded("knitr")) set_chunk_hook()
  else setHook(packageEvent("knitr", "onLoad"), set_chunk_hook)
}

.onUnload <- function(libpath) {
  for (tracker in state$trackers) forget_tracker(tracker)
  library.dynam.unload("spoor", libpath)
}
