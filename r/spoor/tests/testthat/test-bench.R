test_that("expressions are compared", {
  skip_without_program()
  small <- 1e6
  result <- spoor_bench(small = numeric(small), numeric(2e6), runs = 2)
  expect_identical(result$command, rep(c("small", "numeric(2e+06)"), 3))
  expect_identical(result$figure, rep(c("time", "cpu", "memory"), each = 2))
  expect_equal(result$median[result$figure == "memory"], c(8e6, 16e6), tolerance = 0.05)
  expect_error(spoor_bench(), "no expression")
})

test_that("the garbage collection around an expression does not count", {
  skip_without_program()
  collection <- sum(system.time(release_memory())[1:2])
  result <- spoor_bench(NULL, runs = 2)
  expect_lt(result$median[result$figure == "cpu"], collection / 2)
})

test_that("the interval of the median is by ranks", {
  expect_identical(unlist(summarize_runs("time", "x", c(6, 1, 5, 2, 4, 3))[c("median", "low", "high")]),
                   c(median = 3.5, low = 1, high = 6))
  expect_identical(summarize_runs("time", "x", 1:5)$low, NA_real_)
})

test_that("commands are compared", {
  skip_without_program()
  result <- spoor_bench(commands = list(one = "true", two = c("sh", "-c", ":")), runs = 2)
  expect_identical(unique(result$command), c("one", "two"))
  expect_true(all(result$failed == 0))
})

test_that("peak_ram has the columns of peakRAM", {
  skip_without_program()
  result <- peak_ram(numeric(5e6), function() sum(numeric(5e6)))
  expect_identical(names(result), c("Function_Call", "Elapsed_Time_sec", "Total_RAM_Used_MiB", "Peak_RAM_Used_MiB"))
  expect_identical(result$Function_Call, c("numeric(5e+06)", "function()sum(numeric(5e+06))"))
  expect_equal(result$Peak_RAM_Used_MiB, c(38.1, 38.1), tolerance = 0.05)
  expect_equal(result$Total_RAM_Used_MiB[1], 38.1, tolerance = 0.05)
  expect_lt(result$Total_RAM_Used_MiB[2], 4)
})
