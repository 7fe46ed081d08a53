skip_without_program <- function() skip_if_not(spoor_available(), "the program spoor is not installed")

# Waits until the tracker that writes `file` has taken two more samples: the first may have begun before this call.
wait_for_two_samples <- function(file) {
  before <- length(readLines(file))
  while (length(readLines(file)) < before + 2) Sys.sleep(0.01)
}
