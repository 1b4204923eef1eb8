//! grant.
