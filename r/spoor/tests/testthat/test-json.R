test_that("values become lists and vectors", {
  expect_identical(read_json('{"a": [1, null, -2.5e3], "b": ["x"], "c": [], "d": null, "e": true}'),
                   list(a = c(1, NA, -2500), b = "x", c = list(), d = NULL, e = TRUE))
  expect_identical(read_json('"\\u00e9\\ud83d\\ude00\\n\\"\\/"'), "\u00e9\U1F600\n\"/")
  expect_length(read_json(paste0("[", paste(1:1000, collapse = ","), "]")), 1000)
})

test_that("invalid texts are errors", {
  for (text in c("", "{", "[1", "{\"a\" 1}", "tru", "\"a", "\"\\x\"", "\"\\u12\"", "1 2", strrep("[", 1000), "\"\\"))
    expect_error(read_json(text), "invalid JSON")
})

test_that("a report is read as jsonlite does", {
  skip_without_program()
  skip_if_not_installed("jsonlite")
  u <- spoor_track(spoor_phase("a phase", sum(1:10)), name = "quoted \"name\" \\ \u00e9")
  theirs <- jsonlite::fromJSON(u$json, simplifyDataFrame = FALSE, simplifyMatrix = FALSE)
  expect_equal(unlist(u$report), unlist(theirs))
  expect_identical(u$report$run$name, "quoted \"name\" \\ \u00e9")
})
