# SPDX-License-Identifier: Apache-2.0
# Compares expressions and commands.

# Measures an expression: seconds, CPU seconds, and memory at its peak and after it, in bytes above that at its start.
# Returns free memory to the system first: an expression that reused it would seem to need none.
measure_growth <- function(expr) {
  release_memory()
  tracker <- spoor_start(detail = "always")
  on.exit(forget_tracker(tracker))
  before <- spoor_snapshot(tracker)
  start <- as.numeric(Sys.time())
  expr
  seconds <- as.numeric(Sys.time()) - start
  after <- spoor_snapshot(tracker)
  release_memory()
  kept <- spoor_snapshot(tracker)[["job_rss_bytes"]] - before[["job_rss_bytes"]]
  peak <- get_figure(check_usage(spoor_stop(tracker))$report, FIGURES$peak_memory_bytes)$value
  list(time = seconds, cpu = after[["job_cpu_seconds"]] - before[["job_cpu_seconds"]],
       memory = max(0, peak - before[["job_rss_bytes"]]), kept = kept)
}

release_memory <- function() {
  for (i in 1:2) gc(full = TRUE) # the second run frees pages that the first run has emptied
  .Call(C_spoor_trim)
}

label_call <- function(call) paste(deparse(call, width.cutoff = 500), collapse = " ")

peak_ram <- function(...) {
  calls <- as.list(substitute(list(...)))[-1]
  if (!length(calls)) fail("there is no expression to measure")
  caller <- parent.frame()
  rows <- lapply(calls, function(call) {
    used <- measure_growth({
      value <- eval(call, caller)
      if (is.function(value)) value <- value()
    })
    data.frame(Function_Call = gsub(" ", "", label_call(call), fixed = TRUE), Elapsed_Time_sec = round(used$time, 3),
               Total_RAM_Used_MiB = round(used$kept / 2^20, 1), Peak_RAM_Used_MiB = round(used$memory / 2^20, 1))
  })
  do.call(rbind, c(unname(rows), stringsAsFactors = FALSE))
}

# The columns of `spoor bench`. low and high are the 95 % confidence interval of the median, derived from ranks.
summarize_runs <- function(figure, command, values) {
  values <- sort(values)
  count <- length(values)
  rank <- qbinom(0.025, count, 0.5)
  bounds <- if (rank > 0) values[c(rank, count - rank + 1)] else c(NA_real_, NA_real_)
  data.frame(figure = figure, command = command, median = median(values), low = bounds[1], high = bounds[2],
             min = values[1], max = values[count], mean = mean(values), runs = count)
}

spoor_bench <- function(..., runs = 10L, commands = NULL) {
  calls <- as.list(substitute(list(...)))[-1]
  if (!is.null(commands)) return(bench_commands(commands, runs))
  if (!length(calls)) fail("there is no expression to measure")
  labels <- vapply(calls, label_call, "")
  if (!is.null(names(calls))) labels <- ifelse(nzchar(names(calls)), names(calls), labels)
  caller <- parent.frame()
  used <- lapply(rep(seq_along(calls), runs), function(i) # the expressions take turns
    c(unlist(measure_growth(eval(calls[[i]], caller))), command = i))
  used <- as.data.frame(do.call(rbind, used))
  do.call(rbind, unlist(lapply(c("time", "cpu", "memory"), function(figure)
    lapply(seq_along(calls), function(i)
      summarize_runs(figure, labels[i], used[[figure]][used$command == i]))), recursive = FALSE))
}

bench_commands <- function(commands, runs) {
  if (!is.list(commands)) commands <- list(commands)
  labels <- names(commands) %||% vapply(commands, paste, "", collapse = " ")
  words <- unlist(lapply(seq_along(commands), function(i) c(if (i > 1) "--vs", commands[[i]])))
  lines <- call_program(c("bench", "--quiet", "--format=csv", paste0("--runs=", runs), paste0("--name=", labels), "--",
                          words))
  read.csv(text = lines)
}
