//! Small synthetic traces for the tests of the models.
