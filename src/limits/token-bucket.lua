-- Buckets and leases, as bucket.ts describes them. One call is one atomic step.
--
-- A bucket's key holds the instant at which it is full, in integer microseconds; a missing key is a full bucket. The
-- marker of an adjustment holds the instant at which it is forgotten.
-- A lease set's key is a sorted set: the member is a request, the score the instant at which its lease ends.
--
-- ARGV[1]  operation
-- ARGV[2]  now in microseconds; '' (always, but in tests) asks the clock of Redis
-- ARGV[3+] of each operation

local now = tonumber(ARGV[2])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end

-- Numbers above 1e14 would otherwise be written with an exponent and lose digits.
local function digits(number)
  return string.format('%.0f', number)
end

-- Expiry only tidies up, since an instant that has passed reads as full: a minute more does no harm, and keeps a key
-- whose instant was computed with another time than the server's.
local function expiry_ms(us)
  return digits(math.max(0, math.ceil(us / 1000)) + 60000)
end

local function read(key)
  return math.max(tonumber(redis.call('GET', key) or now), now)
end

local function write(key, full_at)
  redis.call('SET', key, digits(full_at), 'PX', expiry_ms(full_at - now))
end

-- Whether the lease of this request stands, and how many stand.
local function count(key, id)
  local ends = redis.call('ZSCORE', key, id)
  local held = redis.call('ZCOUNT', key, '(' .. digits(now), '+inf')
  return ends and tonumber(ends) > now or false, held
end

local function hold(key, ttl, ids)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', digits(now))
  local members = {}
  for _, id in ipairs(ids) do
    members[#members + 1] = digits(now + ttl)
    members[#members + 1] = id
  end
  redis.call('ZADD', key, unpack(members))
  redis.call('PEXPIRE', key, expiry_ms(ttl))
end

local operations = {}

-- KEYS: buckets, then lease sets. ARGV: id, lease ttl, wait for a slot, number of buckets, cost and burst of each
-- bucket, limit of each lease set. Returns: allowed, index that refused or 0, wait, levels, members. A refusal writes
-- nothing at all.
function operations.take()
  local id, ttl, slot_wait, buckets = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
  local wait, refused_by, repeated = 0, 0, false
  local full_at, costs, owned, held = {}, {}, {}, {}
  for index = 1, buckets do
    local cost, burst = tonumber(ARGV[5 + 2 * index]), tonumber(ARGV[6 + 2 * index])
    full_at[index], costs[index] = read(KEYS[index]), cost
    local overshoot = full_at[index] + cost - now - burst
    if overshoot > wait then wait, refused_by = overshoot, index end
  end
  for index = buckets + 1, #KEYS do
    local limit = tonumber(ARGV[6 + buckets + index])
    local own, standing = count(KEYS[index], id)
    if own and index == buckets + 1 then repeated = true end
    if not own and standing >= limit and slot_wait > wait then wait, refused_by = slot_wait, index end
    owned[index], held[index] = own, standing
  end
  local allowed = repeated or refused_by == 0
  local reply = { allowed and 1 or 0, allowed and 0 or refused_by, allowed and 0 or wait }
  for index = 1, buckets do
    if allowed and not repeated and costs[index] > 0 then
      full_at[index] = full_at[index] + costs[index]
      write(KEYS[index], full_at[index])
    end
    reply[#reply + 1] = full_at[index] - now
  end
  for index = buckets + 1, #KEYS do
    if allowed then
      hold(KEYS[index], ttl, { id })
      if not owned[index] then held[index] = held[index] + 1 end
    end
    reply[#reply + 1] = held[index]
  end
  return reply
end

-- Moves the buckets that follow the marker by the deltas that begin at the given argument, unless that was done.
local function adjust(buckets, first)
  if read(KEYS[1]) > now then return 0 end
  write(KEYS[1], now + ARGV[3])
  for index = 1, buckets do
    local key = KEYS[1 + index]
    local full_at = read(key) + ARGV[first - 1 + index]
    if full_at > now then write(key, full_at) else redis.call('DEL', key) end
  end
  return 1
end

-- KEYS: marker, then buckets. ARGV: ttl of the marker, delta of each bucket. Returns whether it was done now.
function operations.adjust()
  return adjust(#KEYS - 1, 4)
end

-- What moved while Redis was not told: as if it had been told when it happened, so that time since then counts once.
-- KEYS: marker, then buckets. ARGV: ttl of the marker, time since the first move, delta and burst of each bucket.
function operations.catch_up()
  if read(KEYS[1]) > now then return 0 end
  write(KEYS[1], now + ARGV[3])
  for index = 2, #KEYS do
    local delta, burst = tonumber(ARGV[1 + 2 * index]), tonumber(ARGV[2 + 2 * index])
    local before = math.max(tonumber(redis.call('GET', KEYS[index]) or 0), now - ARGV[4])
    local full_at = math.min(before + delta, math.max(before, now + burst))
    -- Kept even if it has passed: the next process adds its part to it.
    write(KEYS[index], full_at)
  end
  return 1
end

-- The end of a request. KEYS: marker, buckets, then lease sets. ARGV: ttl of the marker, id, delta of each bucket.
function operations.finish()
  local buckets = #ARGV - 4
  adjust(buckets, 5)
  for index = 2 + buckets, #KEYS do redis.call('ZREM', KEYS[index], ARGV[4]) end
  return 1
end

-- KEYS: a lease set. ARGV: lease ttl, ids.
function operations.renew()
  hold(KEYS[1], tonumber(ARGV[3]), { unpack(ARGV, 4) })
  return 1
end

-- KEYS: lease sets. ARGV: id.
function operations.release()
  for _, key in ipairs(KEYS) do redis.call('ZREM', key, ARGV[3]) end
  return 1
end

return operations[ARGV[1]]()
