//! Mail of the hub (`docs/mail.md`): it sends one-time codes, and remembers which addresses persons
//! have confirmed.
//!
//! Responsible for the queue, the texts, the SMTP server and the records of persons. Does not know
//! when a login needs a code, or whether one is right. Begin with [`EXTENSION`], then `mailer.rs`.

#![cfg_attr(test, allow(clippy::pedantic, clippy::too_many_arguments))]

mod admin_routes;
mod command;
mod extension;
mod mailer;
mod message;
mod person;
mod queue;
mod settings;
mod smtp_client;
#[cfg(test)]
mod tests;

pub use extension::EXTENSION;
