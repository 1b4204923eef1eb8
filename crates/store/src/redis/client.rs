//! Connects to the servers: one server, the primary that Sentinels name, or a Cluster.
//!
//! Responsible for addresses, credentials and TLS. The addresses are the operator's own, from
//! `passerelle.toml` and from the servers named there; no request influences them.

use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use redis::aio::MultiplexedConnection;
use redis::cluster::ClusterClientBuilder;
use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::{MultipleNodeRoutingInfo, RoutingInfo};
use redis::sentinel::{SentinelClientBuilder, SentinelServerType};
use redis::{
    AsyncConnectionConfig, Client, ClientTlsConfig, Cmd, ConnectionAddr, ConnectionInfo,
    IntoConnectionInfo, RedisConnectionInfo, RedisError, RedisResult, TlsCertificates, TlsMode,
    Value,
};

use super::settings::{NodeAddress, RedisConfig, RedisCredentials, RedisMode};
use passerelle_egress::tls_provider::install_tls_provider;

/// Time limit of a connection: DNS, TCP, TLS and authentication together.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Time limit of one Sentinel or Cluster node, so that a dead one leaves time for the others.
const NODE_TIMEOUT: Duration = Duration::from_millis(600);

/// Addresses and credentials of the servers.
pub(super) struct RedisClient {
    config: RedisConfig,
    credentials: RedisCredentials,
}

/// Connection with pipelined calls; clones share it.
#[derive(Clone)]
pub(super) enum Connection {
    Single(MultiplexedConnection),
    Cluster(Box<ClusterConnection>),
}

impl Connection {
    /// Runs a command.
    ///
    /// # Errors
    /// The call fails.
    pub(super) async fn query(&mut self, cmd: &Cmd) -> RedisResult<Value> {
        match self {
            Self::Single(connection) => cmd.query_async(connection).await,
            Self::Cluster(connection) => cmd.query_async(connection.as_mut()).await,
        }
    }

    /// Runs several commands concurrently and returns an array of their replies: one pipeline to a
    /// single server; in a Cluster each goes to the node of its slot.
    ///
    /// # Errors
    /// A call fails.
    pub(super) async fn query_many(&mut self, commands: &[Cmd]) -> RedisResult<Value> {
        match self {
            Self::Single(connection) => {
                let mut pipeline = redis::pipe();
                for command in commands {
                    pipeline.add_command(command.clone());
                }
                Ok(Value::Array(pipeline.query_async(connection).await?))
            }
            Self::Cluster(connection) => {
                let calls = commands.iter().map(|command| {
                    let mut connection = connection.as_ref().clone();
                    async move { command.query_async::<Value>(&mut connection).await }
                });
                Ok(Value::Array(futures_util::future::try_join_all(calls).await?))
            }
        }
    }

    /// Runs a command on every primary.
    ///
    /// # Errors
    /// The call fails.
    pub(super) async fn query_all_primaries(&mut self, cmd: &Cmd) -> RedisResult<Vec<Value>> {
        match self {
            Self::Single(_) => Ok(vec![self.query(cmd).await?]),
            Self::Cluster(connection) => {
                let all = RoutingInfo::MultiNode((MultipleNodeRoutingInfo::AllMasters, None));
                match connection.route_command(cmd.clone(), all).await? {
                    Value::Map(answers) => {
                        Ok(answers.into_iter().map(|(_, answer)| answer).collect())
                    }
                    Value::Array(answers) => Ok(answers),
                    answer => Ok(vec![answer]),
                }
            }
        }
    }

    /// Returns whether the connection reconnects by itself: only that of a Cluster does.
    pub(super) const fn reconnects(&self) -> bool {
        matches!(self, Self::Cluster(_))
    }
}

impl RedisClient {
    /// Creates a client. Does not connect.
    pub(super) fn new(config: &RedisConfig, credentials: &RedisCredentials) -> Self {
        install_tls_provider();
        Self { config: config.clone(), credentials: credentials.clone() }
    }

    /// Returns how the servers are deployed.
    pub(super) const fn mode(&self) -> RedisMode {
        self.config.mode
    }

    /// Describes the servers and their mode, for the log.
    pub(super) fn description(&self) -> String {
        let mode = match self.config.mode {
            RedisMode::Single => "one server",
            RedisMode::Sentinel => "Sentinels",
            RedisMode::Cluster => "a Cluster",
        };
        format!("{mode} at {}", self.config.nodes.join(", "))
    }

    /// Connects within a fixed time limit.
    ///
    /// # Errors
    /// No connection could be opened in time.
    pub(super) async fn connect(&self, call_limit: Duration) -> RedisResult<Connection> {
        match tokio::time::timeout(CONNECT_TIMEOUT, self.connect_untimed(call_limit)).await {
            Ok(connected) => connected,
            Err(_) => Err(timed_out()),
        }
    }

    async fn connect_untimed(&self, call_limit: Duration) -> RedisResult<Connection> {
        // The caller's timeout applies, the same for every kind of connection.
        let plain =
            AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
        match self.config.mode {
            RedisMode::Single => {
                let client = self.single_server()?;
                Ok(Connection::Single(
                    client.get_multiplexed_async_connection_with_config(&plain).await?,
                ))
            }
            RedisMode::Sentinel => {
                let client = self.find_primary().await?;
                Ok(Connection::Single(
                    client.get_multiplexed_async_connection_with_config(&plain).await?,
                ))
            }
            RedisMode::Cluster => {
                let nodes: Vec<ConnectionInfo> = self
                    .addresses()
                    .map(|address| self.connection_info(address))
                    .collect::<RedisResult<_>>()?;
                let mut builder = ClusterClientBuilder::new(nodes)
                    .retries(3)
                    .min_retry_wait(20)
                    .max_retry_wait(200)
                    .connection_timeout(NODE_TIMEOUT)
                    .response_timeout(call_limit);
                if let Some(user) = &self.config.user {
                    builder = builder.username(user);
                }
                if let Some(password) = &self.credentials.password {
                    builder = builder.password(password.reveal());
                }
                if self.config.tls {
                    builder = builder.tls(TlsMode::Secure).certs(self.certificates());
                }
                Ok(Connection::Cluster(Box::new(builder.build()?.get_async_connection().await?)))
            }
        }
    }

    /// Finds the primary that most Sentinels name, asking all of them at once for each connection:
    /// a silent Sentinel delays nothing, and one that was cut off with an old primary is outvoted.
    async fn find_primary(&self) -> RedisResult<Client> {
        let mut calls: FuturesUnordered<_> =
            self.addresses().map(|sentinel| self.ask_sentinel(sentinel)).collect();
        let majority = calls.len() / 2 + 1;
        let (mut named, mut last_error): (Vec<(String, usize, Client)>, _) =
            (Vec::new(), no_address());
        while let Some(answer) = calls.next().await {
            let client = match answer {
                Ok(client) => client,
                Err(error) => {
                    last_error = error;
                    continue;
                }
            };
            let address = client.get_connection_info().addr().to_string();
            let votes = if let Some((_, votes, _)) =
                named.iter_mut().find(|(named, ..)| *named == address)
            {
                *votes += 1;
                *votes
            } else {
                named.push((address, 1, client.clone()));
                1
            };
            if votes >= majority {
                return Ok(client);
            }
        }
        named
            .into_iter()
            .max_by_key(|(_, votes, _)| *votes)
            .map(|(.., client)| client)
            .ok_or(last_error)
    }

    /// Returns the primary that this Sentinel names, if that server confirms its role.
    async fn ask_sentinel(&self, sentinel: ConnectionAddr) -> RedisResult<Client> {
        let mut sentinel = self.sentinel_builder(sentinel)?.build()?;
        match tokio::time::timeout(NODE_TIMEOUT, sentinel.async_get_client()).await {
            Ok(client) => client,
            Err(_) => Err(timed_out()),
        }
    }

    fn single_server(&self) -> RedisResult<Client> {
        let address = self.addresses().next().ok_or_else(no_address)?;
        let info = self.connection_info(address)?;
        if self.config.tls {
            Client::build_with_tls(info, self.certificates())
        } else {
            Client::open(info)
        }
    }

    fn sentinel_builder(&self, address: ConnectionAddr) -> RedisResult<SentinelClientBuilder> {
        let primary = self.config.primary.as_deref().unwrap_or_default();
        let mut builder =
            SentinelClientBuilder::new([address], primary, SentinelServerType::Master)?
                .set_client_to_redis_db(self.config.database.into());
        if let Some(user) = &self.config.user {
            builder = builder.set_client_to_redis_username(user);
        }
        if let Some(password) = &self.credentials.password {
            builder = builder.set_client_to_redis_password(password.reveal());
        }
        if let Some(user) = &self.config.sentinel_user {
            builder = builder.set_client_to_sentinel_username(user);
        }
        if let Some(password) = &self.credentials.sentinel_password {
            builder = builder.set_client_to_sentinel_password(password.reveal());
        }
        if self.config.tls {
            builder = builder
                .set_client_to_redis_tls_mode(TlsMode::Secure)
                .set_client_to_sentinel_tls_mode(TlsMode::Secure)
                .set_client_to_redis_certificates(self.certificates())
                .set_client_to_sentinel_certificates(self.certificates());
        }
        Ok(builder)
    }

    fn addresses(&self) -> impl Iterator<Item = ConnectionAddr> {
        self.config.nodes.iter().filter_map(|node| NodeAddress::parse(node)).map(
            |node| match node {
                NodeAddress::Socket(path) => ConnectionAddr::Unix(path),
                NodeAddress::Host(host, port) if self.config.tls => {
                    ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None }
                }
                NodeAddress::Host(host, port) => ConnectionAddr::Tcp(host, port),
            },
        )
    }

    fn connection_info(&self, address: ConnectionAddr) -> RedisResult<ConnectionInfo> {
        // CLIENT SETINFO would be one more command that a least-privileged user needs.
        let mut settings = RedisConnectionInfo::default()
            .set_db(self.config.database.into())
            .set_skip_set_lib_name();
        if let Some(user) = &self.config.user {
            settings = settings.set_username(user);
        }
        if let Some(password) = &self.credentials.password {
            settings = settings.set_password(password.reveal());
        }
        Ok(address.into_connection_info()?.set_redis_settings(settings))
    }

    fn certificates(&self) -> TlsCertificates {
        let client_tls =
            self.credentials.identity.as_ref().map(|(certificate, key)| ClientTlsConfig {
                client_cert: certificate.clone().into_bytes(),
                client_key: key.reveal().clone().into_bytes(),
            });
        TlsCertificates {
            client_tls,
            root_cert: self.credentials.ca.clone().map(String::into_bytes),
        }
    }
}

fn timed_out() -> RedisError {
    std::io::Error::from(std::io::ErrorKind::TimedOut).into()
}

fn no_address() -> RedisError {
    (redis::ErrorKind::InvalidClientConfig, "no server address is configured").into()
}
