# SPDX-License-Identifier: Apache-2.0
# ResourceTracker: the class of the package resource.tracker, based on the agent of the program resource-tracker. The
# agent writes the rows of both tables to temporary files, as 8-byte numbers.

# The columns of each table, with their titles.
COLUMNS <- list(
  process = c(timestamp = "Timestamp", pid = "PID", children = "children", utime = "CPU time (user)",
              stime = "CPU time (system)", cpu_usage = "CPU usage", memory_mib = "memory usage",
              disk_read_bytes = "disk read", disk_write_bytes = "disk write", gpu_usage = "GPU usage",
              gpu_vram_mib = "VRAM used", gpu_utilized = "GPUs in use"),
  system = c(timestamp = "Timestamp", processes = "processes", utime = "CPU time (user)",
             stime = "CPU time (system)", cpu_usage = "CPU usage", memory_free_mib = "free memory",
             memory_used_mib = "used memory", memory_buffers_mib = "memory buffers",
             memory_cached_mib = "memory page/file cached", memory_active_mib = "active memory",
             memory_inactive_mib = "inactive memory", disk_read_bytes = "disk read", disk_write_bytes = "disk write",
             disk_space_total_gb = "disk space total", disk_space_used_gb = "disk space used",
             disk_space_free_gb = "disk space free", net_recv_bytes = "inbound network traffic",
             net_sent_bytes = "outbound network traffic", gpu_usage = "GPU usage", gpu_vram_mib = "VRAM used",
             gpu_utilized = "GPUs in use"))
MIB <- 2^20
bytes_per_unit <- function(column) if (endsWith(column, "_mib")) MIB else if (endsWith(column, "_gb")) 1e9 else 1

# The figures of stats().
STATS <- list(process_cpu_usage = c("mean", "max"), process_memory_mib = c("mean", "max"),
              process_gpu_usage = c("mean", "max"), process_gpu_vram_mib = c("mean", "max"),
              process_gpu_utilized = c("mean", "max"), system_disk_space_used_gb = "max",
              system_net_recv_bytes = "sum", system_net_sent_bytes = "sum")

# A machine is shared if it uses more than the process, by this factor or amount: columns of both tables.
SHARED <- list(list("cpu_usage", "cpu_usage", 1.25, 0.25), list("memory_mib", "memory_used_mib", 1.5, 512),
               list("gpu_usage", "gpu_usage", 1.25, 0.2), list("gpu_vram_mib", "gpu_vram_mib", 1.25, 512))

lookup <- function(...) {
  agent <- open_agent(character(), name = "resource-tracker")
  on.exit(close_agent(agent))
  ask(agent, ...)
}

# Returns a server with the keys of the keeper. For a server from a CSV file, only some keys are known.
describe_server <- function(server)
  server$details %||% list(
    vendor_id = server$vendor, server_id = server$name, api_reference = server$name, region_id = server$region,
    cpu_architecture = server$architecture, vcpus = server$vcpus, memory_amount = server$memory_bytes / MIB,
    gpu_count = server$gpus, min_price_ondemand = server$price_usd_per_hour)

row_count <- function(path, table) file.size(path) %/% (8 * length(COLUMNS[[table]]))

read_rows <- function(path, table) {
  columns <- names(COLUMNS[[table]])
  count <- if (is.null(path)) 0 else row_count(path, table)
  cells <- if (count) readBin(path, "double", count * length(columns), endian = "little") else numeric()
  cells[is.nan(cells)] <- NA
  frame <- as.data.frame(matrix(cells, ncol = length(columns), byrow = TRUE, dimnames = list(NULL, columns)))
  frame$timestamp <- as.POSIXct(frame$timestamp, origin = "1970-01-01")
  frame
}

# Rows are weighted by their length, because the first and the last row are shorter than the others.
mean_of_rows <- function(values, times, start) {
  weights <- pmax(diff(c(as.numeric(start), as.numeric(times))), 0)
  if (!any(weights > 0)) weights[] <- 1
  known <- !is.na(values)
  if (any(known)) sum(values[known] * weights[known]) / sum(weights[known]) else NA_real_
}

guess_allocation <- function(process, system, start) {
  if (!nrow(process) || !nrow(system)) return("unknown")
  for (check in SHARED) {
    ours <- mean_of_rows(process[[check[[1]]]], process$timestamp, start)
    all <- mean_of_rows(system[[check[[2]]]], system$timestamp, start)
    if (isTRUE(all > ours * check[[3]] || all > ours + check[[4]])) return("shared")
  }
  "dedicated"
}

# ---- the page ----

# Converts {"cpu.total_seconds": x} to {"cpu": {"total_seconds": x}}.
nest <- function(figures) {
  parts <- lapply(names(figures), function(path)
    Reduce(function(value, name) structure(list(value), names = name),
           rev(strsplit(path, ".", fixed = TRUE)[[1]]), figures[[path]]))
  Reduce(utils::modifyList, parts, list())
}

format_time <- function(time) paste0(format(time, "%Y-%m-%dT%H:%M:%OS3", tz = "UTC"), "Z")

# The page of a tracker. The program creates it from facts, given as a JSON report, and the rows.
make_page <- function(facts, server, recommendation, figures, frame) {
  id <- paste(sprintf("%02x", sample.int(256, 16, replace = TRUE) - 1L), collapse = "")
  report <- c(list(
    schema = "spoor/1",
    run = list(id = id, name = NULL, tags = structure(list(), names = character()), command = list("R"),
               pid = facts$pid, host = Sys.info()[["nodename"]], user = NULL, cwd = NULL,
               started_at = format_time(facts$start), ended_at = format_time(facts$stop),
               elapsed_seconds = as.numeric(facts$stop) - as.numeric(facts$start), exit_code = NULL, signal = NULL,
               attached = TRUE, still_running = facts$running, interval_seconds = facts$interval,
               samples = nrow(frame), spoor_version = as.character(utils::packageVersion("spoor"))),
    host = list(os = server$os, kernel = NULL, cpu_model = server$cpu_model, cpus = server$vcpus,
                memory_bytes = if (!is.null(server)) round(server$memory_mib * MIB), gpus = list(),
                cloud = structure(list(), names = character())),
    context = list(integration = "R", status_failed = FALSE, allocation = server$allocation,
                   recommendation = recommendation)), nest(figures))
  rows <- cbind(run_id = id, elapsed_seconds = pmax(0, as.numeric(frame$timestamp) - as.numeric(facts$start)), frame)
  rows$timestamp <- as.numeric(rows$timestamp)
  if (identical(server$gpu_count, 0L)) rows <- rows[!grepl("gpu", names(rows), fixed = TRUE)]
  file <- tempfile("spoor-", fileext = ".csv")
  on.exit(unlink(file))
  utils::write.csv(rows, file, row.names = FALSE, na = "", quote = FALSE)
  page <- paste(call_program(c("report", "--format=html", "--output=-", "-", file), write_json(report)),
                collapse = "\n")
  # As text, the page begins as the predecessor's page does; save() writes it with its first line.
  page <- sub("^<!doctype html>\\s*<html[^>]*>", "<html><!-- from <code>R</code> -->", page)
  structure(list(text = page, save = function(path) {
    writeLines(c("<!doctype html>", page), path, useBytes = TRUE)
    invisible(path)
  }, browse = function() {
    path <- tempfile("spoor-", fileext = ".html")
    writeLines(c("<!doctype html>", page), path, useBytes = TRUE)
    browseURL(paste0("file://", path))
  }), class = "spoor_page")
}

as.character.spoor_page <- function(x, ...) x$text

print.spoor_page <- function(x, ...) {
  cat(sprintf("<page of %d characters: $save(path), $browse(), as.character()>\n", nchar(x$text)))
  invisible(x)
}

# ---- the class ----

utils::globalVariables(c("self", "private")) # of R6

tracker_class <- function() R6::R6Class("ResourceTracker", cloneable = FALSE,
  public = list(
    initialize = function(pid = Sys.getpid(), children = TRUE, interval = 1, autostart = TRUE, track_processes = TRUE,
                          track_system = TRUE, discover_server = TRUE, discover_cloud = TRUE) {
      private$.pid <- as.integer(pid)
      private$children <- children
      private$interval <- interval
      private$tables <- c("process", "system")[c(track_processes, track_system)]
      private$discovers <- list(server = discover_server, cloud = discover_cloud)
      if (autostart) self$start()
    },
    start = function() {
      if (!is.null(private$stop_time))
        stop("Resource tracker already stopped. Create a new instance instead of trying to restart it.")
      if (self$running) stop("Resource tracker already running, cannot start again.")
      for (table in private$tables) private$rows[[table]] <- tempfile(paste0("spoor-", table, "-"), fileext = ".f64")
      options <- list(interval = private$interval, process_rows = private$rows$process,
                      system_rows = private$rows$system)
      if ("process" %in% private$tables)
        options <- c(options, pid = private$.pid, no_children = !private$children)
      start_time <- Sys.time()
      private$agent <- open_agent(option_words(options), name = "resource-tracker")
      private$start_time <- start_time
      invisible(self)
    },
    stop = function() {
      if (!self$running) return(invisible(self))
      answer <- try_asking(private$agent, "stop")
      private$stop_time <- Sys.time()
      private$figures <- answer$figures
      close_agent(private$agent)
      for (missing in answer$warnings) warning("rows are missing: ", missing, call. = FALSE)
      invisible(self)
    },
    wait_for_samples = function(n = 1, timeout = 5) {
      deadline <- Sys.time() + timeout
      while (self$n_samples < n) {
        if (!self$running)
          stop(sprintf(paste("Resource tracker has been already stopped with %d sample(s), cannot wait to collect",
                             "the requested %d sample(s)."), self$n_samples, as.integer(n)))
        if (Sys.time() > deadline)
          stop(sprintf("Timed out waiting for resource tracker to collect %d samples", as.integer(n)))
        Sys.sleep(min(private$interval / 10, 0.1))
      }
      invisible(self)
    },
    get_combined_metrics = function(bytes = FALSE, human_names = FALSE, system_prefix = NULL, process_prefix = NULL) {
      frames <- list(system = self$system_metrics, process = self$process_metrics)[rev(private$tables)]
      times <- Reduce(intersect, lapply(frames, function(frame) as.numeric(frame$timestamp)))
      parts <- lapply(names(frames), function(table) {
        frame <- frames[[table]][match(times, as.numeric(frames[[table]]$timestamp)), ]
        if (bytes) frame[-1] <- Map(function(column, name) column * bytes_per_unit(name), frame[-1], names(frame)[-1])
        prefix <- list(system = system_prefix, process = process_prefix)[[table]] %||%
          paste0(if (human_names) sub("^(.)", "\\U\\1", table, perl = TRUE) else table, if (human_names) " " else "_")
        titles <- if (human_names) COLUMNS[[table]] else names(frame)
        names(frame) <- c(titles[1], paste0(prefix, titles[-1]))
        frame
      })
      frame <- do.call(cbind, c(parts[1], lapply(parts[-1], `[`, -1)))
      row.names(frame) <- NULL
      frame
    },
    stats = function() {
      if (self$n_samples == 0) stop("No metrics collected (yet)")
      frame <- self$get_combined_metrics()
      results <- list()
      for (column in intersect(names(STATS), names(frame))) for (name in STATS[[column]]) {
        known <- frame[[column]][!is.na(frame[[column]])]
        results[[column]][[name]] <- switch(name,
          mean = round(mean_of_rows(frame[[column]], frame$timestamp, private$start_time), 2),
          max = if (length(known)) round(max(known), 2) else NA_real_, sum = sum(known))
      }
      results$timestamp$duration <- round(as.numeric(max(frame$timestamp)) - as.numeric(private$start_time), 3)
      results
    },
    recommend_resources = function() {
      found <- private$recommend()
      list(cpu = found$cpus$value, memory = round(found$memory_bytes$value / MIB), gpu = found$gpus$value,
           vram = round((found$vram_bytes$value %||% 0) / MIB))
    },
    recommend_server = function(vendor_id = NULL, cpu_architecture = NULL, catalog = NULL) {
      need <- self$recommend_resources()
      request <- list(cpus = need$cpu, memory_mib = need$memory, gpus = need$gpu, vram_mib = need$vram, count = 1,
                      vendors = as.list(vendor_id), architecture = cpu_architecture)
      if (!is.null(catalog)) request$catalog <- normalizePath(catalog)
      servers <- lookup("servers", write_json(request))$servers$fitting
      if (!length(servers)) stop("no server fits")
      describe_server(servers[[1]])
    },
    report = function() {
      private$wait_for_first()
      facts <- list(pid = private$.pid, start = private$start_time, stop = private$stop_time %||% Sys.time(),
                    running = self$running, interval = private$interval)
      if (self$running) private$figures <- try_asking(private$agent, "figures")$figures
      make_page(facts, self$server_info, if ("process" %in% private$tables) private$recommend(), private$figures,
                self$get_combined_metrics())
    }),
  active = list(
    running = function() !is.null(private$start_time) && is.null(private$stop_time),
    pid = function() private$.pid,
    n_samples = function()
      if (length(private$rows)) as.integer(min(unlist(Map(row_count, private$rows, names(private$rows))))) else 0L,
    process_metrics = function() read_rows(private$rows$process, "process"),
    system_metrics = function() read_rows(private$rows$system, "system"),
    server_info = function() {
      if (!private$discovers$server) return(NULL)
      if (is.null(private$server)) private$server <- lookup("server")$machine
      host <- private$server$host
      gpus <- vapply(host$gpus, function(gpu) gpu$name %||% "", "")
      memory <- vapply(host$gpus, function(gpu) gpu$memory_bytes %||% 0, 0)
      c(list(allocation = guess_allocation(self$process_metrics, self$system_metrics, private$start_time),
             os = Sys.info()[["sysname"]], vcpus = host$cpus, memory_mib = round(host$memory_bytes / MIB, 2),
             gpu_count = length(gpus), gpu_names = gpus,
             gpu_name = if (length(gpus)) names(which.max(table(gpus))) else "",
             gpu_memory_mib = round(sum(memory) / MIB, 2), cpu_model = host$cpu_model), private$server$server)
    },
    cloud_info = function() {
      if (!private$discovers$cloud) return(NULL)
      if (is.null(private$cloud)) private$cloud <- lookup("cloud")
      found <- private$cloud[c("vendor", "instance_type", "region")]
      c(lapply(found, function(fact) fact %||% "unknown"), discovery_time = private$cloud$seconds)
    }),
  private = list(
    .pid = NULL, children = TRUE, interval = 1, tables = NULL, discovers = NULL, agent = NULL, start_time = NULL,
    stop_time = NULL, rows = list(), figures = NULL, server = NULL, cloud = NULL,
    wait_for_first = function() if (self$running) self$wait_for_samples(1, max(5, 5 * private$interval)),
    # The program computes it with the formulas of resource-tracker, which include peaks between two rows.
    recommend = function() {
      private$wait_for_first()
      stats <- self$stats()
      if (is.null(stats$process_memory_mib)) stop("there are no metrics of a process to recommend resources by")
      if (self$running) private$figures <- try_asking(private$agent, "figures")$figures
      peak <- max(stats$process_memory_mib$max * MIB,
                  private$figures[["memory.combined.total_rss_bytes"]]$value, na.rm = TRUE)
      used <- c(stats$process_cpu_usage$mean, peak, stats$process_gpu_usage$mean, stats$process_gpu_usage$max,
                stats$process_gpu_vram_mib$max * MIB, stats$timestamp$duration, 1)
      agent <- open_agent(character(), name = "resource-tracker")
      on.exit(close_agent(agent))
      words <- ifelse(is.na(used), "", format(used, digits = 15, trim = TRUE, scientific = FALSE))
      do.call(ask, c(list(agent, "recommend"), as.list(words)))$recommendation
    },
    finalize = function() {
      if (!is.null(private$agent)) close_agent(private$agent)
      unlink(unlist(private$rows))
    }))

# A class generator that needs the package R6 only when it is used.
ResourceTracker <- list(new = function(...) {
  if (!requireNamespace("R6", quietly = TRUE)) stop("ResourceTracker needs the package 'R6'")
  if (is.null(state$class)) state$class <- tracker_class()
  state$class$new(...)
})
