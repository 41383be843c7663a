#!lua
-- The line above lets Redis turn a call away before it does anything, when it is full or a replica:
-- https://redis.io/docs/latest/develop/programmability/lua-api/#script_flags
--
-- Buckets and leases, as bucket.ts describes them. One call is a batch of steps, in their order and at one instant.
-- What a step does it does as a whole; one that fails leaves the others alone.
--
-- A bucket's key holds the instant at which it is full, in integer microseconds; a missing key is a full bucket. The
-- marker of an adjustment holds the instant at which it is forgotten.
-- A lease set's key is a sorted set: the member is a request, the score the instant at which its lease ends.
--
-- KEYS     of all steps, each once; a step names a key by its place here
-- ARGV[1]  now in microseconds; '' (always, but in tests) asks the clock of Redis
-- ARGV[2]  how long a lease lasts, ARGV[3] how long to wait for a slot, ARGV[4] how long a marker lasts, ARGV[5] the most
--          that a bucket owes, in microseconds
-- ARGV[6]  the steps, in JSON: of each an array of its operation and what that wants to know
--
-- Returns the integers that the steps answer, one after the other; of a step that failed the text of its error.

local now = tonumber(ARGV[1])
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

local lease_ttl, slot_wait, marker_ttl = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local most_debt = tonumber(ARGV[5])
local lease_end, marker_end = digits(now + lease_ttl), digits(now + marker_ttl)

-- The instants of the buckets that steps have asked for, and which of them they moved: a batch mostly asks for the
-- same few again and again, so each is read once and written once.
local full_at, moved = {}, {}

-- What is further ahead than any bucket can be was written before the clock of Redis was set back. It would keep
-- everybody out until that time has come again, and tells nothing.
local function read(key)
  local at = full_at[key]
  if not at then
    at = math.max(tonumber(redis.call('GET', KEYS[key]) or now), now)
    if at > now + 2 * most_debt then at = now end
    full_at[key] = at
  end
  return at
end

local function move(key, by)
  full_at[key] = math.max(math.min(read(key) + by, now + most_debt), now)
  moved[key] = true
end

local function write(key, at)
  redis.call('SET', KEYS[key], digits(at), 'PX', expiry_ms(at - now))
end

local function write_moved()
  for key in pairs(moved) do
    if full_at[key] > now then write(key, full_at[key]) else redis.call('DEL', KEYS[key]) end
  end
  full_at, moved = {}, {}
end

-- How many stand in the lease sets that steps have asked for, and which of them got a member.
local held, joined = {}, {}

local function standing(key)
  if not held[key] then
    redis.call('ZREMRANGEBYSCORE', KEYS[key], '-inf', digits(now))
    held[key] = redis.call('ZCARD', KEYS[key])
  end
  return held[key]
end

-- Leases that end later than any can are of a time before the clock of Redis was set back; who lives renews its own.
local function is_full(key, limit)
  if standing(key) < limit then return false end
  held[key] = held[key] - redis.call('ZREMRANGEBYSCORE', KEYS[key], '(' .. digits(now + 2 * lease_ttl), '+inf')
  return held[key] >= limit
end

-- Members come with the ends of their leases before them.
local function hold(key, ...)
  held[key] = standing(key) + redis.call('ZADD', KEYS[key], ...)
  joined[key] = true
end

local function free(key, id)
  local freed = redis.call('ZREM', KEYS[key], id)
  -- One whose lease has ended does not count; without `standing` nobody knows whether it had.
  if held[key] then held[key] = held[key] - freed end
end

-- Whether this is the first time in the marker's life, which begins anew each time.
local function mark(key)
  local before = redis.call('SET', KEYS[key], marker_end, 'GET', 'PX', expiry_ms(marker_ttl))
  return not before or tonumber(before) <= now
end

local answers = {}
local function answer(integer)
  answers[#answers + 1] = integer
end

local operations = {}

-- Of what a take asks for: the longest wait, the index of what makes it wait or 0, and whether the request has its place.
local function judge(step)
  local last = 3 + 3 * step[3]
  local wait, refused_by, repeated = 0, 0, false
  for at = 4, last, 3 do
    local overshoot = read(step[at]) + step[at + 1] - now - step[at + 2]
    if overshoot > wait then wait, refused_by = overshoot, (at - 1) / 3 end
  end
  for at = last + 1, #step, 2 do
    local full = is_full(step[at], step[at + 1])
    if at == last + 1 and redis.call('ZSCORE', KEYS[step[at]], step[2]) then repeated = true end
    if full and slot_wait > wait then wait, refused_by = slot_wait, step[3] + (at - last + 1) / 2 end
  end
  return wait, refused_by, repeated
end

local function answer_take(step, allowed, refused_by, wait)
  answer(allowed and 1 or 0)
  answer(allowed and 0 or refused_by)
  answer(allowed and 0 or wait)
  local last = 3 + 3 * step[3]
  for at = 4, last, 3 do answer(full_at[step[at]] - now) end
  for at = last + 1, #step, 2 do answer(held[step[at]]) end
end

-- id, number of buckets, key, cost and burst of each, key and limit of each lease set. Answers: allowed, index that
-- refused or 0, wait, levels, members. A refusal takes nothing at all.
function operations.take(step)
  local last = 3 + 3 * step[3]
  local wait, refused_by, repeated = judge(step)
  local allowed = repeated or refused_by == 0
  if allowed then
    for at = last + 1, #step, 2 do hold(step[at], lease_end, step[2]) end
  end
  if allowed and not repeated then
    for at = 4, last, 3 do
      if step[at + 1] > 0 then move(step[at], step[at + 1]) end
    end
  end
  answer_take(step, allowed, refused_by, wait)
end

-- Whether a take of the same would be allowed; takes nothing. Answers as a take does.
function operations.look(step)
  local wait, refused_by = judge(step)
  answer_take(step, refused_by == 0, refused_by, wait)
end

-- The end of a request. id, marker, number of buckets, key and delta of each, keys of lease sets. Buckets move once for each
-- marker. Answers 1.
function operations.finish(step)
  local last = 4 + 2 * step[4]
  -- Before anything is written, since a key may hold something else.
  for at = 5, last, 2 do read(step[at]) end
  if mark(step[3]) then
    for at = 5, last, 2 do move(step[at], step[at + 1]) end
  end
  for at = last + 1, #step do free(step[at], step[2]) end
  answer(1)
end

-- What moved while Redis was not told: as if it had been told when it happened, so that time since then counts once.
-- marker, time since the first move, key, delta and burst of each bucket. Answers 1.
function operations.catch_up(step)
  if mark(step[2]) then
    write_moved()
    for at = 4, #step, 3 do
      local before = math.max(tonumber(redis.call('GET', KEYS[step[at]]) or 0), now - step[3])
      -- Kept even if it has passed: the next process adds its part to it.
      write(step[at], math.min(before + step[at + 1], math.max(before, now + step[at + 2])))
    end
  end
  answer(1)
end

-- key of a lease set, ids. Answers 1.
function operations.renew(step)
  local members = {}
  for at = 3, #step do
    members[#members + 1] = lease_end
    members[#members + 1] = step[at]
  end
  hold(step[2], unpack(members))
  answer(1)
end

-- id, keys of lease sets. Answers 1.
function operations.release(step)
  for at = 3, #step do free(step[at], step[2]) end
  answer(1)
end

for _, step in ipairs(cjson.decode(ARGV[6])) do
  local done, failure = pcall(operations[step[1]], step)
  if not done then answer(type(failure) == 'table' and failure.err or tostring(failure)) end
end
write_moved()
for key in pairs(joined) do redis.call('PEXPIRE', KEYS[key], expiry_ms(lease_ttl)) end
return answers
