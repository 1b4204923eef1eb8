//! Defines the Lua scripts, each of which runs atomically.
//!
//! Callers pass times in; the server's clock only frees memory. A script works on one key, which
//! lets a Cluster place every record anywhere. Only `insert` takes further keys, and only where one
//! server holds all of them: those of the record's families, and those of a second record.
//!
//! **Repeatable.** When a reply is lost, the same call is made again, byte by byte. Each script
//! recognises its own work: an insertion by its id, a replacement and a taking by the ciphertext
//! with its random nonce. It then replies as it did the first time, so that a lost reply is neither
//! a lost race nor a second redemption.
//!
//! **Out of memory.** The server rejects new records. Scripts that change, take or revoke existing
//! records set the flag `allow-oom`, so that logins continue and users can sign out.

use std::fmt::Write as _;

use redis::Cmd;

/// Script, and the SHA-1 by which the server caches it.
pub(super) struct Script {
    pub verb: &'static str,
    body: &'static str,
    sha1: String,
}

impl Script {
    fn new(verb: &'static str, body: &'static str) -> Self {
        let mut sha1 = String::with_capacity(40);
        for byte in openssl::sha::sha1(body.as_bytes()) {
            let _infallible = write!(sha1, "{byte:02x}");
        }
        Self { verb, body, sha1 }
    }

    /// Returns the EVALSHA call; the server may not know the script.
    pub(super) fn by_hash(&self, keys: &[&str], arguments: &[&[u8]]) -> Cmd {
        call("EVALSHA", &self.sha1, keys, arguments)
    }

    /// Returns the EVAL call, which also caches the script.
    pub(super) fn by_body(&self, keys: &[&str], arguments: &[&[u8]]) -> Cmd {
        call("EVAL", self.body, keys, arguments)
    }
}

fn call(name: &str, script: &str, keys: &[&str], arguments: &[&[u8]]) -> Cmd {
    let bytes = keys.iter().map(|key| key.len()).chain(arguments.iter().map(|part| part.len()));
    let count = 3 + keys.len() + arguments.len();
    let mut cmd = Cmd::with_capacity(count, name.len() + script.len() + 2 + bytes.sum::<usize>());
    cmd.arg(name).arg(script).arg(keys.len());
    for key in keys {
        cmd.arg(*key);
    }
    for argument in arguments {
        cmd.arg(*argument);
    }
    cmd
}

/// Scripts of the store operations.
pub(super) struct Scripts {
    pub insert: Script,
    pub load_and_extend: Script,
    pub replace: Script,
    pub take: Script,
    pub revoke_member: Script,
    pub remove: Script,
    pub remove_version: Script,
    pub join_family: Script,
    pub close_family: Script,
    pub add_counts: Script,
}

/// Returns the script of the health check: whether the server accepts writes.
pub(super) fn ping() -> Script {
    Script::new("ping", PING)
}

impl Default for Scripts {
    fn default() -> Self {
        Self {
            insert: Script::new("insert", INSERT),
            load_and_extend: Script::new("load", LOAD_AND_EXTEND),
            replace: Script::new("replace", REPLACE),
            take: Script::new("take", TAKE),
            revoke_member: Script::new("kill", REVOKE_MEMBER),
            remove: Script::new("remove", REMOVE),
            remove_version: Script::new("remove", REMOVE_VERSION),
            join_family: Script::new("join", JOIN_FAMILY),
            close_family: Script::new("revoke", CLOSE_FAMILY),
            add_counts: Script::new("count", ADD_COUNTS),
        }
    }
}

/// For each record: its bytes, now, px; if the keys of its families follow its own, also member,
/// `expires_at`, family px, expired before → 1 inserted, 0 exists, -1 revoked meanwhile; the second
/// record exists -2, is revoked -3. A lone key joins no family, however many the record has.
///
/// The record is written before its family, so that a server without memory rejects all of it.
const INSERT: &str = "
local key, at, failed = 1, 1, 0
while KEYS[key] do
  local record, now, last = ARGV[at], tonumber(ARGV[at + 1]), key
  if #KEYS > 1 then last = key + record:byte(27) end
  for family = key + 1, last do
    local closed = redis.call('ZSCORE', KEYS[family], '!')
    if closed and tonumber(closed) > now then return failed - 1 end
  end
  local old = redis.call('GET', KEYS[key])
  if old and old:sub(19, 26) == record:sub(19, 26) then
    if old:sub(2, 2) == 'R' then return failed - 1 end
  else
    if old and old:sub(2, 2) ~= 'R' and struct.unpack('>I8', old, 11) > now then return failed end
    redis.call('SET', KEYS[key], record, 'PX', ARGV[at + 2])
    for family = key + 1, last do
      redis.call('ZREMRANGEBYSCORE', KEYS[family], '-inf', ARGV[at + 6])
      redis.call('ZADD', KEYS[family], ARGV[at + 4], ARGV[at + 3])
      if redis.call('PTTL', KEYS[family]) < tonumber(ARGV[at + 5]) then redis.call('PEXPIRE', KEYS[family], ARGV[at + 5]) end
    end
  end
  key, at, failed = last + 1, at + 7, failed - 2
end
return 1";

/// now, grace → {record, remaining ms of an earlier expiry or -1}, or nothing. GETEX as for reads.
const LOAD_AND_EXTEND: &str = "#!lua flags=allow-oom
local old = redis.call('GETEX', KEYS[1])
if not old then return {} end
if old:sub(2, 2) ~= 'L' then return {old, -1} end
local px = struct.unpack('>I8', old, 11) - tonumber(ARGV[1]) + tonumber(ARGV[2])
local left = redis.call('PTTL', KEYS[1])
if px - left <= tonumber(ARGV[2]) then return {old, -1} end
redis.call('PEXPIRE', KEYS[1], px)
return {old, left}";

/// expected version, first 18 bytes of the new header, encrypted value, now, px, `expires_at`,
/// horizon → {1, old header} replaced, {0} stale, {-1} gone, {2, insertion id and families} the
/// families must first learn the later expiry
const REPLACE: &str = "#!lua flags=allow-oom
local old = redis.call('GET', KEYS[1])
if not old or old:sub(2, 2) ~= 'L' then return {-1} end
local count = old:byte(27)
local from = 28
if count > 0 then from = 36 + 16 * count end
if old:sub(1, 18) == ARGV[2] and old:sub(from) == ARGV[3] then return {1} end
if struct.unpack('>I8', old, 11) <= tonumber(ARGV[4]) then return {-1} end
if old:sub(3, 10) ~= ARGV[1] then return {0} end
local families = old:sub(27, from - 1)
if count > 0 and struct.unpack('>I8', old, 28) < tonumber(ARGV[6]) then
  if tonumber(ARGV[7]) < tonumber(ARGV[6]) then return {2, old:sub(19, 26) .. old:sub(36, from - 1)} end
  families = old:sub(27, 27) .. struct.pack('>I8', tonumber(ARGV[7])) .. old:sub(36, from - 1)
end
redis.call('SET', KEYS[1], ARGV[2] .. old:sub(19, 26) .. families .. ARGV[3], 'PX', ARGV[5])
return {1, old:sub(1, 26)}";

/// first 18 bytes of the tombstone's header, encrypted tombstone, now, px
/// → {1, record} taken, {1, record, 0} taken before by the same call, {2, header, encrypted
/// tombstone} already taken, {0} gone
const TAKE: &str = "#!lua flags=allow-oom
local old = redis.call('GET', KEYS[1])
if not old then return {0} end
local state = old:sub(2, 2)
if state == 'T' then
  local length = struct.unpack('>I4', old, 27)
  local tombstone = old:sub(31, 30 + length)
  if tombstone == ARGV[2] then return {1, old:sub(31 + length), 0} end
  if struct.unpack('>I8', old, 11) <= tonumber(ARGV[3]) then return {0} end
  return {2, old:sub(1, 26), tombstone}
end
if state ~= 'L' or struct.unpack('>I8', old, 11) <= tonumber(ARGV[3]) then return {0} end
redis.call('SET', KEYS[1], ARGV[1] .. old:sub(19, 26) .. struct.pack('>I4', #ARGV[2]) .. ARGV[2] .. old, 'PX', ARGV[4])
return {1, old}";

/// insertion id, header of the revocation marker, px → the old header, or nothing. The marker
/// rejects only the insertion with that id, which may still be in flight. A tombstone stays.
const REVOKE_MEMBER: &str = "#!lua flags=allow-oom
local old = redis.call('GET', KEYS[1])
if old and old:sub(2, 2) ~= 'R' and (old:sub(2, 2) == 'T' or old:sub(19, 26) ~= ARGV[1]) then return false end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
if old and old:sub(2, 2) == 'L' then return old:sub(1, 26) end
return false";

/// → the old header, or nothing
const REMOVE: &str = "#!lua flags=allow-oom
local old = redis.call('GET', KEYS[1])
if not old then return false end
redis.call('DEL', KEYS[1])
return old:sub(1, 26)";

/// version, now, grace → {old header, remaining ms of an earlier expiry or -1}, or nothing
const REMOVE_VERSION: &str = "#!lua flags=allow-oom
local old = redis.call('GETEX', KEYS[1])
if not old or old:sub(2, 10) ~= 'L' .. ARGV[1] then return {} end
local left = redis.call('PTTL', KEYS[1])
if struct.unpack('>I8', old, 11) - tonumber(ARGV[2]) + tonumber(ARGV[3]) - left <= tonumber(ARGV[3]) then left = -1 end
redis.call('DEL', KEYS[1])
return {old:sub(1, 26), left}";

/// member, `expires_at`, now, px, expired before → 1 joined, 0 the family is closed
const JOIN_FAMILY: &str = "
local closed = redis.call('ZSCORE', KEYS[1], '!')
if closed and tonumber(closed) > tonumber(ARGV[3]) then return 0 end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[5])
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[4]) then redis.call('PEXPIRE', KEYS[1], ARGV[4]) end
return 1";

/// until, now, px, expired before → members whose records may live, also by a slow clock
const CLOSE_FAMILY: &str = "#!lua flags=allow-oom
local closed = redis.call('ZSCORE', KEYS[1], '!')
if tonumber(ARGV[1]) > tonumber(ARGV[2]) and not (closed and tonumber(closed) > tonumber(ARGV[1])) then
  redis.call('ZADD', KEYS[1], ARGV[1], '!')
  if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
end
local members = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. ARGV[4], '+inf')
local alive = {}
for _, member in ipairs(members) do
  if member ~= '!' then alive[#alive + 1] = member end
end
return alive";

/// Deletes a key that never exists: a replica, or a primary without replicas, rejects the write.
const PING: &str = "return redis.call('DEL', KEYS[1])";

/// px, hub, number of the batch, then member and addition in turn → each member's sum. Uses only
/// commands that the store operations need anyway, so that the Redis user needs no further rights.
const ADD_COUNTS: &str = "
local last = redis.call('ZSCORE', KEYS[1], ARGV[2])
local again = last and tonumber(last) >= tonumber(ARGV[3])
local sums = {}
for at = 4, #ARGV, 2 do
  local sum
  if again then sum = redis.call('ZSCORE', KEYS[1], ARGV[at]) or 0
  else sum = redis.call('ZADD', KEYS[1], 'INCR', ARGV[at + 1], ARGV[at]) end
  sums[#sums + 1] = tonumber(sum)
end
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[2])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[1]) / 2 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return sums";
