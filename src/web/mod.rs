//! web.

pub mod form;
pub mod private;
pub mod shell;
