//! Tests of the state machine: the transitions as a matrix, each rule by example, and invariants of
//! any sequence of steps.

mod blocked;
mod consent;
mod harness;
mod hints_and_prompts;
mod mail;
mod matrix;
mod property;
mod return_from_idp;
mod unstored_grants;
mod withdrawn;
