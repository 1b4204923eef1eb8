//! L2 · What the server does in one step, each script on one key alone: so a Cluster may put every record where it likes.
//!
//! Owns: atomicity. Times are passed in; the server's clock frees memory and decides nothing.
//!
//! **Repeated safely.** An answer may be lost after the server has done its part, and the same call is then made again,
//! byte by byte. Each script knows its own work: an insertion by its birth, a replacement and a taking by the sealed
//! bytes, whose random nonce nobody else has drawn. It is then answered as it was the first time, so that a lost answer
//! is neither a lost race nor a second redemption.
//!
//! **When memory is short** the server refuses newcomers. What changes, takes or ends what is there says in its first line
//! that it is to be run all the same (`allow-oom`): a login goes on, and nobody is kept from signing out.

use std::fmt::Write as _;

use redis::Cmd;

/// A script, and the name that the server keeps it under.
pub struct Script {
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

    /// The call by name; the server may not know it.
    pub fn by_name(&self, key: &str, arguments: &[&[u8]]) -> Cmd {
        call("EVALSHA", &self.sha1, key, arguments)
    }

    /// The call with the script itself, which the server then knows.
    pub fn by_body(&self, key: &str, arguments: &[&[u8]]) -> Cmd {
        call("EVAL", self.body, key, arguments)
    }
}

fn call(name: &str, script: &str, key: &str, arguments: &[&[u8]]) -> Cmd {
    let mut cmd = redis::cmd(name);
    cmd.arg(script).arg(1).arg(key);
    arguments.iter().for_each(|argument| {
        cmd.arg(*argument);
    });
    cmd
}

pub struct Scripts {
    pub insert: Script,
    pub keep: Script,
    pub replace: Script,
    pub take: Script,
    pub kill: Script,
    pub remove: Script,
    pub remove_version: Script,
    pub join: Script,
    pub close: Script,
    pub count: Script,
}

/// What a link looks with, whether the servers are there and take writes.
pub fn look() -> Script {
    Script::new("ping", LOOK)
}

impl Default for Scripts {
    fn default() -> Self {
        Self {
            insert: Script::new("insert", INSERT),
            keep: Script::new("load", KEEP),
            replace: Script::new("replace", REPLACE),
            take: Script::new("take", TAKE),
            kill: Script::new("kill", KILL),
            remove: Script::new("remove", REMOVE),
            remove_version: Script::new("remove", REMOVE_VERSION),
            join: Script::new("join", JOIN),
            close: Script::new("revoke", CLOSE),
            count: Script::new("count", COUNT),
        }
    }
}

/// record, now, px → 1 done, 0 exists, -1 revoked meanwhile
const INSERT: &str = "
local old = redis.call('GET', KEYS[1])
if old then
  if old:sub(19, 26) == ARGV[1]:sub(19, 26) then
    if old:sub(2, 2) == 'R' then return -1 end
    return 1
  end
  if old:sub(2, 2) ~= 'R' and struct.unpack('>I8', old, 11) > tonumber(ARGV[2]) then return 0 end
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
return 1";

/// now, grace → {record, what was left of an earlier end in milliseconds, or -1}, or nothing. GETEX, as every reading.
const KEEP: &str = "#!lua flags=allow-oom
local old = redis.call('GETEX', KEYS[1])
if not old then return {} end
if old:sub(2, 2) ~= 'L' then return {old, -1} end
local px = struct.unpack('>I8', old, 11) - tonumber(ARGV[1]) + tonumber(ARGV[2])
local left = redis.call('PTTL', KEYS[1])
if px - left <= tonumber(ARGV[2]) then return {old, -1} end
redis.call('PEXPIRE', KEYS[1], px)
return {old, left}";

/// expected version, first 18 bytes of the new head, sealed value, now, px, expires_at, horizon
/// → {1, old head} done, {0} stale, {-1} gone, {2, birth and families} which must be told of the longer life first
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

/// first 18 bytes of the tombstone's head, sealed tombstone, now, px
/// → {1, record} won, {1, record, 0} won before, {2, head, sealed tombstone} spent, {0} gone
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

/// birth, head of what is left, px → the old head, or nothing. What is left refuses the insertion of that birth alone,
/// which may still be on its way. A tombstone stays.
const KILL: &str = "#!lua flags=allow-oom
local old = redis.call('GET', KEYS[1])
if old and old:sub(2, 2) ~= 'R' and (old:sub(2, 2) == 'T' or old:sub(19, 26) ~= ARGV[1]) then return false end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
if old and old:sub(2, 2) == 'L' then return old:sub(1, 26) end
return false";

/// → the old head, or nothing
const REMOVE: &str = "#!lua flags=allow-oom
local old = redis.call('GET', KEYS[1])
if not old then return false end
redis.call('DEL', KEYS[1])
return old:sub(1, 26)";

/// version, now, grace → {the old head, what was left of an earlier end in milliseconds, or -1}, or nothing
const REMOVE_VERSION: &str = "#!lua flags=allow-oom
local old = redis.call('GETEX', KEYS[1])
if not old or old:sub(2, 10) ~= 'L' .. ARGV[1] then return {} end
local left = redis.call('PTTL', KEYS[1])
if struct.unpack('>I8', old, 11) - tonumber(ARGV[2]) + tonumber(ARGV[3]) - left <= tonumber(ARGV[3]) then left = -1 end
redis.call('DEL', KEYS[1])
return {old:sub(1, 26), left}";

/// member, expires_at, now, px, what is over for long → 1 joined, 0 the family is closed
const JOIN: &str = "
local closed = redis.call('ZSCORE', KEYS[1], '!')
if closed and tonumber(closed) > tonumber(ARGV[3]) then return 0 end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[5])
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[4]) then redis.call('PEXPIRE', KEYS[1], ARGV[4]) end
return 1";

/// until, now, px, what is over for long → members whose records may live, also by a clock that is behind
const CLOSE: &str = "#!lua flags=allow-oom
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

/// Deletes what is never there: a server that takes no writes, being a replica by now or cut off from its replicas, says so.
const LOOK: &str = "return redis.call('DEL', KEYS[1])";

/// px, hub, number of the batch, then member and addition in turn → each member's sum. By commands that the verbs need
/// anyway, so that no user's rights must be widened.
const COUNT: &str = "
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
