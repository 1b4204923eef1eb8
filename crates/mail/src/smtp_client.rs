//! Sends mails to the submission server: connection, TLS, authentication, and a pool of
//! connections.
//!
//! `lettre` speaks SMTP over a connection that the egress rules and the hub's own TLS have opened.
//! No error contains a text of the server, which may repeat an address.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use lettre::Address;
use lettre::address::Envelope;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{AsyncSmtpConnection, AsyncTokioStream};
use lettre::transport::smtp::extension::ClientId;
use passerelle_egress::ca_bundle::CaBundle;
use passerelle_egress::dialer::Dialer;
use passerelle_egress::system_authorities::system_authorities;
use passerelle_egress::tls_provider::install_tls_provider;
use passerelle_settings::FieldDiagnostic;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::TlsConnector;
use url::Host;

use super::settings::{ConnectionSecurity, MailConfig, SubmissionServer};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time for one mail, with the connection.
pub(crate) const SEND_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for which an unused connection stays open; servers close theirs after five minutes
/// (RFC 5321 §4.5.3.2.7).
const MAX_IDLE: Duration = Duration::from_secs(60);
/// Longest response before TLS.
const MAX_RESPONSE_BYTES: usize = 8 * 1024;

/// Why a mail was not sent.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub(crate) enum SmtpError {
    /// The server may accept the mail later, or after a change of the configuration.
    #[error("{0}")]
    Temporary(String),
    /// The server refuses this mail for good.
    #[error("{0}")]
    Rejected(String),
}

/// Client of the submission server.
pub(crate) struct SmtpClient {
    dialer: Dialer,
    security: ConnectionSecurity,
    /// Name of the server's certificate, and the trusted authorities.
    tls: (ServerName<'static>, Arc<ClientConfig>),
    credentials: Option<Credentials>,
    hello: ClientId,
    idle: Mutex<Vec<(AsyncSmtpConnection, Instant)>>,
}

impl SmtpClient {
    /// Returns a client. Calls nothing. `account`: username and password.
    ///
    /// # Errors
    /// Returns the key whose value can't be used.
    pub(crate) fn new(
        server: &SubmissionServer,
        config: &MailConfig,
        ca: Option<&Path>,
        account: Option<(String, String)>,
        from: &Address,
    ) -> Result<Self, FieldDiagnostic> {
        let SubmissionServer { host, port, security } = server;
        let mut internal_hosts = config.internal_hosts.clone();
        if *security == ConnectionSecurity::Loopback {
            internal_hosts.push(host.to_string());
        }
        let dialer = Dialer::new(host.clone(), *port, &internal_hosts, CONNECT_TIMEOUT);
        let dialer = dialer.map_err(|error| {
            let fix = "write a public host, or add the host to internal_hosts";
            FieldDiagnostic::new("url", format!("can't be called: {error}"), fix)
        })?;
        let name = match host {
            Host::Domain(name) => ServerName::try_from(name.clone()).map_err(|_| {
                let fix = "write the host name of the server's certificate";
                FieldDiagnostic::new("url", "has a host that no certificate can name", fix)
            })?,
            Host::Ipv4(address) => ServerName::IpAddress((*address).into()),
            Host::Ipv6(address) => ServerName::IpAddress((*address).into()),
        };
        let roots = match ca {
            Some(path) => {
                CaBundle::read(path).and_then(|bundle| bundle.root_store()).map_err(|why| {
                    let fix =
                        "write only the certificates of the authorities into the file, in PEM";
                    FieldDiagnostic::new(
                        "ca",
                        format!("names a file that can't be used: {why}"),
                        fix,
                    )
                })?
            }
            None => system_authorities(),
        };
        install_tls_provider();
        let tls = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        Ok(Self {
            dialer,
            security: *security,
            tls: (name, Arc::new(tls)),
            credentials: account.map(|(username, password)| Credentials::new(username, password)),
            hello: ClientId::Domain(from.domain().to_owned()),
            idle: Mutex::default(),
        })
    }

    /// Signs in to the server and sends nothing.
    ///
    /// # Errors
    /// `Temporary`.
    pub(crate) async fn check_account(&self) -> Result<(), SmtpError> {
        let connection = within(SEND_TIMEOUT, self.open()).await?;
        self.return_to_pool(connection);
        Ok(())
    }

    /// Sends a mail: its headers and body in `message`.
    ///
    /// # Errors
    /// [`SmtpError`].
    pub(crate) async fn send(&self, envelope: &Envelope, message: &[u8]) -> Result<(), SmtpError> {
        within(SEND_TIMEOUT, async {
            let mut connection = match self.reuse().await {
                Some(connection) => connection,
                None => self.open().await?,
            };
            connection.send(envelope, message).await.map_err(|error| mail_error(&error))?;
            self.return_to_pool(connection);
            Ok(())
        })
        .await
    }

    /// Returns an idle connection that the server has not closed.
    async fn reuse(&self) -> Option<AsyncSmtpConnection> {
        loop {
            let (mut connection, since) =
                self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
            if since.elapsed() < MAX_IDLE && connection.test_connected().await {
                return Some(connection);
            }
        }
    }

    fn return_to_pool(&self, connection: AsyncSmtpConnection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|(_, since)| since.elapsed() < MAX_IDLE);
        idle.push((connection, Instant::now()));
    }

    async fn open(&self) -> Result<AsyncSmtpConnection, SmtpError> {
        let stream = self.dialer.connect().await;
        let mut stream = stream.map_err(|error| SmtpError::Temporary(error.to_string()))?;
        let peer = stream.peer_addr().map_err(|error| broken(&error))?;
        let mut greeting: &[u8] = b"";
        if self.security == ConnectionSecurity::Starttls {
            request_starttls(&mut stream, &self.hello).await?;
            // The server has greeted before TLS, and `lettre` waits for a greeting.
            greeting = b"220 ready\r\n";
        }
        let stream: Box<dyn AsyncTokioStream> = if self.security == ConnectionSecurity::Loopback {
            Box::new(SmtpStream { inner: stream, greeting, peer })
        } else {
            let (name, config) = &self.tls;
            let connected =
                TlsConnector::from(Arc::clone(config)).connect(name.clone(), stream).await;
            let inner =
                connected.map_err(|error| SmtpError::Temporary(format!("TLS failed: {error}")))?;
            Box::new(SmtpStream { inner, greeting, peer })
        };
        let opened = AsyncSmtpConnection::connect_with_transport(stream, &self.hello).await;
        let mut connection = opened.map_err(|error| account_error(&error, "the greeting"))?;
        if let Some(credentials) = &self.credentials {
            let mechanisms = [Mechanism::Plain, Mechanism::Login];
            let signed_in = connection.auth(&mechanisms, credentials).await;
            signed_in.map_err(|error| account_error(&error, "the account"))?;
        }
        Ok(connection)
    }
}

async fn within<T>(
    time: Duration,
    work: impl Future<Output = Result<T, SmtpError>>,
) -> Result<T, SmtpError> {
    let timeout = |_| SmtpError::Temporary("the server did not answer in time".to_owned());
    tokio::time::timeout(time, work).await.map_err(timeout)?
}

/// Converts an error about a mail. A response of the class 5 is final (RFC 5321 §4.2.1).
fn mail_error(error: &lettre::transport::smtp::Error) -> SmtpError {
    match error.status() {
        Some(code) if error.is_permanent() => {
            SmtpError::Rejected(format!("the server rejects the mail with {code}"))
        }
        Some(code) => SmtpError::Temporary(format!("the server defers the mail with {code}")),
        None => SmtpError::Temporary("the connection to the server failed".to_owned()),
    }
}

/// Converts an error before any mail, which is never about a recipient.
fn account_error(error: &lettre::transport::smtp::Error, what: &str) -> SmtpError {
    SmtpError::Temporary(match error.status() {
        Some(code) => format!("the server answers {what} with {code}"),
        None if error.is_client() => format!("the server offers nothing that {what} can use"),
        None => "the connection to the server failed".to_owned(),
    })
}

fn broken(error: &io::Error) -> SmtpError {
    SmtpError::Temporary(format!("the connection to the server failed: {}", error.kind()))
}

/// Asks for TLS (RFC 3207), and waits until the server agrees. Bytes after its agreement are
/// refused: they would count as sent under TLS (CVE-2011-0411).
async fn request_starttls(stream: &mut TcpStream, hello: &ClientId) -> Result<(), SmtpError> {
    read_response(stream, "220").await?;
    let command = format!("EHLO {hello}\r\n");
    stream.write_all(command.as_bytes()).await.map_err(|error| broken(&error))?;
    let extensions = read_response(stream, "250").await?;
    let offers =
        |line: &str| line.get(4..).is_some_and(|word| word.eq_ignore_ascii_case("STARTTLS"));
    if !extensions.lines().any(offers) {
        let missing = "the server offers no STARTTLS, so nothing was sent";
        return Err(SmtpError::Temporary(missing.to_owned()));
    }
    stream.write_all(b"STARTTLS\r\n").await.map_err(|error| broken(&error))?;
    read_response(stream, "220").await.map(drop)
}

/// Reads exactly one response, which must have this code.
async fn read_response(stream: &mut TcpStream, code: &str) -> Result<String, SmtpError> {
    let malformed = || SmtpError::Temporary("a response of the server is malformed".to_owned());
    let (mut received, mut chunk) = (Vec::new(), vec![0; 1024]);
    loop {
        let read = stream.read(&mut chunk).await.map_err(|error| broken(&error))?;
        received.extend_from_slice(chunk.get(..read).unwrap_or_default());
        if read == 0 || received.len() > MAX_RESPONSE_BYTES {
            return Err(malformed());
        }
        let Some(text) = received.strip_suffix(b"\r\n") else { continue };
        let text = std::str::from_utf8(text).map_err(|_| malformed())?;
        // All lines but the last have a hyphen after the code.
        let is_last = |line: &str| line.as_bytes().get(3) != Some(&b'-');
        let Some(last) = text.split("\r\n").position(is_last) else { continue };
        if last + 1 != text.split("\r\n").count() {
            return Err(malformed());
        }
        if text.split("\r\n").any(|line| line.get(..3) != Some(code)) {
            let refusal = "the server refuses the connection or STARTTLS";
            return Err(SmtpError::Temporary(refusal.to_owned()));
        }
        return Ok(text.to_owned());
    }
}

/// Connection for `lettre`, from which it first reads `greeting`.
#[derive(Debug)]
struct SmtpStream<S> {
    inner: S,
    greeting: &'static [u8],
    peer: SocketAddr,
}

impl<S: AsyncRead + AsyncWrite + Send + Sync + Unpin + std::fmt::Debug> AsyncTokioStream
    for SmtpStream<S>
{
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.peer)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for SmtpStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.greeting.is_empty() {
            return Pin::new(&mut self.inner).poll_read(context, buffer);
        }
        let (now, later) = self.greeting.split_at(self.greeting.len().min(buffer.remaining()));
        buffer.put_slice(now);
        self.greeting = later;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for SmtpStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
