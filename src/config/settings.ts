import { isIP } from 'node:net'
import { isRange } from '@/net/ip-range.ts'
import { SENTINELS } from '@/redis/sentinel.ts'
import { redactUrl, redactValue } from './redact.ts'

/** Where a listener binds. Port 0 asks the system for a free one. */
export interface ListenAddress {
  readonly host: string
  readonly port: number
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
/** `LOG_LEVEL`, as pino calls them. */
type LogLevel = (typeof LOG_LEVELS)[number]

const LOG_FORMATS = ['json', 'pretty'] as const
/** `LOG_FORMAT`: a line of JSON for machines, or one for people. */
type LogFormat = (typeof LOG_FORMATS)[number]

/** Everything the environment says about one deployment. */
export interface Settings {
  /** The relay paths: `HOST`, `PORT`. */
  readonly api: ListenAddress
  /** The web console: `CONSOLE_HOST`, `CONSOLE_PORT`. */
  readonly console: ListenAddress
  /** Health and metrics: `OPS_HOST`, `OPS_PORT`. */
  readonly ops: ListenAddress
  /** Postgres; undefined is the embedded one in `dataDir`. */
  readonly databaseUrl: string | undefined
  /** Redis: one address, a comma list of cluster nodes, or sentinels; undefined counts limits in this process. */
  readonly redisUrl: string | undefined
  /** State of the embedded default. */
  readonly dataDir: string
  /** The declarative file, if the operator named one; undefined is `./tollgate.yaml` where it exists. */
  readonly configFile: string | undefined
  /** Processes sharing the API port. */
  readonly workers: number
  /** Seals upstream keys, second factors and kept content; undefined: one is made in `dataDir`. Never logged. */
  readonly secret: string | undefined
  readonly logLevel: LogLevel
  readonly logFormat: LogFormat
  /** Largest request body after decoding, in bytes. */
  readonly maxBodyBytes: number
  /** Whether Responses are served over WebSocket, too; else the upgrade is a 426. */
  readonly responsesWebSocket: boolean
  /** Whether a response is kept whose request says nothing of `store`, as at OpenAI; else who wants that says so. */
  readonly storesUnasked: boolean
  /** How long new work is still taken after SIGTERM, while `/readyz` sends it elsewhere already, in ms. */
  readonly shutdownDelayMs: number
  /** How long open streams may run on after that, in ms. */
  readonly shutdownGraceMs: number
  /** What the console shows as the API's address, without a trailing slash; undefined: from the listener. */
  readonly publicApiUrl: string | undefined
  /** What links to the console start with, without a trailing slash; undefined: from the listener. */
  readonly publicConsoleUrl: string | undefined
  /** Where spans are exported to, without `/v1/traces`; undefined: nowhere. */
  readonly otlpEndpoint: string | undefined
  /** Addresses and CIDR ranges of proxies whose `X-Forwarded-For` is believed, on the API host and the console. */
  readonly trustedProxies: readonly string[]
  /** Origins whose pages may call the API from a browser; `*`: all. */
  readonly corsOrigins: readonly string[]
}

/** Variables by name, as `process.env` has them. A deployment's settings are read from one and from nowhere else. */
export type Environment = Readonly<Record<string, string | undefined>>

/** One or more environment variables are wrong. Each line names the variable, what it was and what it may be. */
export class SettingsError extends Error {
  readonly lines: readonly string[]

  constructor(lines: readonly string[]) {
    super(lines.join('\n'))
    this.name = 'SettingsError'
    this.lines = lines
  }
}

/**
 * The settings that the environment holds. Pure: reads nothing else. A variable that is empty counts as absent.
 * `terminal` says whether output goes to a person, which decides the default log format. `warn` is told of each variable
 * that looks like one of these, misspelt.
 */
export function readSettings(
  env: Environment,
  terminal = false,
  warn: (line: string) => void = () => {},
): Settings {
  const read = new Reader(env)
  const settings: Settings = Object.freeze({
    api: read.listener('HOST', 'PORT', { host: '0.0.0.0', port: 8080 }),
    console: read.listener('CONSOLE_HOST', 'CONSOLE_PORT', { host: '127.0.0.1', port: 8081 }),
    ops: read.listener('OPS_HOST', 'OPS_PORT', { host: '127.0.0.1', port: 9090 }),
    databaseUrl: read.databaseUrl('DATABASE_URL'),
    redisUrl: read.address(
      'REDIS_URL',
      areRedisAddresses,
      'a redis:// or rediss:// address, those of a cluster, which has no other database than 0, or redis+sentinel://HOST,HOST/NAME',
    ),
    dataDir: read.path('DATA_DIR') ?? './data',
    configFile: read.path('TOLLGATE_CONFIG'),
    workers: read.integer('WORKERS', 1, 1024) ?? 1,
    secret: read.secret('TOLLGATE_SECRET', 32),
    logLevel: read.oneOf('LOG_LEVEL', LOG_LEVELS) ?? 'info',
    logFormat: read.oneOf('LOG_FORMAT', LOG_FORMATS) ?? (terminal ? 'pretty' : 'json'),
    maxBodyBytes: read.integer('MAX_BODY_BYTES', 1, Number.MAX_SAFE_INTEGER) ?? 67_108_864,
    responsesWebSocket: read.oneOf('RESPONSES_WEBSOCKET', ['on', 'off'] as const) !== 'off',
    storesUnasked: read.oneOf('RESPONSES_STORE', ['asked', 'unless-refused'] as const) === 'unless-refused',
    // A timer holds 31 bits of milliseconds; a longer one would fire at once.
    shutdownDelayMs: read.integer('SHUTDOWN_DELAY_MS', 0, 2 ** 31 - 1) ?? 0,
    shutdownGraceMs: read.integer('SHUTDOWN_GRACE_MS', 0, 2 ** 31 - 1) ?? 600_000,
    publicApiUrl: read.publicUrl('PUBLIC_API_URL'),
    publicConsoleUrl: read.publicUrl('PUBLIC_CONSOLE_URL'),
    otlpEndpoint: read.httpUrl('OTEL_EXPORTER_OTLP_ENDPOINT'),
    trustedProxies: read.list(
      'TRUSTED_PROXIES',
      isRange,
      'addresses and CIDR ranges, with commas between them',
    ),
    corsOrigins: read.list(
      'CORS_ORIGINS',
      isOrigin,
      '*, or origins such as https://app.example.com, with commas between them',
    ),
  })
  const lines = [...read.lines, ...contradictions(settings, read.lines)]
  for (const line of misspelt(env, read.names)) warn(line)
  if (lines.length > 0) throw new SettingsError(lines)
  return settings
}

/** A line for each variable that is one letter away from one that is read and not set: the default would hold in silence. */
function misspelt(env: Environment, known: ReadonlySet<string>): string[] {
  const absent = [...known].filter(name => name.length > 6 && env[name] === undefined)
  return Object.keys(env).flatMap(name => {
    const meant = known.has(name)
      ? undefined
      : absent.find(other => isOneLetterOff(name.toUpperCase(), other))
    return meant === undefined ? [] : [`warning: ${name} is not read; is ${meant} meant?`]
  })
}

/** Whether two words are the same but for a letter that one has more or another, or two that stand in the other order. */
function isOneLetterOff(one: string, other: string): boolean {
  const shorter = Math.min(one.length, other.length)
  let head = 0
  while (head < shorter && one[head] === other[head]) head += 1
  let tail = 0
  while (tail < shorter - head && one.at(-1 - tail) === other.at(-1 - tail)) tail += 1
  const [left, right] = [one.slice(head, one.length - tail), other.slice(head, other.length - tail)]
  const isSwapped = left.length === 2 && left === [...right].reverse().join('')
  return (left.length <= 1 && right.length <= 1) || isSwapped
}

/** What is wrong with values that are right one by one. Silent about a variable that already has its line. */
function contradictions(settings: Settings, told: readonly string[]): string[] {
  const isTold = (name: string): boolean => told.some(line => line.startsWith(`${name} `))
  const lines: string[] = []
  if (settings.workers > 1 && settings.redisUrl === undefined && !isTold('REDIS_URL')) {
    lines.push(
      `WORKERS is "${settings.workers}" but must be 1 while REDIS_URL is not set: ` +
        'without Redis each process counts rate limits alone, so callers would get them several times over',
    )
  }
  if (settings.databaseUrl !== undefined && settings.secret === undefined && !isTold('TOLLGATE_SECRET')) {
    lines.push(
      'TOLLGATE_SECRET is not set but must be 32 bytes or more when DATABASE_URL is set: ' +
        'every process needs the same one to read the upstream keys in the database',
    )
  }
  return [...lines, ...sharedPorts(settings)]
}

/** Two listeners on one port would share it silently where the system lets them (SO_REUSEPORT). */
function sharedPorts({ api, console, ops }: Settings): string[] {
  const lines: string[] = []
  if (collides(console, api)) lines.push(`CONSOLE_PORT is "${console.port}" but must differ from PORT`)
  if (collides(ops, api)) lines.push(`OPS_PORT is "${ops.port}" but must differ from PORT`)
  if (collides(ops, console)) lines.push(`OPS_PORT is "${ops.port}" but must differ from CONSOLE_PORT`)
  return lines
}

function collides(one: ListenAddress, other: ListenAddress): boolean {
  const anyHost = (host: string): boolean => host === '0.0.0.0' || host === '::'
  const sameHost = one.host === other.host || anyHost(one.host) || anyHost(other.host)
  return one.port !== 0 && one.port === other.port && sameHost
}

/** `postgres://user:password@host:port/database?...`, where libpq knows a list of hosts, too. */
const POSTGRES_ADDRESS = /^(postgres(?:ql)?:\/\/(?:[^\s/?#]*@)?)([^\s/?#@]*)(\S*)$/

/** What the client can read: it throws at anything else, and says no more than that. */
function isPostgresAddress(value: string): boolean {
  const [, head = '', hosts = '', tail = ''] = POSTGRES_ADDRESS.exec(value) ?? []
  // libpq takes a user without a host, which `URL` does not.
  return head !== '' && hosts.split(',').every(host => isUri(`${head}${host || 'localhost'}${tail}`))
}

/** As libpq has them. The client takes any other word for `verify-full`, which is not what somebody meant. */
const SSL_MODES: readonly string[] = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full']

/**
 * One address, whose path is the number of a database, or those of a cluster's nodes, where there is only database 0, or
 * sentinels and what they call the servers that they watch.
 */
function areRedisAddresses(value: string): boolean {
  const [, , user = '', hosts] = SENTINELS.exec(value) ?? []
  if (hosts !== undefined)
    return hosts.split(',').every(host => host !== '' && isUri(`redis://${user}${host}`))
  const addresses = value.split(',')
  const pattern = addresses.length === 1 ? REDIS_ADDRESS : CLUSTER_NODE
  return addresses.every(address => pattern.test(address) && isUri(address))
}

/** The client takes whatever else is a path for database 0. */
const REDIS_ADDRESS = /^rediss?:\/\/[^\s/?#]+(?:\/\d*)?(?:[?#]\S*)?$/
const CLUSTER_NODE = /^rediss?:\/\/[^\s/?#]+(?:\/0?)?(?:[?#]\S*)?$/

/** As a browser names it: without a path, and of an app's own scheme, too (`app://obsidian.md`). */
function isOrigin(value: string): boolean {
  return value === '*' || /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@,*A-Z]+$/.test(value)
}

/** Also whatever stands behind a `%`. */
function isUri(text: string): boolean {
  try {
    decodeURIComponent(text)
    return URL.canParse(text)
  } catch {
    return false
  }
}

/** Reads one variable at a time and remembers what was wrong; a wrong value reads as absent. */
class Reader {
  readonly lines: string[] = []
  /** Of all variables that were asked for. */
  readonly names = new Set<string>()
  readonly #env: Environment

  constructor(env: Environment) {
    this.#env = env
  }

  text(name: string): string | undefined {
    this.names.add(name)
    const value = this.#env[name]
    return value === undefined || value === '' ? undefined : value
  }

  /** Nobody means white space around one: it came from a quoted line or a file. */
  path(name: string): string | undefined {
    const value = this.text(name)
    if (value === undefined || (value.trim() === value && !/\p{C}/u.test(value))) return value
    return this.#wrong(name, redactValue(value), 'a path without white space around it')
  }

  integer(name: string, min: number, max: number): number | undefined {
    const value = this.text(name)
    if (value === undefined) return undefined
    const number = /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN
    if (number >= min && number <= max) return number
    return this.#wrong(name, redactValue(value), `a whole number from ${min} to ${max}`)
  }

  oneOf<Choice extends string>(name: string, choices: readonly Choice[]): Choice | undefined {
    const value = this.text(name)
    if (value === undefined) return undefined
    const choice = choices.find(candidate => candidate === value)
    return choice ?? this.#wrong(name, redactValue(value), `one of ${choices.join(', ')}`)
  }

  listener(hostName: string, portName: string, preset: ListenAddress): ListenAddress {
    const host = this.#host(hostName) ?? preset.host
    return Object.freeze({ host, port: this.integer(portName, 0, 65_535) ?? preset.port })
  }

  /** An address that may hold a password: shown without it. */
  address(name: string, isRight: (value: string) => boolean, expected: string): string | undefined {
    const value = this.text(name)
    if (value === undefined || isRight(value)) return value
    return this.#wrong(name, redactUrl(value), expected)
  }

  databaseUrl(name: string): string | undefined {
    const value = this.address(name, isPostgresAddress, 'a postgres:// address')
    const sslMode = value === undefined ? undefined : /[?&]sslmode=([^&]*)/.exec(value)?.[1]
    if (sslMode !== undefined && !SSL_MODES.includes(sslMode)) {
      this.lines.push(
        `${name} has sslmode=${redactValue(sslMode)} but must have one of ${SSL_MODES.join(', ')}`,
      )
    }
    return value
  }

  httpUrl(name: string): string | undefined {
    const value = this.text(name)
    if (value === undefined) return undefined
    const url = URL.canParse(value) ? new URL(value) : undefined
    const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:'
    if (isHttp && !/\s/.test(value)) return value.replace(/\/+$/, '')
    return this.#wrong(name, redactUrl(value), 'an http:// or https:// address')
  }

  /** What other addresses are made of: a path can be put behind it, and everybody may see it. */
  publicUrl(name: string): string | undefined {
    const value = this.httpUrl(name)
    if (value === undefined || !/[\s?#@]/.test(value)) return value
    const expected = 'an http:// or https:// address without a user, a query or a fragment'
    return this.#wrong(name, redactUrl(value), expected)
  }

  list(name: string, isRight: (entry: string) => boolean, expected: string): readonly string[] {
    const value = this.text(name)
    const entries = value?.split(',').map(entry => entry.trim()) ?? []
    const wrong = entries.find(entry => !isRight(entry))
    if (wrong === undefined) return entries
    this.lines.push(`${name} has ${redactValue(wrong)} but must be ${expected}`)
    return []
  }

  secret(name: string, minBytes: number): string | undefined {
    const value = this.text(name)
    if (value === undefined) return undefined
    const bytes = Buffer.byteLength(value.trim())
    if (bytes >= minBytes) return value
    return this.#wrong(name, `${bytes} bytes long`, `${minBytes} bytes or more`)
  }

  #host(name: string): string | undefined {
    const value = this.text(name)
    if (value === undefined) return undefined
    const isName = /^[A-Za-z0-9]([A-Za-z0-9.-]{0,252}[A-Za-z0-9])?$/.test(value)
    if (isIP(value) !== 0 || (isName && !/^[\d.]+$/.test(value))) return value
    return this.#wrong(name, redactValue(value), 'an IP address or a host name')
  }

  #wrong(name: string, was: string, expected: string): undefined {
    this.lines.push(`${name} is ${was} but must be ${expected}`)
    return undefined
  }
}
