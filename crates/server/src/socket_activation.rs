//! Takes over listening sockets by systemd socket activation (`sd_listen_fds(3)`), so that a
//! restart refuses no connection.
//!
//! `LISTEN_FDS` is the number of sockets, from descriptor 3 on. `LISTEN_PID`, if set, is the
//! process that they are for. `LISTEN_FDNAMES` lists their names, separated by colons: `public` and
//! `private`. If neither name occurs, the first socket is public and the second private.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;

use listenfd::ListenFd;

use passerelle_config::model::Settings;
use passerelle_settings::Environment;
use passerelle_settings::address::is_exposed;

/// Inherited sockets; a listener that is `None` is bound as configured.
#[derive(Debug, Default)]
pub struct InheritedSockets {
    pub public: Option<TcpListener>,
    pub private: Option<TcpListener>,
}

/// Error returned when the inherited sockets are not the hub's listeners.
#[derive(thiserror::Error, Debug)]
pub enum SocketActivationError {
    #[error("{0} sockets are passed (LISTEN_FDS), but a hub has two listeners: public and private")]
    TooMany(usize),
    #[error(
        "a socket named `{0}` is passed (LISTEN_FDNAMES); write FileDescriptorName=public or =private in its socket unit"
    )]
    UnknownName(String),
    #[error(
        "two sockets named `{0}` are passed (LISTEN_FDNAMES); give each listener one ListenStream="
    )]
    Duplicate(&'static str),
    #[error(
        "the {0} socket can't be listened on: {1}; its unit needs ListenStream= with an address and port"
    )]
    NotListening(&'static str, std::io::Error),
    #[error("the {0} socket is a single connection; write Accept=no in its socket unit")]
    Connection(&'static str),
    #[error(
        "the public socket listens on {0}, and sandbox = true allows anyone to sign in as anyone; write ListenStream= with a loopback address, or set sandbox_public = true if this is intended"
    )]
    SandboxExposed(SocketAddr),
    #[error(
        "the private socket listens on {0}, and operators' tokens would cross the network without TLS; write ListenStream= with a loopback address, or set private.insecure_http = true"
    )]
    PrivateExposed(SocketAddr),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SocketRole {
    Public,
    Private,
}

impl SocketRole {
    const fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
        }
    }
}

impl InheritedSockets {
    /// Takes the inherited sockets; a second call finds none. Call it before the process has other
    /// threads: it removes the variables from the environment.
    ///
    /// # Errors
    /// Returns an error if the sockets are not the listeners of a hub.
    pub fn take(environment: &Environment) -> Result<Self, SocketActivationError> {
        let mut sockets = ListenFd::from_env();
        let mut inherited = Self::default();
        for (index, role) in
            socket_roles(sockets.len(), environment.var("LISTEN_FDNAMES"))?.into_iter().enumerate()
        {
            let socket = sockets
                .take_tcp_listener(index)
                .map_err(|error| SocketActivationError::NotListening(role.name(), error))?;
            let Some(socket) = socket else { continue };
            let slot = match role {
                SocketRole::Public => &mut inherited.public,
                SocketRole::Private => &mut inherited.private,
            };
            *slot = Some(
                require_listener(socket)
                    .map_err(|()| SocketActivationError::Connection(role.name()))?,
            );
        }
        Ok(inherited)
    }

    /// Checks that the sockets are reachable only as the settings allow, which know other
    /// addresses.
    ///
    /// # Errors
    /// `SandboxExposed`, `PrivateExposed`.
    pub fn check_exposure(&self, settings: &Settings) -> Result<(), SocketActivationError> {
        let exposed = |socket: &Option<TcpListener>| {
            let address = socket.as_ref().and_then(|socket| socket.local_addr().ok());
            address.filter(|address| is_exposed(*address))
        };
        if let Some(address) = exposed(&self.public)
            && settings.sandbox
            && !settings.sandbox_public
        {
            return Err(SocketActivationError::SandboxExposed(address));
        }
        match exposed(&self.private) {
            Some(address) if !settings.private.insecure_http => {
                Err(SocketActivationError::PrivateExposed(address))
            }
            _ => Ok(()),
        }
    }
}

/// Returns the role of each socket, in order.
fn socket_roles(
    count: usize,
    names: Option<&str>,
) -> Result<Vec<SocketRole>, SocketActivationError> {
    if count > 2 {
        return Err(SocketActivationError::TooMany(count));
    }
    let names: Vec<&str> = names
        .filter(|names| !names.is_empty())
        .map(|names| names.split(':').collect())
        .unwrap_or_default();
    let known = |name: &str| {
        [SocketRole::Public, SocketRole::Private].into_iter().find(|role| role.name() == name)
    };
    // A unit without FileDescriptorName= gives each socket its own name.
    if names.len() != count || !names.iter().any(|name| known(name).is_some()) {
        return Ok([SocketRole::Public, SocketRole::Private].into_iter().take(count).collect());
    }
    let roles = names.iter().map(|name| {
        known(name).ok_or_else(|| SocketActivationError::UnknownName((*name).to_owned()))
    });
    let roles = roles.collect::<Result<Vec<_>, _>>()?;
    match roles.as_slice() {
        [one, other] if one == other => Err(SocketActivationError::Duplicate(one.name())),
        _ => Ok(roles),
    }
}

/// Rejects a connected socket of an inetd-style unit, which can accept nothing.
fn require_listener(socket: TcpListener) -> Result<TcpListener, ()> {
    let socket = TcpStream::from(OwnedFd::from(socket));
    if socket.peer_addr().is_ok() { Err(()) } else { Ok(TcpListener::from(OwnedFd::from(socket))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_identified_by_name_or_else_by_order() {
        use SocketRole::{Private, Public};
        for (count, names, expected) in [
            (0, None, vec![]),
            (1, None, vec![Public]),
            (2, None, vec![Public, Private]),
            (2, Some(""), vec![Public, Private]),
            (2, Some("passerelle.socket:passerelle.socket"), vec![Public, Private]),
            (2, Some("private:public"), vec![Private, Public]),
            (1, Some("private"), vec![Private]),
            // A different number of names than sockets is ignored.
            (2, Some("private"), vec![Public, Private]),
        ] {
            assert_eq!(socket_roles(count, names).unwrap(), expected, "{count} {names:?}");
        }
    }

    #[test]
    fn sockets_that_are_not_two_listeners_are_rejected_with_a_fix() {
        for (count, names, message) in [
            (3, None, "3 sockets"),
            (2, Some("public:admin"), "`admin`"),
            (2, Some("public:public"), "two sockets named `public`"),
        ] {
            let error = socket_roles(count, names).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn a_passed_socket_that_other_machines_reach_is_refused_where_the_configured_address_would_be()
    {
        let settings = |more: &str| -> Settings {
            let text = format!(
                "platform = \"standard\"\nbase_url = \"http://localhost\"\n\
                 subject_key = {{ env = \"KEY\" }}\npublic.listen = \"127.0.0.1:1\"\n\
                 private.listen = \"127.0.0.1:2\"\n{more}"
            );
            toml::from_str(&text).unwrap()
        };
        let bound = |address: &str| Some(TcpListener::bind(address).unwrap());
        let (everywhere, here) = ("0.0.0.0:0", "127.0.0.1:0");
        for (public, private, more, message) in [
            (everywhere, here, "", None),
            (here, here, "sandbox = true", None),
            (everywhere, here, "sandbox = true", Some("sandbox_public = true")),
            (everywhere, here, "sandbox = true\nsandbox_public = true", None),
            (here, everywhere, "", Some("private.insecure_http = true")),
            (here, everywhere, "private.insecure_http = true", None),
        ] {
            let inherited = InheritedSockets { public: bound(public), private: bound(private) };
            let error = inherited.check_exposure(&settings(more)).err().map(|e| e.to_string());
            match message {
                Some(message) => {
                    assert!(error.is_some_and(|error| error.contains(message)), "{more}")
                }
                None => assert_eq!(error, None, "{public} {private} {more}"),
            }
        }
        assert!(InheritedSockets::default().check_exposure(&settings("sandbox = true")).is_ok());
    }

    #[test]
    fn a_connection_is_no_listener() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let connection = TcpStream::connect(address).unwrap();
        assert!(require_listener(TcpListener::from(OwnedFd::from(connection))).is_err());
        assert_eq!(require_listener(listener).unwrap().local_addr().unwrap(), address);
    }
}
