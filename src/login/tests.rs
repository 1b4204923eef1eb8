//! The machine, step by step: the diagram as a matrix, each rule by example, and what holds for any sequence of steps.

mod blocked;
mod consent;
mod hints_and_prompts;
mod matrix;
mod property;
pub(crate) mod released;
mod return_from_idp;
mod stage;
mod withdrawn;
