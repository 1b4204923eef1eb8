//! A connection to a directory: TLS, StartTLS (RFC 4511 §4.14), and a relay to `ldap3` that passes
//! on only messages within the bounds of [`super::message`].

use std::io;
use std::sync::Arc;

use ldap3::asn1::{StructureTag, parse_tag};
use ldap3::{Ldap, LdapConnAsync, LdapConnSettings, StdStream};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use url::Url;

use super::errors::ldap_error;
use super::message::complete_message;
use passerelle_connector::error::ConnectorError;
use passerelle_egress::safe_http_client::PeerCertificate;
use passerelle_protocol::catalogue::ErrorCode;

/// Message 1: an extended request with the OID of StartTLS.
const STARTTLS_REQUEST: &[u8] = b"\x30\x1d\x02\x01\x01\x77\x18\x80\x161.3.6.1.4.1.1466.20037";
/// Application tag of an extended response (RFC 4511 §4.12).
const EXTENDED_RESPONSE: u64 = 24;
const CHUNK_BYTES: usize = 16 * 1024;
/// `ldap3` takes a socket pair under this scheme only; nothing resolves the address.
const RELAY_URL: &str = "ldapi://relay";

/// TLS of a connection.
pub(super) struct DirectoryTls {
    pub config: Arc<ClientConfig>,
    /// Name of the certificate: a host name or an IP address.
    pub host: String,
    /// TLS begins after the StartTLS operation.
    pub starttls: bool,
}

/// An open connection, which closes when the client is dropped.
pub(super) struct DirectoryConnection {
    pub client: Ldap,
    /// `None` without TLS.
    pub certificate: Option<PeerCertificate>,
}

/// Why a connection could not be opened.
#[derive(PartialEq, Eq, Debug, derive_more::From)]
pub(super) enum OpenError {
    /// TLS rejected the directory's certificate, with the library's message.
    RejectedCertificate(String),
    #[from]
    Other(ConnectorError),
}

impl From<OpenError> for ConnectorError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::RejectedCertificate(why) => Self::new(ErrorCode::LdapTls, why),
            OpenError::Other(error) => error,
        }
    }
}

impl DirectoryConnection {
    /// Negotiates TLS and starts the client.
    ///
    /// # Errors
    /// `RejectedCertificate`; `LdapTls` if TLS fails otherwise or is rejected, `LdapAnswer` if a response is malformed,
    /// `IdpUnreachable` if the connection ends.
    pub(super) async fn open(
        mut stream: TcpStream,
        tls: Option<DirectoryTls>,
    ) -> Result<Self, OpenError> {
        let Some(DirectoryTls { config, host, starttls }) = tls else {
            return Ok(Self::start(stream, None).await?);
        };
        if starttls {
            request_starttls(&mut stream).await?;
        }
        let name = ServerName::try_from(host).map_err(|_| {
            let message = "the host of url can't be the name of a certificate";
            ConnectorError::new(ErrorCode::LdapTls, message)
        })?;
        let stream = TlsConnector::from(config).connect(name, stream).await;
        let stream = stream.map_err(|error| handshake_error(&error))?;
        let chain = stream.get_ref().1.peer_certificates();
        let certificate = chain.and_then(|chain| chain.first());
        let certificate = certificate.map(|der| PeerCertificate(der.to_vec()));
        Ok(Self::start(stream, certificate).await?)
    }

    async fn start(
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        certificate: Option<PeerCertificate>,
    ) -> Result<Self, ConnectorError> {
        let (client_end, relay_end) =
            UnixStream::pair().map_err(|error| connection_error(&error))?;
        let client_end = client_end.into_std().map_err(|error| connection_error(&error))?;
        let settings = LdapConnSettings::new().set_std_stream(StdStream::Unix(client_end));
        let url = Url::parse(RELAY_URL)
            .map_err(|error| ConnectorError::new(ErrorCode::IdpUnreachable, error.to_string()))?;
        let (connection, client) = LdapConnAsync::from_url_with_settings(settings, &url)
            .await
            .map_err(|error| ldap_error(&error))?;
        // An error of the connection fails the pending operations, which report it.
        tokio::spawn(connection.drive());
        tokio::spawn(relay(stream, relay_end));
        Ok(Self { client, certificate })
    }
}

/// Asks for TLS, and waits until the directory agrees. Bytes after the response are refused: they
/// would count as sent under TLS (CVE-2011-0411 is the same attack on requests).
async fn request_starttls(stream: &mut TcpStream) -> Result<(), ConnectorError> {
    let malformed =
        |what: &str| ConnectorError::new(ErrorCode::LdapAnswer, format!("StartTLS: {what}"));
    stream.write_all(STARTTLS_REQUEST).await.map_err(|error| connection_error(&error))?;
    let (mut received, mut chunk) = (Vec::new(), vec![0; CHUNK_BYTES]);
    let length = loop {
        let read = stream.read(&mut chunk).await.map_err(|error| connection_error(&error))?;
        if read == 0 {
            return Err(malformed("the connection ended before the response"));
        }
        received.extend_from_slice(chunk.get(..read).unwrap_or_default());
        let complete = complete_message(&received).map_err(|error| malformed(&error.to_string()));
        if let Some(length) = complete? {
            break length;
        }
    };
    if received.len() > length {
        return Err(malformed("the directory sent more than the response before TLS"));
    }
    match extended_result(&received) {
        Some(0) => Ok(()),
        Some(result) => {
            let message = format!("StartTLS is rejected with result {result}");
            Err(ConnectorError::new(ErrorCode::LdapTls, message))
        }
        None => Err(malformed("the response is malformed")),
    }
}

/// Returns the result code of an extended response.
fn extended_result(message: &[u8]) -> Option<u32> {
    let (_, message) = parse_tag(message).ok()?;
    let response = message.expect_constructed()?.into_iter().nth(1)?;
    let response = response.match_id(EXTENDED_RESPONSE)?.expect_constructed()?;
    let code = response.into_iter().next().and_then(StructureTag::expect_primitive)?;
    Some(code.iter().fold(0, |sum: u32, octet| sum.wrapping_shl(8) | u32::from(*octet)))
}

/// Copies between directory and client until one of them ends.
async fn relay(directory: impl AsyncRead + AsyncWrite + Unpin, mut client: UnixStream) {
    let (from_directory, mut to_directory) = tokio::io::split(directory);
    let (mut from_client, to_client) = client.split();
    tokio::select! {
        () = pass_messages(from_directory, to_client) => {}
        _ = tokio::io::copy(&mut from_client, &mut to_directory) => {}
    }
    // Ends TLS properly; an error changes nothing any more.
    let _ = to_directory.shutdown().await;
}

/// Passes on the messages of the directory until it ends, or sends one that is out of bounds.
async fn pass_messages(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
    let (mut received, mut chunk) = (Vec::new(), vec![0; CHUNK_BYTES]);
    loop {
        let length = match complete_message(&received) {
            Ok(length) => length,
            Err(error) => {
                tracing::warn!(%error, "connection to the directory closed");
                return;
            }
        };
        let outcome = if let Some(length) = length {
            let message: Vec<u8> = received.drain(..length).collect();
            to.write_all(&message).await
        } else {
            match from.read(&mut chunk).await {
                Ok(0) | Err(_) => return,
                Ok(read) => {
                    received.extend_from_slice(chunk.get(..read).unwrap_or_default());
                    Ok(())
                }
            }
        };
        if outcome.is_err() {
            return;
        }
    }
}

/// Converts an error of the TLS handshake, which is wrapped in an I/O error.
fn handshake_error(error: &io::Error) -> OpenError {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(error @ rustls::Error::InvalidCertificate(_)) => {
            OpenError::RejectedCertificate(error.to_string())
        }
        Some(error) => ConnectorError::new(ErrorCode::LdapTls, error.to_string()).into(),
        None => connection_error(error).into(),
    }
}

fn connection_error(error: &io::Error) -> ConnectorError {
    let message = format!("the connection failed: {}", error.kind());
    ConnectorError::new(ErrorCode::IdpUnreachable, message)
}

#[cfg(test)]
mod tests {
    use rustls::{AlertDescription, CertificateError};

    use super::*;

    #[test]
    fn only_an_invalid_certificate_of_the_directory_is_reported_as_rejected() {
        let converted = |error: rustls::Error| handshake_error(&io::Error::other(error));
        let invalid = rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let message = "invalid peer certificate: UnknownIssuer".to_owned();
        assert_eq!(converted(invalid), OpenError::RejectedCertificate(message));
        for other in [
            rustls::Error::NoCertificatesPresented,
            rustls::Error::AlertReceived(AlertDescription::CertificateRequired),
        ] {
            let OpenError::Other(error) = converted(other.clone()) else { panic!("{other}") };
            assert_eq!(error, ConnectorError::new(ErrorCode::LdapTls, other.to_string()));
        }
        let ended = handshake_error(&io::ErrorKind::UnexpectedEof.into());
        assert!(
            matches!(ended, OpenError::Other(error) if error.code == ErrorCode::IdpUnreachable)
        );
    }
}
