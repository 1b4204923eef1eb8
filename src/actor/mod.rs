//! actor.
