//! A command of an optional crate: one request to the running hub, and what to print of the response.

use clap::ArgMatches;
use serde_json::Value;

/// Command of the program. It sends one request to the private listener of the running hub.
#[derive(Clone, Copy)]
pub struct ExtensionCommand {
    /// Returns its name, its help, and its arguments or subcommands. The program adds the options
    /// that say how to reach the hub.
    pub arguments: fn() -> clap::Command,
    /// Returns the request, or what is wrong with the arguments.
    pub request: fn(&ArgMatches) -> Result<AdminRequest, String>,
    /// Returns the text that the command prints of the body of the response.
    pub describe: fn(&ArgMatches, Value) -> Result<String, String>,
}

/// Request to the private listener.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AdminRequest {
    /// HTTP method.
    pub method: &'static str,
    /// Path, for example `admin/clients`.
    pub path: String,
    /// Body, if the method has one.
    pub body: Option<Value>,
}

impl AdminRequest {
    /// Creates a request without a body, to a path of these segments below `/admin`.
    pub fn new(method: &'static str, segments: &[&str]) -> Self {
        let mut path = "admin".to_owned();
        for segment in segments {
            path.push('/');
            path.extend(url::form_urlencoded::byte_serialize(segment.as_bytes()));
        }
        Self { method, path, body: None }
    }
}
