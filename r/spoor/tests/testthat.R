library(testthat)
library(spoor)
test_check("spoor")
