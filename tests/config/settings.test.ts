import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { type Environment, readSettings, SettingsError } from '@/config/settings.ts'

const SECRET = 'x'.repeat(32)

function refusal(env: Environment): readonly string[] {
  try {
    readSettings(env)
  } catch (error) {
    if (error instanceof SettingsError) return error.lines
    throw error
  }
  return []
}

test('an empty environment gives the documented defaults', () => {
  expect(readSettings({})).toEqual({
    api: { host: '0.0.0.0', port: 8080 },
    console: { host: '127.0.0.1', port: 8081 },
    ops: { host: '127.0.0.1', port: 9090 },
    databaseUrl: undefined,
    redisUrl: undefined,
    dataDir: './data',
    configFile: undefined,
    workers: 1,
    secret: undefined,
    logLevel: 'info',
    logFormat: 'json',
    maxBodyBytes: 67_108_864,
    responsesWebSocket: true,
    storesUnasked: false,
    shutdownDelayMs: 0,
    shutdownGraceMs: 600_000,
    publicApiUrl: undefined,
    publicConsoleUrl: undefined,
    otlpEndpoint: undefined,
    trustedProxies: [],
    corsOrigins: [],
  })
})

test('an empty variable counts as absent, and the settings are frozen', () => {
  const settings = readSettings({ PORT: '', DATABASE_URL: '', LOG_LEVEL: '' })
  expect(settings).toEqual(readSettings({}))
  expect(Object.isFrozen(settings)).toBe(true)
  expect(Object.isFrozen(settings.api)).toBe(true)
})

test.each([
  ['a letter too few', 'WORKER', 'WORKERS'],
  ['a letter too many', 'TOLLGATE_SECRETS', 'TOLLGATE_SECRET'],
  ['another letter', 'DATABASE_URI', 'DATABASE_URL'],
  ['two letters the other way round', 'REDIS_ULR', 'REDIS_URL'],
  ['small letters', 'tollgate_config', 'TOLLGATE_CONFIG'],
])('a variable that is misspelt is warned of: %s', (_how, name, meant) => {
  const warnings: string[] = []
  const warn = (line: string) => warnings.push(line)
  readSettings({ [name]: 'x' }, false, warn)
  expect(warnings).toEqual([`warning: ${name} is not read; is ${meant} meant?`])
})

test('variables of other programs are not warned of, nor what looks like one that is set', () => {
  const warnings: string[] = []
  const others = {
    PATH: 'x',
    HOSTS: 'x',
    PORTS: 'x',
    POST: 'x',
    DATABASE_NAME: 'x',
    REDIS_URI: 'x',
    WORK: 'x',
  }
  readSettings({ ...others, REDIS_URL: 'redis://127.0.0.1' }, false, line => warnings.push(line))
  expect(warnings).toEqual([])
})

test('logs are pretty on a terminal unless told otherwise', () => {
  expect(readSettings({}, true).logFormat).toBe('pretty')
  expect(readSettings({ LOG_FORMAT: 'json' }, true).logFormat).toBe('json')
})

describe('a good value is read', () => {
  test.each([
    [{ HOST: '::1', PORT: '0' }, { api: { host: '::1', port: 0 } }],
    [
      { CONSOLE_HOST: 'console.internal', CONSOLE_PORT: '65535' },
      { console: { host: 'console.internal', port: 65_535 } },
    ],
    [{ OPS_HOST: '0.0.0.0', OPS_PORT: '9191' }, { ops: { host: '0.0.0.0', port: 9191 } }],
    [
      { DATABASE_URL: 'postgres://u:p@db/x', TOLLGATE_SECRET: SECRET },
      { databaseUrl: 'postgres://u:p@db/x', secret: SECRET },
    ],
    [
      { DATABASE_URL: 'postgresql://a:1,b:2/x', TOLLGATE_SECRET: SECRET },
      { databaseUrl: 'postgresql://a:1,b:2/x' },
    ],
    [{ REDIS_URL: 'rediss://cache:6380/1' }, { redisUrl: 'rediss://cache:6380/1' }],
    [{ DATA_DIR: '/var/lib/tollgate' }, { dataDir: '/var/lib/tollgate' }],
    [{ TOLLGATE_CONFIG: 'conf/gate.yaml' }, { configFile: 'conf/gate.yaml' }],
    [
      { DATABASE_URL: 'postgres:///x?host=/run/postgresql', TOLLGATE_SECRET: SECRET },
      { databaseUrl: 'postgres:///x?host=/run/postgresql' },
    ],
    [
      { DATABASE_URL: 'postgres://u:p@/x?host=/run/postgresql', TOLLGATE_SECRET: SECRET },
      { databaseUrl: 'postgres://u:p@/x?host=/run/postgresql' },
    ],
    [
      { DATABASE_URL: 'postgres://u:p@%2Frun%2Fpostgresql/x', TOLLGATE_SECRET: SECRET },
      { databaseUrl: 'postgres://u:p@%2Frun%2Fpostgresql/x' },
    ],
    [
      { REDIS_URL: 'rediss+sentinel://:p%40ss@one,[::1]:26380/main/2' },
      { redisUrl: 'rediss+sentinel://:p%40ss@one,[::1]:26380/main/2' },
    ],
    [{ REDIS_URL: 'redis://a:1,redis://[::1]:2/0' }, { redisUrl: 'redis://a:1,redis://[::1]:2/0' }],
    [{ WORKERS: '4', REDIS_URL: 'redis://cache' }, { workers: 4 }],
    [{ TOLLGATE_SECRET: 'ü'.repeat(16) }, { secret: 'ü'.repeat(16) }],
    [{ LOG_LEVEL: 'debug' }, { logLevel: 'debug' }],
    [{ LOG_FORMAT: 'pretty' }, { logFormat: 'pretty' }],
    [{ MAX_BODY_BYTES: '1048576' }, { maxBodyBytes: 1_048_576 }],
    [{ RESPONSES_WEBSOCKET: 'off' }, { responsesWebSocket: false }],
    [{ RESPONSES_STORE: 'unless-refused' }, { storesUnasked: true }],
    [{ RESPONSES_STORE: 'asked' }, { storesUnasked: false }],
    [{ SHUTDOWN_GRACE_MS: '0' }, { shutdownGraceMs: 0 }],
    [{ SHUTDOWN_DELAY_MS: '5000' }, { shutdownDelayMs: 5000 }],
    [
      { CORS_ORIGINS: 'https://a.example, app://obsidian.md' },
      { corsOrigins: ['https://a.example', 'app://obsidian.md'] },
    ],
    [{ TRUSTED_PROXIES: '10.0.0.0/8, ::1' }, { trustedProxies: ['10.0.0.0/8', '::1'] }],
    [{ PUBLIC_API_URL: 'https://api.example.com/' }, { publicApiUrl: 'https://api.example.com' }],
    [
      { PUBLIC_CONSOLE_URL: 'http://console.example.com/t' },
      { publicConsoleUrl: 'http://console.example.com/t' },
    ],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://otel:4318' }, { otlpEndpoint: 'http://otel:4318' }],
    [
      { HOST: '127.0.0.1', PORT: '80', CONSOLE_HOST: '127.0.0.2', CONSOLE_PORT: '80' },
      { api: { host: '127.0.0.1', port: 80 } },
    ],
  ])('%j', (env, expected) => {
    expect(readSettings(env)).toMatchObject(expected)
  })
})

describe('a wrong value is one line: the variable, what it was, what it may be', () => {
  test.each<[Environment, string]>([
    [{ HOST: 'a b' }, 'HOST is "a b" but must be an IP address or a host name'],
    [{ HOST: '1.2.3' }, 'HOST is "1.2.3" but must be an IP address or a host name'],
    [{ PORT: '65536' }, 'PORT is "65536" but must be a whole number from 0 to 65535'],
    [{ PORT: '-1' }, 'PORT is "-1" but must be a whole number from 0 to 65535'],
    [{ PORT: '80x' }, 'PORT is "80x" but must be a whole number from 0 to 65535'],
    [{ CONSOLE_HOST: '/' }, 'CONSOLE_HOST is "/" but must be an IP address or a host name'],
    [{ CONSOLE_PORT: '1.5' }, 'CONSOLE_PORT is "1.5" but must be a whole number from 0 to 65535'],
    [{ OPS_HOST: ' ' }, 'OPS_HOST is " " but must be an IP address or a host name'],
    [{ OPS_PORT: 'x' }, 'OPS_PORT is "x" but must be a whole number from 0 to 65535'],
    [
      { REDIS_URL: 'http://cache' },
      'REDIS_URL is "http://cache" but must be a redis:// or rediss:// address, those of a cluster, which has no other database than 0, or redis+sentinel://HOST,HOST/NAME',
    ],
    [
      { REDIS_URL: 'redis://cache:99999' },
      'REDIS_URL is not an address (19 characters) but must be a redis:// or rediss:// address, those of a cluster, which has no other database than 0, or redis+sentinel://HOST,HOST/NAME',
    ],
    [
      { REDIS_URL: 'redis://one,two:6379' },
      'REDIS_URL is "redis://one,two:6379" but must be a redis:// or rediss:// address, those of a cluster, which has no other database than 0, or redis+sentinel://HOST,HOST/NAME',
    ],
    [
      { DATABASE_URL: 'postgres://db:99999/x', TOLLGATE_SECRET: SECRET },
      'DATABASE_URL is not an address (21 characters) but must be a postgres:// address',
    ],
    [
      { DATABASE_URL: 'postgres://a:1,b:x/x', TOLLGATE_SECRET: SECRET },
      'DATABASE_URL is not an address (20 characters) but must be a postgres:// address',
    ],
    [
      { DATABASE_URL: 'postgres://u:100%@db/x', TOLLGATE_SECRET: SECRET },
      'DATABASE_URL is "postgres://***@db/x" but must be a postgres:// address',
    ],
    [{ WORKERS: '0' }, 'WORKERS is "0" but must be a whole number from 1 to 1024'],
    [{ TOLLGATE_SECRET: 'short' }, 'TOLLGATE_SECRET is 5 bytes long but must be 32 bytes or more'],
    [
      { LOG_LEVEL: 'INFO' },
      'LOG_LEVEL is "INFO" but must be one of fatal, error, warn, info, debug, trace, silent',
    ],
    [
      { CORS_ORIGINS: 'https://a.example/' },
      'CORS_ORIGINS has "https://a.example/" but must be *, or origins such as https://app.example.com, with commas between them',
    ],
    [
      { TRUSTED_PROXIES: '10.0.0.0/8,balancer' },
      'TRUSTED_PROXIES has "balancer" but must be addresses and CIDR ranges, with commas between them',
    ],
    [
      { DATABASE_URL: 'postgres://db/x?sslmode=verify_full', TOLLGATE_SECRET: SECRET },
      'DATABASE_URL has sslmode="verify_full" but must have one of disable, allow, prefer, require, verify-ca, verify-full',
    ],
    [
      { REDIS_URL: 'redis://one/3,redis://two/3' },
      'REDIS_URL is "redis://one/3,redis://two/3" but must be a redis:// or rediss:// address, those of a cluster, which has no other database than 0, or redis+sentinel://HOST,HOST/NAME',
    ],
    [
      { REDIS_URL: 'redis+sentinel://one,two' },
      'REDIS_URL is "redis+sentinel://one,two" but must be a redis:// or rediss:// address, those of a cluster, which has no other database than 0, or redis+sentinel://HOST,HOST/NAME',
    ],
    [
      { REDIS_URL: 'redis://cache/main' },
      'REDIS_URL is "redis://cache/main" but must be a redis:// or rediss:// address, those of a cluster, which has no other database than 0, or redis+sentinel://HOST,HOST/NAME',
    ],
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://otel:4318 ' },
      'OTEL_EXPORTER_OTLP_ENDPOINT is "http://otel:4318" but must be an http:// or https:// address',
    ],
    [
      { REDIS_URL: 'redis+sentinel://one,/main' },
      'REDIS_URL is "redis+sentinel://one,/main" but must be a redis:// or rediss:// address, those of a cluster, which has no other database than 0, or redis+sentinel://HOST,HOST/NAME',
    ],
    [{ DATA_DIR: ' ' }, 'DATA_DIR is " " but must be a path without white space around it'],
    [{ DATA_DIR: './data\n' }, 'DATA_DIR is "./data\\n" but must be a path without white space around it'],
    [{ TOLLGATE_CONFIG: '\t' }, 'TOLLGATE_CONFIG is "\\t" but must be a path without white space around it'],
    [{ TOLLGATE_SECRET: ' '.repeat(40) }, 'TOLLGATE_SECRET is 0 bytes long but must be 32 bytes or more'],
    [{ LOG_FORMAT: 'text' }, 'LOG_FORMAT is "text" but must be one of json, pretty'],
    [
      { MAX_BODY_BYTES: '64MB' },
      'MAX_BODY_BYTES is "64MB" but must be a whole number from 1 to 9007199254740991',
    ],
    [
      { SHUTDOWN_GRACE_MS: '2147483648' },
      'SHUTDOWN_GRACE_MS is "2147483648" but must be a whole number from 0 to 2147483647',
    ],
    [
      { PUBLIC_API_URL: 'api.example.com' },
      'PUBLIC_API_URL is not an address (15 characters) but must be an http:// or https:// address',
    ],
    [
      { PUBLIC_CONSOLE_URL: 'ftp://x' },
      'PUBLIC_CONSOLE_URL is "ftp://x" but must be an http:// or https:// address',
    ],
    ...[
      'https://me:word@api.example.com',
      'https://api.example.com?team=a',
      'https://api.example.com/#a',
    ].map((url): [Record<string, string>, string] => [
      { PUBLIC_API_URL: url },
      `PUBLIC_API_URL is "https://${url.includes('me:') ? '***@' : ''}api.example.com" but must be an http:// or https:// address without a user, a query or a fragment`,
    ]),
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'grpc://otel:4317' },
      'OTEL_EXPORTER_OTLP_ENDPOINT is "grpc://otel:4317" but must be an http:// or https:// address',
    ],
    [
      { WORKERS: '2' },
      'WORKERS is "2" but must be 1 while REDIS_URL is not set: without Redis each process counts rate limits alone, so callers would get them several times over',
    ],
    [
      { DATABASE_URL: 'postgres://db/x' },
      'TOLLGATE_SECRET is not set but must be 32 bytes or more when DATABASE_URL is set: every process needs the same one to read the upstream keys in the database',
    ],
    [{ PORT: '8081' }, 'CONSOLE_PORT is "8081" but must differ from PORT'],
    [{ OPS_PORT: '8081' }, 'OPS_PORT is "8081" but must differ from CONSOLE_PORT'],
  ])('%j', (env, line) => {
    expect(refusal(env)).toEqual([line])
  })

  test('several wrong values are several lines', () => {
    expect(refusal({ PORT: 'x', LOG_LEVEL: 'loud' })).toHaveLength(2)
  })
})

/** Every variable that is read. */
const NAMES = new Set<string>()
readSettings(
  new Proxy(
    {},
    {
      get(_, name) {
        NAMES.add(String(name))
      },
    },
  ),
)

const README = await Bun.file(join(import.meta.dir, '../../README.md')).text()

test.each([...NAMES])('README says what %s means', name => {
  expect(README).toMatch(new RegExp(`^\\|[^|]*\`${name}\``, 'm'))
})

/** Most texts may be the path of a file; what is wrong with those shows when they are opened. */
const PATHS: ReadonlySet<string> = new Set(['DATA_DIR', 'TOLLGATE_CONFIG'])
/** Values that nothing but a path can have. */
const NONSENSE = [' ', '\n', 'a b', '-1', '{}', '/', ',', '""', '80 MB', 'x://hunter2@h?p=hunter2']

describe.each([...NAMES].filter(name => !PATHS.has(name)))('%s', name => {
  // Those without which the other would not be read.
  const others = { TOLLGATE_SECRET: SECRET, REDIS_URL: 'redis://cache' }

  test.each(NONSENSE)('is refused as %j, in one short line that holds no password', value => {
    const lines = refusal({ ...others, [name]: value })
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatch(new RegExp(`^${name} (is|has) .* but must `))
    expect(lines[0]).not.toContain('hunter2')
  })

  test('is not repeated where somebody has put a whole file or a key', () => {
    const [line = ''] = refusal({ ...others, [name]: 'hunter2 '.repeat(800) })
    expect(line).toStartWith(name === 'TOLLGATE_SECRET' ? '' : `${name} `)
    expect(line).not.toContain('hunter2')
    expect(line.length).toBeLessThan(200)
  })
})

describe('a password is never shown', () => {
  test.each<[Environment]>([
    [{ DATABASE_URL: 'mysql://root:hunter2@db/x?password=hunter2', TOLLGATE_SECRET: SECRET }],
    [{ DATABASE_URL: 'root:hunter2@db/x', TOLLGATE_SECRET: SECRET }],
    [{ REDIS_URL: 'http://:hunter2@cache' }],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'grpc://user:hunter2@otel' }],
    [{ TOLLGATE_SECRET: 'hunter2' }],
  ])('%j', env => {
    const lines = refusal(env)
    expect(lines).toHaveLength(1)
    expect(lines.join()).not.toContain('hunter2')
  })

  test('the rest of the address is', () => {
    expect(refusal({ DATABASE_URL: 'mysql://root:hunter2@db/x', TOLLGATE_SECRET: SECRET })).toEqual([
      'DATABASE_URL is "mysql://***@db/x" but must be a postgres:// address',
    ])
  })
})
