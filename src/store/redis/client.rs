//! L2 · Which servers, and how a connection to them is made: one server, Sentinels that name it, or a Cluster.
//!
//! Owns: addresses, users, TLS. Must not know: when to connect, or what is asked. The addresses are the operator's own,
//! from `passerelle.toml` and from the servers that it names; nothing that anybody sends leads to one.

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

use crate::config::StoreCredentials;
use crate::config::model::{RedisConfig, RedisMode};
use crate::config::store::Node;

/// Resolving, connecting, TLS and authentication together.
const DIAL_LIMIT: Duration = Duration::from_secs(2);
/// Of it, what one Sentinel or one node of a Cluster may take: one whose machine has died must leave time for the others.
const NODE_LIMIT: Duration = Duration::from_millis(600);

pub struct Target {
    config: RedisConfig,
    credentials: StoreCredentials,
}

/// A connection that any number of callers share; their calls are pipelined.
#[derive(Clone)]
pub enum Connection {
    One(MultiplexedConnection),
    Cluster(Box<ClusterConnection>),
}

impl Connection {
    pub async fn ask(&mut self, cmd: &Cmd) -> RedisResult<Value> {
        match self {
            Self::One(connection) => cmd.query_async(connection).await,
            Self::Cluster(connection) => cmd.query_async(connection.as_mut()).await,
        }
    }

    /// Sends several commands without waiting in between, and returns an array of their answers: one pipeline to a single
    /// server; to a Cluster all at once, each to the node of its slot.
    pub async fn ask_many(&mut self, commands: &[Cmd]) -> RedisResult<Value> {
        match self {
            Self::One(connection) => {
                let mut pipeline = redis::pipe();
                for command in commands {
                    pipeline.add_command(command.clone());
                }
                Ok(Value::Array(pipeline.query_async(connection).await?))
            }
            Self::Cluster(connection) => {
                let asked = commands.iter().map(|command| {
                    let mut connection = connection.as_ref().clone();
                    async move { command.query_async::<Value>(&mut connection).await }
                });
                Ok(Value::Array(futures_util::future::try_join_all(asked).await?))
            }
        }
    }

    /// What every server that takes writes answers.
    pub async fn ask_each(&mut self, cmd: &Cmd) -> RedisResult<Vec<Value>> {
        match self {
            Self::One(_) => Ok(vec![self.ask(cmd).await?]),
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

    /// A Cluster's connection mends itself; any other is thrown away with its first fault.
    pub const fn mends_itself(&self) -> bool {
        matches!(self, Self::Cluster(_))
    }
}

impl Target {
    pub fn new(config: &RedisConfig, credentials: &StoreCredentials) -> Self {
        Self { config: config.clone(), credentials: credentials.clone() }
    }

    /// For the log: where it is, and as what.
    pub fn described(&self) -> String {
        let mode = match self.config.mode {
            RedisMode::Single => "one server",
            RedisMode::Sentinel => "Sentinels",
            RedisMode::Cluster => "a Cluster",
        };
        format!("{mode} at {}", self.config.nodes.join(", "))
    }

    /// Connects. No other limit of time is needed around it.
    pub async fn dial(&self, call_limit: Duration) -> RedisResult<Connection> {
        match tokio::time::timeout(DIAL_LIMIT, self.connect(call_limit)).await {
            Ok(connected) => connected,
            Err(_) => Err(timed_out()),
        }
    }

    async fn connect(&self, call_limit: Duration) -> RedisResult<Connection> {
        // The caller's limit counts, and is the same for every kind of connection.
        let plain =
            AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
        match self.config.mode {
            RedisMode::Single => {
                let client = self.single()?;
                Ok(Connection::One(
                    client.get_multiplexed_async_connection_with_config(&plain).await?,
                ))
            }
            RedisMode::Sentinel => {
                let client = self.primary().await?;
                Ok(Connection::One(
                    client.get_multiplexed_async_connection_with_config(&plain).await?,
                ))
            }
            RedisMode::Cluster => {
                let nodes: Vec<ConnectionInfo> = self
                    .addresses()
                    .map(|address| self.info(address))
                    .collect::<RedisResult<_>>()?;
                let mut builder = ClusterClientBuilder::new(nodes)
                    .retries(3)
                    .min_retry_wait(20)
                    .max_retry_wait(200)
                    .connection_timeout(NODE_LIMIT)
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

    /// The primary that most Sentinels name. They are asked anew for each connection, and all at once: one that is silent keeps
    /// nobody waiting, and one that was cut off together with an old primary is outvoted.
    async fn primary(&self) -> RedisResult<Client> {
        let mut asked: FuturesUnordered<_> =
            self.addresses().map(|sentinel| self.named_by(sentinel)).collect();
        let majority = asked.len() / 2 + 1;
        let (mut named, mut fault): (Vec<(String, usize, Client)>, _) = (Vec::new(), no_address());
        while let Some(answer) = asked.next().await {
            let client = match answer {
                Ok(client) => client,
                Err(error) => {
                    fault = error;
                    continue;
                }
            };
            let address = client.get_connection_info().addr().to_string();
            let votes = match named.iter_mut().find(|(named, ..)| *named == address) {
                Some((_, votes, _)) => {
                    *votes += 1;
                    *votes
                }
                None => {
                    named.push((address, 1, client.clone()));
                    1
                }
            };
            if votes >= majority {
                return Ok(client);
            }
        }
        named.into_iter().max_by_key(|(_, votes, _)| *votes).map(|(.., client)| client).ok_or(fault)
    }

    /// The primary that this Sentinel names, if it says itself that it is one.
    async fn named_by(&self, sentinel: ConnectionAddr) -> RedisResult<Client> {
        let mut sentinel = self.sentinel(sentinel)?.build()?;
        match tokio::time::timeout(NODE_LIMIT, sentinel.async_get_client()).await {
            Ok(client) => client,
            Err(_) => Err(timed_out()),
        }
    }

    fn single(&self) -> RedisResult<Client> {
        let address = self.addresses().next().ok_or_else(no_address)?;
        let info = self.info(address)?;
        if self.config.tls {
            Client::build_with_tls(info, self.certificates())
        } else {
            Client::open(info)
        }
    }

    fn sentinel(&self, address: ConnectionAddr) -> RedisResult<SentinelClientBuilder> {
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
        self.config.nodes.iter().filter_map(|node| Node::parse(node)).map(|node| match node {
            Node::Socket(path) => ConnectionAddr::Unix(path),
            Node::Host(host, port) if self.config.tls => {
                ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None }
            }
            Node::Host(host, port) => ConnectionAddr::Tcp(host, port),
        })
    }

    fn info(&self, address: ConnectionAddr) -> RedisResult<ConnectionInfo> {
        // What the library calls itself is nothing that a least-privileged user need be allowed to tell.
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
    (redis::ErrorKind::InvalidClientConfig, "no address of a server is configured").into()
}
