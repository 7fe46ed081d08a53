# SPDX-License-Identifier: Apache-2.0
# The program spoor: its path, its options, its failures, and calls of the program.

fail <- function(message, code = NA_character_, class = NULL)
  stop(structure(class = c(class, "spoor_error", "error", "condition"),
                 list(message = message, call = NULL, code = code)))

is_program <- function(path) file.access(path, 1L) == 0 && !dir.exists(path)

# Returns the path of the program, or "".
find_program <- function() {
  named <- c(getOption("spoor.program", ""), Sys.getenv("SPOOR_BIN"))
  named <- named[nzchar(named)]
  if (length(named)) return(if (is_program(named[1])) normalizePath(named[1]) else "")
  own <- system.file("bin", "spoor", package = "spoor")
  if (nzchar(own)) own else unname(Sys.which("spoor"))
}

spoor_available <- function() nzchar(find_program())

get_program <- function() {
  program <- find_program()
  if (!nzchar(program))
    fail(paste("the program 'spoor' is not installed: add it to PATH, or set",
               "options(spoor.program = \"/path/to/spoor\")"), "ENOENT")
  program
}

# Converts list(interval = 0.5, tag = c(a = "b"), no_clobber = TRUE) to words of a command line.
option_words <- function(options) {
  if (length(options) && (is.null(names(options)) || !all(nzchar(names(options)))))
    fail("options must be named, such as name = \"fit\"", "EINVAL")
  words <- lapply(names(options), function(name) {
    value <- options[[name]]
    option <- paste0("--", gsub("_", "-", name, fixed = TRUE))
    if (is.logical(value)) return(if (isTRUE(value)) option)
    if (is.null(value)) return(NULL)
    if (is.numeric(value)) value <- format(value, scientific = FALSE, trim = TRUE, digits = 9)
    if (!is.null(names(value))) value <- paste(names(value), value, sep = "=")
    if (name %in% c("output", "samples")) value <- path.expand(value)
    paste(option, enc2native(as.character(value)), sep = "=")
  })
  as.character(unlist(words))
}

# Runs the program and returns the lines that it writes.
call_program <- function(words, input = NULL) {
  errors <- tempfile("spoor-")
  on.exit(unlink(errors))
  lines <- suppressWarnings(system2(get_program(), shQuote(words), stdout = TRUE, stderr = errors, input = input))
  if (!is.null(attr(lines, "status"))) {
    reason <- paste(readLines(errors, warn = FALSE), collapse = "\n")
    fail(if (nzchar(reason)) sub("^spoor: ", "", reason) else "the program 'spoor' failed")
  }
  Encoding(lines) <- "UTF-8"
  lines
}

read_json <- function(text) .Call(C_spoor_json, paste(text, collapse = "\n"))

# Formats a JSON string.
quote_json <- function(text) {
  text <- gsub("([\"\\\\])", "\\\\\\1", enc2utf8(as.character(text)))
  paste0("\"", gsub("[[:cntrl:]]", " ", text), "\"")
}

# Converts a list of single values to JSON: a list with names becomes an object.
write_json <- function(value) {
  if (is.list(value)) {
    items <- vapply(value, write_json, "")
    if (is.null(names(value))) return(paste0("[", paste(items, collapse = ","), "]"))
    if (length(items)) items <- paste(quote_json(names(value)), items, sep = ":")
    return(paste0("{", paste(items, collapse = ","), "}"))
  }
  if (is.null(value) || is.na(value)) "null"
  else if (is.logical(value)) tolower(value)
  else if (is.numeric(value)) format(value, digits = 15, scientific = FALSE)
  else quote_json(value)
}

print.spoor_text <- function(x, ...) {
  cat(x, sep = "\n")
  invisible(x)
}
