#!/usr/bin/env Rscript
# An evaluator in R, with jsonlite: which share of the words the candidate and the example's `target` have in common.
#
# echo '{"candidate":"hello Ada","example":{"target":"Hello, dear Ada!"}}' | Rscript word_share.R

# A word is letters and digits in a row; only A to Z are made small.
words <- function(text) {
  code <- utf8ToInt(enc2utf8(text))
  capital <- code >= 65 & code <= 90
  code[capital] <- code[capital] + 32L
  code[!(code >= 128 | (code >= 97 & code <= 122) | (code >= 48 & code <= 57))] <- 32L
  found <- strsplit(intToUtf8(code), " ", fixed = TRUE)[[1]]
  found[found != ""]
}

# Change this: answer a score from 0 to 1 and whatever explains it, or an error, or a skip.
judge <- function(candidate, example) {
  target <- example[["target"]]
  wanted <- if (is.character(target)) words(target) else character()
  if (length(wanted) == 0) {
    return(list(error = "the example needs a target, a text with a word in it"))
  }
  said <- words(candidate)
  found <- sum(wanted %in% said)
  longer <- max(length(wanted), length(said)) # whoever says more than is wanted scores less
  all_digits <- structure(sprintf("%.17g", found / longer), class = "json") # jsonlite would write 15
  list(score = all_digits, found = found, words = longer)
}

input <- file("stdin", "r")
while (length(line <- readLines(input, 1, warn = FALSE, encoding = "UTF-8")) > 0) {
  while (!jsonlite::validate(line)) { # R also ends lines at a bare CR, which may stand inside a payload
    more <- readLines(input, 1, warn = FALSE, encoding = "UTF-8")
    if (length(more) == 0) stop("stdin ended inside a payload")
    line <- paste(line, more)
  }
  # texts of R have no NUL, and jsonlite would end them there: a blank stands for it
  line <- gsub("(?<!\\\\)((?:\\\\\\\\)*)\\\\u0000", "\\1 ", line, perl = TRUE)
  payload <- jsonlite::fromJSON(line, simplifyVector = FALSE)
  answer <- judge(payload$candidate, payload[["example"]])
  answer[["_capabilities"]] <- list(persistent = TRUE) # further payloads may come as further lines
  answer[["_id"]] <- payload[["_id"]]
  said <- jsonlite::toJSON(answer, auto_unbox = TRUE, json_verbatim = TRUE)
  writeLines(enc2utf8(said), useBytes = TRUE)
  flush(stdout())
}
