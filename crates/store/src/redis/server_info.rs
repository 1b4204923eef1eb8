//! Reads the configuration of the servers: whether it is safe, and what an operator should know.

use redis::{RedisResult, Value};

use super::client::Connection;
use crate::CLOCK_SKEW_GRACE;
use passerelle_protocol::env::Timestamp;

/// INFO of each primary, and the time of one of them.
#[derive(Clone, Debug)]
pub(super) struct DeploymentInfo {
    servers: Vec<ServerInfo>,
    /// Time by the server's clock.
    pub time: Timestamp,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct ServerInfo {
    product: String,
    version: String,
    eviction_policy: String,
    maxmemory: u64,
    has_append_only_file: bool,
    role: String,
    replicas: u64,
    is_cluster_node: bool,
}

/// Queries INFO from every primary and TIME from one server.
///
/// # Errors
/// The connection fails.
pub(super) async fn query_deployment(connection: &mut Connection) -> RedisResult<DeploymentInfo> {
    let answers = connection.query_all_primaries(&redis::cmd("INFO")).await?;
    let servers = answers.iter().filter_map(text).map(ServerInfo::parse).collect();
    let time = match connection.query(&redis::cmd("TIME")).await? {
        Value::Array(parts) => match parts.as_slice() {
            [seconds, micros] => {
                Timestamp::from_millis(number(seconds) * 1000 + number(micros) / 1000)
            }
            _ => Timestamp::default(),
        },
        _ => Timestamp::default(),
    };
    Ok(DeploymentInfo { servers, time })
}

fn text(value: &Value) -> Option<&str> {
    match value {
        Value::BulkString(bytes) => std::str::from_utf8(bytes).ok(),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => Some(text),
        _ => None,
    }
}

fn number(value: &Value) -> u64 {
    match value {
        Value::Int(number) => u64::try_from(*number).unwrap_or_default(),
        other => text(other).and_then(|text| text.parse().ok()).unwrap_or_default(),
    }
}

impl ServerInfo {
    fn parse(info: &str) -> Self {
        let mut server = Self::default();
        for (name, value) in info.lines().filter_map(|line| line.trim_ascii_end().split_once(':')) {
            match name {
                // Valkey reports both: the version of Redis that it is compatible with, and its
                // own.
                "redis_version" if server.product.is_empty() => {
                    (server.product, server.version) = ("Redis".into(), value.into());
                }
                "valkey_version" => {
                    (server.product, server.version) = ("Valkey".into(), value.into());
                }
                "maxmemory_policy" => server.eviction_policy = value.into(),
                "maxmemory" => server.maxmemory = value.parse().unwrap_or_default(),
                "aof_enabled" => server.has_append_only_file = value == "1",
                "role" => server.role = value.into(),
                "redis_mode" => server.is_cluster_node = value == "cluster",
                "connected_slaves" => server.replicas = value.parse().unwrap_or_default(),
                _ => {}
            }
        }
        server
    }

    fn check_suitability(&self) -> Result<(), String> {
        if self.eviction_policy != "noeviction" {
            return Err(format!(
                "its maxmemory-policy is {}, under which it forgets sessions and used codes when memory is short: set \
                 maxmemory-policy noeviction",
                if self.eviction_policy.is_empty() { "unknown" } else { &self.eviction_policy }
            ));
        }
        if self.role == "slave" {
            return Err(
                "it is a replica, which accepts no writes: name the primary, or its Sentinels"
                    .to_owned(),
            );
        }
        let mut parts = self.version.split('.').map(|part| part.parse::<u32>().unwrap_or_default());
        let version = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        if self.product == "Redis" && version < (7, 0) {
            return Err(format!(
                "its version {} is older than 7.0, and lets a script write to a primary that is cut off from \
                 its replicas: upgrade it",
                self.version
            ));
        }
        Ok(())
    }
}

impl DeploymentInfo {
    /// Checks that the configuration of all servers is safe.
    ///
    /// # Errors
    /// Returns what to change.
    pub(super) fn check_suitability(&self) -> Result<(), String> {
        self.servers.iter().try_for_each(ServerInfo::check_suitability)
    }

    /// Returns whether the servers are nodes of a Cluster, whatever the configuration calls them.
    pub(super) fn is_cluster(&self) -> bool {
        self.servers.iter().any(|server| server.is_cluster_node)
    }

    /// Returns a one-line summary for the operator.
    pub(super) fn summary(&self, now: Timestamp) -> String {
        let (ahead, behind) = (self.time.since(now), now.since(self.time));
        let clock = if ahead > behind {
            format!("{} ms ahead", ahead.as_millis())
        } else {
            format!("{} ms behind", behind.as_millis())
        };
        let fix = if self.has_wrong_clock(now) {
            ", more than the hubs tolerate: synchronize both machines with NTP"
        } else {
            ""
        };
        let servers: Vec<String> = self.servers.iter().map(ServerInfo::summary).collect();
        format!("{}; its clock is {clock}{fix}", servers.join(" · "))
    }

    /// Returns whether the clock of the servers differs from this machine's by more than records
    /// tolerate.
    pub(super) fn has_wrong_clock(&self, now: Timestamp) -> bool {
        self.time.since(now).max(now.since(self.time)) > CLOCK_SKEW_GRACE
    }
}

impl ServerInfo {
    fn summary(&self) -> String {
        let memory = match self.maxmemory {
            0 => "no memory limit".to_owned(),
            bytes => format!("{} MB at most", bytes >> 20),
        };
        let persistence = if self.has_append_only_file {
            "append-only file"
        } else {
            "no append-only file: a restart loses all records"
        };
        format!(
            "{} {}, {}, {memory}, {persistence}, {} {}",
            self.product,
            self.version,
            self.eviction_policy,
            self.replicas,
            if self.replicas == 1 { "replica" } else { "replicas" }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_beyond_the_tolerance_is_reported_with_the_fix() {
        let info = DeploymentInfo { servers: Vec::new(), time: Timestamp::from_seconds(1000) };
        for (now, is_wrong) in [(1000, false), (1060, false), (1061, true), (939, true)] {
            let now = Timestamp::from_seconds(now);
            assert_eq!(info.has_wrong_clock(now), is_wrong, "{now:?}");
            assert_eq!(info.summary(now).contains("NTP"), is_wrong, "{now:?}");
        }
    }

    #[test]
    fn an_evicting_read_only_or_old_server_is_rejected() {
        let check = |info: &str| ServerInfo::parse(info).check_suitability();
        assert_eq!(
            check("redis_version:7.0.15\r\nmaxmemory_policy:noeviction\r\nrole:master\r\n"),
            Ok(())
        );
        assert_eq!(
            check("redis_version:7.2.4\r\nvalkey_version:8.1.0\r\nmaxmemory_policy:noeviction\r\n"),
            Ok(())
        );
        for (info, word) in [
            ("redis_version:7.0.15\r\nmaxmemory_policy:allkeys-lru\r\n", "allkeys-lru"),
            ("redis_version:7.0.15\r\nmaxmemory_policy:volatile-ttl\r\n", "volatile-ttl"),
            ("redis_version:7.0.15\r\n", "unknown"),
            ("redis_version:7.0.15\r\nmaxmemory_policy:noeviction\r\nrole:slave\r\n", "replica"),
            ("redis_version:6.0.16\r\nmaxmemory_policy:noeviction\r\n", "6.0.16"),
            ("redis_version:6.2.14\r\nmaxmemory_policy:noeviction\r\n", "6.2.14"),
        ] {
            assert!(check(info).unwrap_err().contains(word), "{info}");
        }
    }
}
