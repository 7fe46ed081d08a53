# SPDX-License-Identifier: Apache-2.0
# Plots the curves of a run in base graphics.

COLORS <- c(job = "#0072B2", host = "#999999", phase = "#E69F00")

# Converts values to a readable unit; returns the values and the name of the unit.
scale_bytes <- function(most) {
  power <- if (is.finite(most) && most > 0) min(4, floor(log(most, 1000))) else 0
  list(by = 1000^power, name = c("B", "kB", "MB", "GB", "TB")[power + 1])
}

draw_panel <- function(times, values, label, most, phases, scale = 1) {
  values <- values / scale
  most <- max(values, most / scale, 1e-9, na.rm = TRUE)
  plot.new()
  plot.window(range(times), c(0, 1.1 * most), xaxs = "i", yaxs = "i")
  if (nrow(phases))
    rect(phases$start_seconds, 0, phases$start_seconds + phases$elapsed_seconds, 1.1 * most, border = NA,
         col = c(adjustcolor(COLORS[["phase"]], 0.12), adjustcolor(COLORS[["phase"]], 0.25)))
  segments(times[1], pretty(c(0, most)), max(times), pretty(c(0, most)), col = "#DDDDDD")
  known <- !is.na(values)
  if (any(known)) {
    polygon(c(times[known][1], times[known], rev(times[known])[1]), c(0, values[known], 0), border = NA,
            col = adjustcolor(COLORS[["job"]], 0.25))
    lines(times[known], values[known], col = COLORS[["job"]], lwd = 2)
  }
  axis(1, col = NA, col.ticks = "#888888")
  axis(2, las = 1, col = NA, col.ticks = "#888888")
  title(label, adj = 0, line = 0.4, cex.main = 1, font.main = 1)
}

# The panels of a run: its curve, a title, and the peak.
plot_panels <- function(usage) {
  frame <- as.data.frame(usage)
  peak <- function(path) get_figure(usage$report, path)$value
  panels <- list(list(column = "job_cpu_seconds", label = "CPU [cores]", most = 1, bytes = FALSE),
                 list(column = "job_rss_bytes", label = "Memory of all processes [%s]",
                      most = peak(FIGURES$peak_memory_bytes), bytes = TRUE),
                 list(column = "job_gpu_memory_bytes", label = "GPU memory [%s]",
                      most = peak(FIGURES$peak_gpu_memory_bytes), bytes = TRUE),
                 list(column = "job_gpu_utilization_gpus", label = "GPU utilization [GPUs]", most = 1, bytes = FALSE))
  Filter(function(panel) any(!is.na(frame[[panel$column]])), panels)
}

plot.spoor_usage <- function(x, main = NULL, ...) {
  check_usage(x)
  frame <- as.data.frame(x)
  phases <- as.data.frame(x, what = "phases")
  panels <- plot_panels(x)
  if (!length(panels)) fail("the run was too short: it has no curve")
  old <- par(mfrow = c(length(panels), 1), mar = c(2, 4, 2, 1), oma = c(1.5, 0, if (is.null(main)) 1 else 2.5, 0),
             mgp = c(2.5, 0.7, 0), tcl = -0.3)
  on.exit(par(old))
  for (panel in panels) {
    values <- frame[[panel$column]]
    unit <- if (panel$bytes) scale_bytes(max(values, panel$most, na.rm = TRUE)) else list(by = 1, name = "")
    draw_panel(frame$seconds, values, sub("%s", unit$name, panel$label, fixed = TRUE), panel$most, phases, unit$by)
    if (identical(panel, panels[[1]])) {
      named <- phases[strwidth(phases$name) < phases$elapsed_seconds, ] # other names would overlap
      if (nrow(named))
        text(named$start_seconds + named$elapsed_seconds / 2, par("usr")[4], named$name, pos = 1, offset = 0.3)
    }
  }
  title(xlab = "Seconds", outer = TRUE, line = 0.3)
  if (!is.null(main)) title(main, outer = TRUE, line = 1)
  invisible(x)
}
