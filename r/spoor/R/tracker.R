# SPDX-License-Identifier: Apache-2.0
# Trackers: an agent of the program, controlled by lines of JSON. See spoor-agent(1).

PROTOCOL <- 2
MOST_SECONDS <- 30 # how long an agent may take to answer

state <- new.env(parent = emptyenv())
state$trackers <- list() # running trackers, the newest last

# ---- agents ----

open_agent <- function(words, name = "spoor") {
  program <- get_program()
  agent <- new.env(parent = emptyenv())
  agent$last_id <- 0
  agent$owner <- Sys.getpid()
  agent$pointer <- .Call(C_spoor_open, program, c(name, "agent", words))
  is_ready <- FALSE
  on.exit(if (!is_ready) close_agent(agent))
  ready <- read_answer(agent, NULL)
  if (!identical(ready$protocol, PROTOCOL))
    fail(sprintf("'%s' and the R package are of different versions: install the same version of both", program))
  agent$pid <- ready$pid
  is_ready <- TRUE
  agent
}

close_agent <- function(agent) .Call(C_spoor_close, agent$pointer)

# Returns the answer to a request. Earlier answers belong to interrupted requests.
read_answer <- function(agent, id) {
  repeat {
    line <- .Call(C_spoor_receive, agent$pointer, MOST_SECONDS)
    if (is.null(line)) fail("the tracker ended unexpectedly", class = "spoor_ended")
    if (is.na(line)) fail("the tracker does not respond", class = "spoor_ended")
    answer <- read_json(line)
    if (identical(answer$id, id) || (is.null(answer$id) && identical(answer$event, "error"))) break
  }
  if (identical(answer$event, "error")) fail(answer$message, answer$code)
  answer$line <- line
  answer
}

ask <- function(agent, op, ...) {
  if (agent$owner != Sys.getpid()) fail("the tracker belongs to the process that started it")
  agent$last_id <- agent$last_id + 1
  arguments <- vapply(list(...), quote_json, "")
  # The newline in front ends an interrupted request.
  request <- sprintf("\n{\"id\":%d,\"op\":%s,\"arguments\":[%s]}\n", agent$last_id, quote_json(op),
                     paste(arguments, collapse = ","))
  if (!.Call(C_spoor_send, agent$pointer, request))
    fail("the tracker ended unexpectedly", class = "spoor_ended")
  read_answer(agent, agent$last_id)
}

# Once tracking has started, a failure of the tracker is only a warning and does not stop the user's code.
try_asking <- function(agent, op, ...)
  tryCatch(ask(agent, op, ...), error = function(error) {
    warning("tracking: ", conditionMessage(error), call. = FALSE)
    list(reason = conditionMessage(error))
  })

# ---- trackers ----

# A forked worker copies the memory of R when its garbage collector runs. Resident sizes do not show that, so the
# tracker may spend more than by default on reading which memory is shared.
spoor_start <- function(interval = NULL, pid = Sys.getpid(), budget = 5, ...) {
  words <- option_words(list(pid = as.integer(pid), interval = interval, budget = budget, ...))
  tracker <- structure(new.env(parent = emptyenv()), class = "spoor_tracker")
  tracker$pid <- as.integer(pid)
  tracker$agent <- open_agent(words)
  state$trackers <- c(state$trackers, tracker)
  tracker
}

is_running <- function(tracker) !is.null(tracker$agent) && is.null(tracker$usage)

# Returns the tracker that was started last in this process.
current_tracker <- function() {
  for (tracker in rev(state$trackers)) if (tracker$agent$owner == Sys.getpid()) return(tracker)
}

forget_tracker <- function(tracker) {
  state$trackers <- Filter(function(other) !identical(other, tracker), state$trackers)
  close_agent(tracker$agent)
}

spoor_stop <- function(tracker = current_tracker()) {
  if (is.null(tracker)) fail("no tracker is running")
  stopifnot(inherits(tracker, "spoor_tracker"))
  if (!is_running(tracker)) return(tracker$usage)
  answer <- try_asking(tracker$agent, "stop")
  tracker$usage <- if (is.null(answer$report)) make_usage(reason = answer$reason %||% "nothing was tracked")
    else make_usage(answer$report, answer$text, answer$line)
  forget_tracker(tracker)
  for (warned in tracker$usage$report$warnings)
    if (warned$code == "output") warning(warned$message, call. = FALSE)
  tracker$usage
}

spoor_track <- function(expr, interval = NULL, ...) {
  tracker <- spoor_start(interval, ...)
  on.exit(forget_tracker(tracker)) # after an error the agent writes its files and exits
  value <- expr
  usage <- spoor_stop(tracker)
  usage["value"] <- list(value)
  usage
}

spoor_snapshot <- function(tracker = current_tracker()) {
  agent <- if (is.null(tracker)) open_agent(option_words(list(pid = Sys.getpid(), detail = "always")))
    else tracker$agent
  if (is.null(tracker)) on.exit(close_agent(agent))
  vapply(ask(agent, "snapshot")$metrics, function(value) value %||% NA_real_, 0)
}

print.spoor_tracker <- function(x, ...) {
  cat(sprintf("<spoor tracker of process %d, %s>\n", x$pid, if (is_running(x)) "running" else "stopped"))
  invisible(x)
}

# ---- phases ----

spoor_phase <- function(name, expr, tracker = current_tracker()) {
  stopifnot(is.character(name), length(name) == 1, !is.na(name))
  if (grepl("\n", name, fixed = TRUE)) fail("a phase name must be one line", "EINVAL")
  mark_phase(tracker, "start", name)
  owner <- Sys.getpid()
  on.exit(if (owner == Sys.getpid()) mark_phase(tracker, "stop", name))
  expr
}

mark_phase <- function(tracker, word, name) {
  if (!is.null(tracker) && is_running(tracker)) try_asking(tracker$agent, paste0("phase-", word), name)
  else if (is_in_run())
    # The row that this also writes is for other tools.
    system2(find_program(), shQuote(c("phase", "-q", paste0("--file=", file.path(tempdir(), "phases.csv")),
                                      word, name)), stdout = FALSE, stderr = FALSE)
}

# Returns whether this process is part of a `spoor run`.
is_in_run <- function() {
  if (!identical(state$owner, Sys.getpid())) {
    state$owner <- pid <- Sys.getpid()
    state$is_in_run <- FALSE
    while (pid > 1 && !state$is_in_run) {
      status <- tryCatch(readLines(sprintf("/proc/%d/status", pid), n = 10, warn = FALSE),
                         error = function(error) "PPid:\t0", warning = function(warning) "PPid:\t0")
      state$is_in_run <- "Name:\tspoor" %in% status
      pid <- as.integer(sub("PPid:\t", "", grep("^PPid:", status, value = TRUE)))
    }
  }
  state$is_in_run && spoor_available()
}

`%||%` <- function(value, other) if (is.null(value)) other else value
