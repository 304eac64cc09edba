# The sentence, doubts, evidence, remedies and ledger details: the messages that
# crates/whyidle-diagnosis makes. The id there has '.' where the key here has '-'.
