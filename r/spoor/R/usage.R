# SPDX-License-Identifier: Apache-2.0
# The result of a run: its report, as lists, as text and as JSON.

# `line` is an answer of the agent that ends with the report and the text.
make_usage <- function(report = NULL, text = NULL, line = NULL, reason = NULL, json = NULL) {
  if (!is.null(line)) {
    start <- regexpr("\"report\":", line, fixed = TRUE) + 9
    end <- gregexpr(",\"text\":\"", line, fixed = TRUE)[[1]]
    json <- substr(line, start, end[length(end)] - 1)
  }
  structure(list(value = NULL, report = report, text = text, json = json, reason = reason), class = "spoor_usage")
}

check_usage <- function(usage) {
  if (!inherits(usage, "spoor_usage")) fail("expected the result of spoor_track(), spoor_stop() or spoor_read()")
  if (is.null(usage$report)) fail(paste("no result:", usage$reason))
  usage
}

spoor_read <- function(file) {
  if (!file.exists(file)) fail(sprintf("'%s' does not exist", file), "ENOENT")
  json <- call_program(c("report", "--format=json", "--output=-", normalizePath(file)))
  make_usage(read_json(json), json = paste(json, collapse = "\n"))
}

print.spoor_usage <- function(x, ...) {
  if (is.null(x$report)) cat("no result: ", x$reason, "\n", sep = "")
  else cat(sub("\n*$", "\n", x$text %||% paste(call_program(
    c("report", "--format=text", "--output=-", "-"), x$json), collapse = "\n")))
  invisible(x)
}

# ---- figures ----

FIGURES <- list(
  elapsed_seconds = c("run", "elapsed_seconds"), cpu_seconds = c("cpu", "total_seconds"),
  mean_cores = c("cpu", "mean_cores"), max_cores = c("cpu", "max_cores"),
  peak_memory_bytes = c("memory", "combined", "total_rss_bytes"),
  peak_gpu_memory_bytes = c("gpu", "memory", "combined_bytes"), read_bytes = c("io", "read_bytes"),
  written_bytes = c("io", "written_bytes"), max_processes = c("processes", "max_concurrent"),
  started_processes = c("processes", "started"))

# Returns the part of a report at a path, as a data frame with one row.
get_figure <- function(report, path) {
  for (name in path) report <- report[[name]]
  if (!is.list(report)) report <- list(value = report, exact = TRUE)
  data.frame(value = report$value %||% NA_real_, low = report$low %||% NA_real_,
             high = report$high %||% NA_real_, exact = report$exact %||% FALSE,
             source = report$source %||% NA_character_)
}

summary.spoor_usage <- function(object, ...) {
  report <- check_usage(object)$report
  do.call(rbind, lapply(FIGURES, get_figure, report = report))
}

# ---- tables ----

as.data.frame.spoor_usage <- function(x, row.names = NULL, optional = FALSE, ...,
                                      what = c("curve", "phases", "processes")) {
  report <- check_usage(x)$report
  frame <- switch(match.arg(what), curve = curve_frame(report$curve), phases = phases_frame(report),
                  processes = processes_frame(report$processes$largest))
  if (!is.null(row.names)) row.names(frame) <- row.names
  frame
}

curve_frame <- function(curve) {
  columns <- list(seconds = as.numeric(curve$seconds))
  for (name in names(curve$columns)) {
    column <- curve$columns[[name]]
    columns[[name]] <- as.numeric(column$mean %||% column$high)
    for (bound in if (!is.null(column$low)) c("low", "high"))
      columns[[paste(name, bound, sep = "_")]] <- as.numeric(column[[bound]])
  }
  as.data.frame(columns)
}

read_time <- function(text) as.numeric(as.POSIXct(text, format = "%Y-%m-%dT%H:%M:%OSZ", tz = "UTC"))

phases_frame <- function(report) {
  start <- read_time(report$run$started_at)
  rows <- lapply(report$phases, function(phase) data.frame(
    name = phase$name, start_seconds = read_time(phase$started_at) - start,
    elapsed_seconds = phase$elapsed_seconds, cpu_seconds = get_figure(phase, c("cpu", "total_seconds"))$value,
    peak_memory_bytes = get_figure(phase, FIGURES$peak_memory_bytes)$value,
    peak_gpu_memory_bytes = get_figure(phase, FIGURES$peak_gpu_memory_bytes)$value))
  do.call(rbind, rows) %||% data.frame(
    name = character(), start_seconds = numeric(), elapsed_seconds = numeric(), cpu_seconds = numeric(),
    peak_memory_bytes = numeric(), peak_gpu_memory_bytes = numeric())
}

processes_frame <- function(processes)
  do.call(rbind, lapply(processes, function(process)
    as.data.frame(lapply(process, function(value) value %||% NA))))

# ---- files ----

spoor_report <- function(usage, file, open = FALSE) {
  words <- c("report", "--quiet", paste0("--output=", path.expand(file)))
  if (is.character(usage)) call_program(c(words, normalizePath(usage)))
  else call_program(c(words, "-"), check_usage(usage)$json)
  if (open) browseURL(paste0("file://", normalizePath(file)))
  invisible(file)
}

spoor_recommend <- function(usage, tool = NULL, ...) {
  words <- c("recommend", option_words(list(`for` = tool, ...)))
  input <- if (is.character(usage)) NULL else check_usage(usage)$json
  files <- if (is.character(usage)) normalizePath(usage) else "-"
  if (!is.null(tool)) return(structure(call_program(c(words, files), input), class = "spoor_text"))
  found <- read_json(call_program(c(words, "--format=json", files), input))$recommendation
  resources <- Filter(function(part) is.list(part) && "why" %in% names(part), found)
  do.call(rbind, lapply(resources, function(part)
    data.frame(value = part$value %||% NA_real_, guess = part$guess, why = part$why)))
}

# ---- commands ----

spoor_run <- function(command, interval = NULL, ...) {
  stopifnot(is.character(command), length(command) > 0)
  file <- tempfile("spoor-", fileext = ".json")
  on.exit(unlink(file))
  words <- c("run", "--quiet", paste0("--output=", file), option_words(list(interval = interval, ...)), "--", command)
  status <- system2(get_program(), shQuote(words))
  if (!file.exists(file)) fail(sprintf("the command was not run: spoor exited with code %d", status))
  usage <- spoor_read(file)
  usage$value <- status
  usage
}
