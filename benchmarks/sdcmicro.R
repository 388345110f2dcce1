# Run the MDAV of the R package sdcMicro once. benchmarks/microaggregation.py starts this file.
# Run: Rscript sdcmicro.R FOLDER K
given <- commandArgs(trailingOnly = TRUE)
suppressPackageStartupMessages(library(sdcMicro))
rows <- read.csv(file.path(given[1], "rows.csv"))
began <- proc.time()
released <- microaggregation(rows, method = "mdav", aggr = as.integer(given[2]))$mx
spent <- proc.time() - began
write.csv(released, file.path(given[1], "released.csv"), row.names = FALSE)
cat(sprintf('{"cpu": %f}', spent[["user.self"]] + spent[["sys.self"]]), file = file.path(given[1], "run.json"))
