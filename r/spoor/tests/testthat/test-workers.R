# Returns the private memory of this process in bytes, by the kernel's count.
own_bytes <- function() {
  lines <- grep("^Private_", readLines("/proc/self/smaps_rollup"), value = TRUE)
  1024 * sum(as.numeric(gsub("\\D", "", lines)))
}

# A worker with 200 MB: R memory that the worker has copied, and a vector. It waits for the other workers and a sample.
work <- function(i, folder, samples) {
  gc()
  x <- numeric((200e6 - own_bytes()) / 8)
  file.create(file.path(folder, i))
  while (length(list.files(folder)) < 2) Sys.sleep(0.01)
  wait_for_two_samples(samples)
  length(x)
}

test_that("two workers of 200 MB are 400 MB, where gc() reports nothing of them", {
  skip_without_program()
  folder <- tempfile()
  dir.create(folder)
  samples <- tempfile(fileext = ".csv")
  release_memory() # memory left by other tests
  u <- spoor_track({
    before <- spoor_snapshot()[["job_rss_bytes"]]
    gc(reset = TRUE)
    parallel::mclapply(1:2, work, folder, samples, mc.cores = 2)
    seen_by_r <- sum(gc()[, 6]) # in MB; peakRAM measures it this way
  }, interval = 0.05, detail = "always", samples = samples)
  grown <- summary(u)["peak_memory_bytes", "value"] - before
  expect_gt(grown, 380e6)
  expect_lt(grown, 420e6)
  expect_lt(seen_by_r, 200)
  unlink(c(folder, samples), recursive = TRUE)
})

test_that("workers of a cluster and their CPU time count", {
  skip_without_program()
  u <- spoor_track({
    cluster <- parallel::makePSOCKcluster(2)
    used <- parallel::parSapply(cluster, 1:2, function(i) {
      while (sum(proc.time()[1:2]) < 0.5) sum(runif(1e4))
      sum(proc.time()[1:2])
    })
    parallel::stopCluster(cluster)
  })
  expect_gte(u$report$cpu$descendants$mean_cores$value * u$report$run$elapsed_seconds, 0.95 * sum(used))
})

test_that("a fork leaves the tracker to its parent", {
  skip_without_program()
  u <- spoor_track({
    job <- parallel::mcparallel(list(current_tracker(), tryCatch(spoor_stop(), error = identity),
                                     spoor_track(7)$value))
    parallel::mccollect(job)[[1]]
  })
  expect_null(u$value[[1]])
  expect_match(conditionMessage(u$value[[2]]), "no tracker is running")
  expect_identical(u$value[[3]], 7)
  expect_gt(u$report$run$elapsed_seconds, 0)
})
