test_that("a chunk with spoor=TRUE shows its usage", {
  skip_without_program()
  skip_if_not_installed("knitr")
  text <- c("```{r, spoor=TRUE}", "spoor_phase('part', 6 * 7)", "```", "", "```{r}", "1", "```")
  output <- knitr::knit(text = text, quiet = TRUE)
  expect_match(output, "## [1] 42", fixed = TRUE)
  expect_length(gregexpr("## Elapsed", output, fixed = TRUE)[[1]], 1) # only for the first chunk
  expect_match(output, "##   part", fixed = TRUE)
  expect_null(current_tracker())
})
