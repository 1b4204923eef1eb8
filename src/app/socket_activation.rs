//! Listening sockets that a service manager hands over (`sd_listen_fds(3)`), so that a restart refuses no connection.
//!
//! Owns: which of them is which. `LISTEN_FDS` says how many there are, from number 3 on; `LISTEN_PID`, if set, for whom;
//! `LISTEN_FDNAMES`, separated by colons, how they are called: `public` and `private`. Where neither name is among them, the
//! first is the public one and the second the private one.

use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;

use listenfd::ListenFd;

use crate::config::Environment;

/// What was handed over; a listener that was not is bound as configured.
#[derive(Debug, Default)]
pub struct Handed {
    pub public: Option<TcpListener>,
    pub private: Option<TcpListener>,
}

/// Each names the unit's setting that mends it.
#[derive(thiserror::Error, Debug)]
pub enum HandedFault {
    #[error(
        "{0} sockets are handed over (LISTEN_FDS), and a hub has two listeners: public and private"
    )]
    TooMany(usize),
    #[error(
        "a socket named `{0}` is handed over (LISTEN_FDNAMES); write FileDescriptorName=public or =private in its socket unit"
    )]
    UnknownName(String),
    #[error(
        "two sockets named `{0}` are handed over (LISTEN_FDNAMES); give each listener one ListenStream="
    )]
    Twice(&'static str),
    #[error(
        "the {0} socket that is handed over can't be listened on: {1}; its unit needs ListenStream= with an address and port"
    )]
    NoListener(&'static str, std::io::Error),
    #[error(
        "the {0} socket that is handed over is one connection; write Accept=no in its socket unit"
    )]
    Connection(&'static str),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Public,
    Private,
}

impl Place {
    const fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
        }
    }
}

impl Handed {
    /// Takes them, once: a second call finds none. To be called before the process has other threads, since the variables
    /// are taken out of the environment.
    ///
    /// # Errors
    /// What is handed over is not what a hub listens on.
    pub fn take(environment: &Environment) -> Result<Self, HandedFault> {
        let mut sockets = ListenFd::from_env();
        let mut handed = Self::default();
        for (index, place) in
            places(sockets.len(), environment.var("LISTEN_FDNAMES"))?.into_iter().enumerate()
        {
            let socket = sockets
                .take_tcp_listener(index)
                .map_err(|fault| HandedFault::NoListener(place.name(), fault))?;
            let Some(socket) = socket else { continue };
            let slot = match place {
                Place::Public => &mut handed.public,
                Place::Private => &mut handed.private,
            };
            *slot = Some(listening(socket).map_err(|()| HandedFault::Connection(place.name()))?);
        }
        Ok(handed)
    }
}

/// The place of each socket, in their order.
fn places(count: usize, names: Option<&str>) -> Result<Vec<Place>, HandedFault> {
    if count > 2 {
        return Err(HandedFault::TooMany(count));
    }
    let names: Vec<&str> = names
        .filter(|names| !names.is_empty())
        .map(|names| names.split(':').collect())
        .unwrap_or_default();
    let known =
        |name: &str| [Place::Public, Place::Private].into_iter().find(|place| place.name() == name);
    // A unit that names none gives its own name to each.
    if names.len() != count || !names.iter().any(|name| known(name).is_some()) {
        return Ok([Place::Public, Place::Private].into_iter().take(count).collect());
    }
    let places = names
        .iter()
        .map(|name| known(name).ok_or_else(|| HandedFault::UnknownName((*name).to_owned())));
    let places = places.collect::<Result<Vec<_>, _>>()?;
    match places.as_slice() {
        [one, other] if one == other => Err(HandedFault::Twice(one.name())),
        _ => Ok(places),
    }
}

/// Not one connection of an inetd-style unit, on which nothing could be accepted.
fn listening(socket: TcpListener) -> Result<TcpListener, ()> {
    let socket = TcpStream::from(OwnedFd::from(socket));
    if socket.peer_addr().is_ok() { Err(()) } else { Ok(TcpListener::from(OwnedFd::from(socket))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_which_is_which_and_without_them_the_order() {
        use Place::{Private, Public};
        for (count, names, expected) in [
            (0, None, vec![]),
            (1, None, vec![Public]),
            (2, None, vec![Public, Private]),
            (2, Some(""), vec![Public, Private]),
            (2, Some("passerelle.socket:passerelle.socket"), vec![Public, Private]),
            (2, Some("private:public"), vec![Private, Public]),
            (1, Some("private"), vec![Private]),
            // Names of another count than the sockets name nothing.
            (2, Some("private"), vec![Public, Private]),
        ] {
            assert_eq!(places(count, names).unwrap(), expected, "{count} {names:?}");
        }
    }

    #[test]
    fn what_is_no_pair_of_listeners_is_refused_with_the_mend() {
        for (count, names, message) in [
            (3, None, "3 sockets"),
            (2, Some("public:admin"), "`admin`"),
            (2, Some("public:public"), "two sockets named `public`"),
        ] {
            let fault = places(count, names).unwrap_err().to_string();
            assert!(fault.contains(message), "{fault}");
        }
    }

    #[test]
    fn a_connection_is_no_listener() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let connection = TcpStream::connect(address).unwrap();
        assert!(listening(TcpListener::from(OwnedFd::from(connection))).is_err());
        assert_eq!(listening(listener).unwrap().local_addr().unwrap(), address);
    }
}
