//! Passerelle: an identity federation hub.

pub mod actor;
pub mod app;
pub mod assurance;
pub mod config;
pub mod connector;
pub mod demo;
pub mod digest;
pub mod env;
pub mod grant;
pub mod identity;
pub mod ids;
pub mod login;
pub mod protocol;
pub mod register;
pub mod session;
pub mod store;
pub mod telemetry;
pub mod token;
pub mod web;
