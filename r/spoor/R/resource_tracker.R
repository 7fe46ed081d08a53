ResourceTracker <- NULL
